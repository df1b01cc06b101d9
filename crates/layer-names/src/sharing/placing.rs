//! Where in the arena each shared object's block lies: planned from the objects' sizes, and anew when blobs grew.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;

use super::library;
use super::offsets::{Block, offsets};
use super::plan::{Call, Shared};
use super::with;
use crate::blob::{Blob, bytes_of};
use crate::net::Net;

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

thread_local! {
    /// Whether a blob of a net has new memory since the last plan.
    static GREW: Cell<bool> = const { Cell::new(false) };
}

pub fn grew() {
    GREW.set(true);
}

pub fn begin(net: Net, placed: Vec<Placed>) {
    place(&placed);
    with(|state| state.placed.insert(net.address(), placed));
}

/// Plans anew if blobs grew.
pub fn place_again(net: Net) -> Option<()> {
    if GREW.take() {
        with(|state| state.placed.get(&net.address()).map(|placed| place(placed)));
    }
    Some(())
}

/// Tells libsyncedmem where in the arena each object's block lies.
fn place(placed: &[Placed]) {
    let (blocks, objects) = blocks(placed, |_, object| bytes_of(object));
    let offsets = offsets(&blocks);
    let whole = offsets.iter().zip(&blocks).map(|(at, block)| at + block.bytes).max().unwrap_or(0);
    for (object, at) in objects {
        library::place(object, offsets[at], whole);
    }
}

/// The blocks of what has `bytes`, and for each object the number of its block.
pub fn blocks(
    placed: &[Placed],
    bytes: impl Fn(&Placed, *mut c_void) -> Option<usize>,
) -> (Vec<Block>, Vec<(*mut c_void, usize)>) {
    /// As the arena rounds them.
    const STEP: usize = 256;
    let mut groups: HashMap<(usize, usize), usize> = HashMap::new();
    let (mut blocks, mut objects): (Vec<Block>, Vec<(*mut c_void, usize)>) = (Vec::new(), Vec::new());
    for one in placed {
        let Some(object) = one.blob.memory().map(|memory| memory[one.part]) else { continue };
        let Some(bytes) = bytes(one, object) else { continue };
        let at = *groups.entry((one.group, one.part)).or_insert(blocks.len());
        if at == blocks.len() {
            blocks.push(Block { bytes: 0, lives: one.lives.clone() });
        }
        blocks[at].bytes = blocks[at].bytes.max((bytes + 16).next_multiple_of(STEP));
        objects.push((object, at));
    }
    (blocks, objects)
}
