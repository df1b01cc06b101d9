//! The arrays of a model, and their names in other formats.

use std::collections::HashSet;

use caffemodel::{At, Blob, Error, Kind, Model, Part, TorchRole};
use clap::ValueEnum;

/// The places of all blobs' data, and of all diffs that are stored.
pub fn places(model: &Model) -> Vec<At> {
    let blobs = blobs(model).into_iter();
    blobs.flat_map(|(at, blob)| [Some(at), blob.diff().map(|_| At::diff(at.layer, at.blob))]).flatten().collect()
}

pub fn blobs(model: &Model) -> Vec<(At, &Blob)> {
    let layers = model.layers().iter().enumerate();
    layers
        .flat_map(|(layer, found)| (0..).zip(found.blobs()).map(move |(blob, found)| (At::data(layer, blob), found)))
        .collect()
}

pub fn counted(blobs: usize) -> String {
    if blobs == 1 { "1 blob".into() } else { format!("{blobs} blobs") }
}

pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Net => "net",
        Kind::Blob => "blob",
        Kind::Blobs => "blobs",
        Kind::SolverState => "solver state",
        Kind::InitNet => "Caffe2 net",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Names {
    /// The layer and the number of the blob: conv1.0, conv1.1.
    Caffe,
    /// The names of PyTorch's modules, with their shapes: conv1.weight, conv1.bias, bn1.running_mean, bn1.running_var. The sums of a BatchNorm
    /// layer are divided by the factor that Caffe stores beside them; weights that Caffe stores transposed are transposed.
    Torch,
}

/// Returns the arrays with their names, such as `conv1.0`. Two arrays of the same name are an error.
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

/// The name in PyTorch, if it has one.
pub fn torch(model: &Model, at: At) -> Option<String> {
    let name = role(model, at)?.name()?;
    Some(full(model, at, &format!(".{name}")))
}

pub fn role(model: &Model, at: At) -> Option<TorchRole> {
    model.layers()[at.layer].torch(at.blob).map(|(role, _)| role)
}

pub fn is_average(role: TorchRole) -> bool {
    matches!(role, TorchRole::RunningMean | TorchRole::RunningVar)
}

fn full(model: &Model, at: At, of_blob: &str) -> String {
    let diff = if at.part == Part::Diff { ".diff" } else { "" };
    format!("{}{of_blob}{diff}", model.layers()[at.layer].name())
}

/// The factor that the means and variances of a layer are divided by, as it is stored.
pub fn factor(model: &Model, layer: usize) -> Result<Option<f64>, Error> {
    let mut blobs = (0..model.layers()[layer].blobs().len()).map(|blob| At::data(layer, blob));
    let Some(at) = blobs.find(|at| role(model, *at) == Some(TorchRole::Factor)) else { return Ok(None) };
    let mut factor = [0.0];
    model.read_f64(at, 0, &mut factor)?;
    Ok(Some(factor[0]))
}
