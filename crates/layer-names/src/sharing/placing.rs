//! Where in the arena each shared object's block lies: planned from the objects' sizes, and anew when blobs grew.

use std::collections::HashMap;
use std::ffi::c_void;

use super::library;
use super::offsets::{Block, offsets};
use super::plan::{Call, Shared};
use crate::blob::{Blob, bytes_of};

/// A blob's part in a plan.
pub struct Placed {
    pub blob: Blob,
    pub part: usize,
    lives: Vec<(usize, usize)>,
    /// The first blob of those that hold one memory.
    group: usize,
    /// With the batch, if its first axis is the batch.
    pub grows: bool,
}

impl Placed {
    /// In a net of so many layers.
    pub fn of(shared: &Shared, blob: Blob, grows: bool, layers: usize) -> Placed {
        let step = |call: &Call| match *call {
            Call::Forward(layer) => layer,
            Call::Backward(layer) => 2 * layers - 1 - layer,
        };
        let lives = shared.begins.iter().map(step).zip(shared.ends.iter().map(step)).collect();
        Placed { blob, part: shared.part as usize, lives, group: shared.group, grows }
    }
}

/// Tells libsyncedmem where in the arena each object's block lies.
pub fn place(placed: &[Placed]) {
    let (blocks, objects) = blocks(placed, |at| {
        let object = placed[at].blob.memory()?[placed[at].part];
        Some((object, bytes_of(object)?))
    });
    let offsets = offsets(&blocks);
    let whole = offsets.iter().zip(&blocks).map(|(at, block)| at + block.bytes).max().unwrap_or(0);
    for (object, at) in objects {
        library::place(object, offsets[at], whole);
    }
}

/// The blocks of what has an object with bytes, which `size` says by the number in the plan, and for each object the number of its block.
pub fn blocks(
    placed: &[Placed],
    size: impl Fn(usize) -> Option<(*mut c_void, usize)>,
) -> (Vec<Block<'_>>, Vec<(*mut c_void, usize)>) {
    /// As the arena rounds them.
    const STEP: usize = 256;
    let mut groups: HashMap<(usize, usize), usize> = HashMap::with_capacity(placed.len());
    let (mut blocks, mut objects) = (Vec::with_capacity(placed.len()), Vec::with_capacity(placed.len()));
    for (number, one) in placed.iter().enumerate() {
        let Some((object, bytes)) = size(number) else { continue };
        let at = *groups.entry((one.group, one.part)).or_insert(blocks.len());
        if at == blocks.len() {
            blocks.push(Block { bytes: 0, lives: &one.lives });
        }
        blocks[at].bytes = blocks[at].bytes.max((bytes + 16).next_multiple_of(STEP));
        objects.push((object, at));
    }
    (blocks, objects)
}
