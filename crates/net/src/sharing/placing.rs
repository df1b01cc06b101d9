//! Gives each shared object's block its offset in the arena, from the objects' sizes; again when blobs have grown.

use std::collections::HashMap;

use super::offsets::{Block, offsets};
use super::plan::{Call, Shared};
use crate::blob::{Blob, Object};
use crate::library;

/// A blob's data or diff in a plan.
pub struct Placed {
    pub blob: Blob,
    pub part: usize,
    lives: Vec<(usize, usize)>,
    /// The first of the blobs that have the same memory.
    group: usize,
    /// Whether it grows with the batch if its first axis is the batch.
    pub grows: bool,
}

impl Placed {
    /// `layers` is the number of layers in the net.
    pub fn of(shared: &Shared, blob: Blob, grows: bool, layers: usize) -> Placed {
        let step = |call: &Call| match *call {
            Call::Forward(layer) => layer,
            Call::Backward(layer) => 2 * layers - 1 - layer,
        };
        let lives = shared.begins.iter().map(step).zip(shared.ends.iter().map(step)).collect();
        Placed { blob, part: shared.part as usize, lives, group: shared.group, grows }
    }
}

/// Plans the offsets and passes them to libsyncedmem.
pub fn place(placed: &[Placed]) {
    let (blocks, objects) = blocks(placed, |at| {
        let object = placed[at].blob.memory()?[placed[at].part];
        Some((object, object.bytes()?))
    });
    let offsets = offsets(&blocks);
    let whole = offsets.iter().zip(&blocks).map(|(at, block)| at + block.bytes).max().unwrap_or(0);
    for (object, at) in objects {
        library::place(object, offsets[at], whole);
    }
}

/// The blocks of a plan, and each object with the number of its block. `size` returns the object and its bytes by the number in the plan; `None`
/// leaves it out.
pub fn blocks(
    placed: &[Placed],
    size: impl Fn(usize) -> Option<(Object, usize)>,
) -> (Vec<Block<'_>>, Vec<(Object, usize)>) {
    /// The arena rounds blocks up to this.
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
