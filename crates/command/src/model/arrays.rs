//! The arrays of a model.

use std::collections::HashSet;
use std::fmt;

use caffemodel::{Array, At, Blob, Kind, Model, Part};

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

pub fn bytes(model: &Model, places: &[At]) -> u64 {
    places.iter().filter_map(|at| model.array(*at).ok()).map(Array::bytes).sum()
}

/// The names of arrays in other formats, such as `conv1.0`. Two arrays of one name are refused.
pub fn named(model: &Model, places: impl IntoIterator<Item = At>) -> Result<Vec<(String, At)>, String> {
    let mut names = HashSet::new();
    let named = places.into_iter().map(|at| (name(model, at), at));
    named
        .map(|(name, at)| match names.insert(name.clone()) {
            true => Ok((name, at)),
            false => Err(format!(
                "two arrays would be called {name}: its layers have one name; rename one of them in the net, and save the model anew"
            )),
        })
        .collect()
}

fn name(model: &Model, at: At) -> String {
    let layer = model.layers()[at.layer].name();
    // There is only one in each layer.
    let is_alone = matches!(model.kind(), Kind::Blob | Kind::InitNet);
    let of_blob = if is_alone { layer.to_string() } else { format!("{layer}.{}", at.blob) };
    match at.part {
        Part::Data => of_blob,
        Part::Diff => format!("{of_blob}.diff"),
    }
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

/// Dimensions as `64x3x7x7`; those of a single value as `()`.
pub struct Shape<'s, Dim>(pub &'s [Dim]);

impl<Dim: fmt::Display> fmt::Display for Shape<'_, Dim> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let dims: Vec<_> = self.0.iter().map(Dim::to_string).collect();
        formatter.pad(if dims.is_empty() { "()".to_string() } else { dims.join("x") }.as_str())
    }
}
