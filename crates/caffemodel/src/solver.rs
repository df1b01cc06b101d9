//! States of solvers, and lists of blobs.

use crate::blob::{self, Blob};
use crate::error::Error;
use crate::wire::{Scanner, Wire};

/// A `.solverstate` without its blobs, which are those of the one layer, `history`.
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
            (3, Wire::Bytes) => blob::add(scanner, end, &mut history)?,
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
            (1, Wire::Bytes) => blob::add(scanner, end, &mut blobs)?,
            _ => scanner.skip(field, end)?,
        }
    }
    Ok(blobs)
}
