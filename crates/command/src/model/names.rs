//! The names of a model's arrays in other formats.

use std::collections::HashSet;

use caffemodel::{At, Error, Kind, Layer, Model, Part};
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Names {
    /// The layer and the number of the blob: conv1.0, conv1.1.
    Caffe,
    /// Those of PyTorch's modules, with their shapes: conv1.weight, conv1.bias, bn1.running_mean, bn1.running_var. The sums of a BatchNorm
    /// layer are multiplied by the factor that Caffe stores beside them.
    Torch,
}

/// The arrays with their names, such as `conv1.0`. Two arrays of one name are refused.
pub fn named(model: &Model, places: impl IntoIterator<Item = At>, names: Names) -> Result<Vec<(String, At)>, String> {
    let mut seen = HashSet::new();
    let name = |at| torch(model, at).filter(|_| names == Names::Torch).unwrap_or_else(|| caffe(model, at));
    let named = places.into_iter().map(|at| (name(at), at));
    named
        .map(|(name, at)| match seen.insert(name.clone()) {
            true => Ok((name, at)),
            false => Err(format!(
                "two arrays would be called {name}: its layers have one name; rename one of them in the net, and save the model anew"
            )),
        })
        .collect()
}

fn caffe(model: &Model, at: At) -> String {
    let number = match (model.kind(), at.blob) {
        (Kind::Blob | Kind::InitNet, 0) => String::new(),
        (Kind::InitNet, 1) => ".scale".into(),
        (Kind::InitNet, 2) => ".zero_point".into(),
        (_, number) => format!(".{number}"),
    };
    full(model, at, &number)
}

/// `None`: PyTorch has no name for it.
pub fn torch(model: &Model, at: At) -> Option<String> {
    let layer = &model.layers()[at.layer];
    let name = match (layer.type_name(), at.blob) {
        ("BatchNorm", 0) if is_batch_norm(layer) => ".running_mean",
        ("BatchNorm", 1) if is_batch_norm(layer) => ".running_var",
        ("Bias", 0) => ".bias",
        ("InnerProduct" | "Scale" | "Embed" | "PReLU", 0) => ".weight",
        ("InnerProduct" | "Scale" | "Embed", 1) => ".bias",
        ("Convolution" | "Deconvolution" | "Convolution3D" | "Deconvolution3D", 0) => ".weight",
        ("Convolution" | "Deconvolution" | "Convolution3D" | "Deconvolution3D", 1) => ".bias",
        _ => return None,
    };
    Some(full(model, at, name))
}

fn full(model: &Model, at: At, of_blob: &str) -> String {
    let diff = if at.part == Part::Diff { ".diff" } else { "" };
    format!("{}{of_blob}{diff}", model.layers()[at.layer].name())
}

/// Caffe's: sums of means and of variances, and their factor. NVIDIA's with five blobs has names of Caffe's alone.
pub fn is_batch_norm(layer: &Layer) -> bool {
    layer.type_name() == "BatchNorm" && layer.blobs().len() == 3
}

/// What the means and variances of a BatchNorm layer are multiplied by.
pub fn batch_norm_scale(model: &Model, layer: usize) -> Result<f64, Error> {
    let mut factor = [0.0];
    model.read_f64(At::data(layer, 2), 0, &mut factor)?;
    Ok(if factor[0] == 0.0 { 0.0 } else { 1.0 / factor[0] })
}
