//! A solver's state: its progress, and the history of its updates.

use crate::blob::{self, Blob};
use crate::error::Error;
use crate::wire::{Scanner, Wire};

/// The numbers and the name in a `.solverstate`. Its blobs are those of the model's one layer, `history`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The iteration of the snapshot.
    pub iter: i32,
    /// The `.caffemodel` that was saved with it, as the program named it.
    pub learned_net: String,
    /// The step of the learning rate's schedule.
    pub current_step: i32,
}

pub(crate) fn scan(scanner: &mut Scanner, end: u64) -> Result<(State, Vec<Blob>), Error> {
    let (mut state, mut history) = (State::default(), Vec::new());
    while let Some(field) = scanner.field(end)? {
        match (field.number, field.wire) {
            (1, Wire::Varint) => state.iter = scanner.varint(end)? as i32,
            (2, Wire::Bytes) => state.learned_net = scanner.text(end)?,
            (3, Wire::Bytes) => blob_of(scanner, end, &mut history)?,
            (4, Wire::Varint) => state.current_step = scanner.varint(end)? as i32,
            _ => scanner.skip(field, end)?,
        }
    }
    Ok((state, history))
}

pub(crate) fn blobs(scanner: &mut Scanner, end: u64) -> Result<Vec<Blob>, Error> {
    let mut blobs = Vec::new();
    while let Some(field) = scanner.field(end)? {
        match (field.number, field.wire) {
            (1, Wire::Bytes) => blob_of(scanner, end, &mut blobs)?,
            _ => scanner.skip(field, end)?,
        }
    }
    Ok(blobs)
}

fn blob_of(scanner: &mut Scanner, end: u64, blobs: &mut Vec<Blob>) -> Result<(), Error> {
    let index = blobs.len();
    scanner.make_room(blobs)?;
    let blob = scanner.bytes(end).and_then(|span| blob::scan(scanner, span));
    blobs.push(blob.map_err(|error| error.in_blob(index))?);
    Ok(())
}
