//! The arrays of a model.

use caffemodel::{Array, At, Blob, Kind, Model};

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
