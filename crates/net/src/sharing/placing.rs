//! Gives each shared object's block its offset in the arena, from the objects' sizes; again when blobs have grown.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::offsets::{Block, offsets};
use super::plan::{Call, Shared};
use crate::blob::{Blob, Object};
use crate::library::{self, Places};

/// A blob's data or diff in a plan.
pub struct Placed {
    pub blob: Blob,
    pub part: usize,
    lives: Vec<Steps>,
    /// All lives as one, for contents that wait in their block, and the time between the lives.
    whole: [Steps; 1],
    between: [Steps; 1],
    /// The first of the blobs that have the same memory.
    group: usize,
    /// Whether it grows with the batch if its first axis is the batch.
    pub grows: bool,
    /// `None`: the contents do not wait.
    pub waits: Option<Arc<Waits>>,
    /// Blobs that are expected to have the same contents.
    pub twins: Vec<Blob>,
}

/// The memory of contents that wait between two lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// They stay in their block.
    Whole,
    /// They are parked, in so many bytes.
    Bytes(usize),
}

/// What contents took when they waited, or what is expected.
pub struct Waits(AtomicUsize);

impl Waits {
    const WHOLE: usize = usize::MAX;

    pub fn taken(&self) -> Taken {
        match self.0.load(Relaxed) {
            Waits::WHOLE => Taken::Whole,
            bytes => Taken::Bytes(bytes),
        }
    }

    /// Notes what the contents took. Returns whether offsets should be planned again: the bytes in the plan are too few, or far too many.
    pub fn note(&self, taken: Taken) -> bool {
        let (planned, new) = match (self.taken(), taken) {
            (Taken::Bytes(planned), Taken::Bytes(bytes)) if bytes <= planned && planned <= bytes + bytes / 4 + 4096 => {
                return false;
            }
            // The contents of the next iteration differ a little.
            (before, Taken::Bytes(bytes)) => (before, bytes + bytes / 16),
            (before, Taken::Whole) => (before, Waits::WHOLE),
        };
        self.0.store(new, Relaxed);
        planned != self.taken()
    }
}

/// The first and the last step of a life.
type Steps = (usize, usize);

/// An object, and the numbers of its blocks: for a new one, for contents that come back, and for parked contents.
pub type Blocks = (Object, [usize; 2], Option<usize>);

impl Placed {
    /// `layers` is the number of layers in the net.
    pub fn of(shared: &Shared, blob: Blob, grows: bool, layers: usize, taken: Taken, twins: Vec<Blob>) -> Placed {
        let step = |call: Call| match call {
            Call::Forward(layer) => layer,
            Call::Backward(layer) => 2 * layers - 1 - layer,
        };
        let lives: Vec<Steps> = shared.lives.iter().map(|&(first, last)| (step(first), step(last))).collect();
        let (first, last) = (lives.first().copied().unwrap_or((0, 0)), lives.last().copied().unwrap_or((0, 0)));
        let bytes = match taken {
            Taken::Whole => Waits::WHOLE,
            Taken::Bytes(bytes) => bytes,
        };
        Placed {
            blob,
            part: shared.part as usize,
            lives,
            whole: [(first.0, last.1)],
            between: [(first.1 + 1, last.0.saturating_sub(1))],
            group: shared.group,
            grows,
            waits: shared.waits.then(|| Arc::new(Waits(AtomicUsize::new(bytes)))),
            twins,
        }
    }

    pub fn object(&self) -> Option<Object> {
        Some(self.blob.memory()?[self.part])
    }

    /// Whether the blob is the first of those that have the same memory.
    pub fn is_first(&self) -> bool {
        self.blob.address() == self.group
    }
}

/// Plans the offsets and passes them to libsyncedmem.
pub fn place(placed: &[Placed]) {
    let (blocks, objects) = blocks(placed, |at| {
        let object = placed[at].object()?;
        let taken = placed[at].waits.as_ref().map_or(Taken::Whole, |waits| waits.taken());
        Some(Size { object, bytes: object.bytes()?, taken })
    });
    let offsets = offsets(&blocks);
    let whole = offsets.iter().zip(&blocks).map(|(at, block)| at + block.bytes).max().unwrap_or(0);
    // What waits takes a little more or less in each iteration. A range that the arena has outgrown stays while a block is in it, and
    // addresses that are never used take no memory.
    let whole = if placed.iter().any(|one| one.waits.is_some()) { whole + whole / 8 } else { whole };
    for (object, [first, again], stored) in objects {
        let [first, again] = [first, again].map(|number| offsets[number]);
        let (stored, stored_bytes) = stored.map_or((0, 0), |number| (offsets[number], blocks[number].bytes));
        library::place(object, &Places { first, again, stored, stored_bytes, whole });
    }
}

/// An object, its bytes, and those that it takes while it waits.
#[derive(Clone, Copy)]
pub struct Size {
    pub object: Object,
    pub bytes: usize,
    pub taken: Taken,
}

/// The blocks of a plan, and each object with the numbers of its blocks. `size` gets the number in the plan; `None` leaves it out.
pub fn blocks(placed: &[Placed], size: impl Fn(usize) -> Option<Size>) -> (Vec<Block<'_>>, Vec<Blocks>) {
    /// The arena rounds blocks up to this.
    const STEP: usize = 256;
    let round = |bytes: usize| (bytes + 16).next_multiple_of(STEP);
    let mut groups: HashMap<(usize, usize), ([usize; 2], Option<usize>)> = HashMap::with_capacity(placed.len());
    let mut blocks: Vec<Block<'_>> = Vec::with_capacity(placed.len());
    let mut objects = Vec::with_capacity(placed.len());
    for (number, one) in placed.iter().enumerate() {
        let Some(Size { object, bytes, taken }) = size(number) else { continue };
        let (numbers, stored) = *groups.entry((one.group, one.part)).or_insert_with(|| {
            let at = blocks.len();
            let mut add = |bytes, lives| blocks.push(Block { bytes, lives });
            match (&one.waits, taken, one.lives.split_at_checked(1)) {
                (Some(_), Taken::Bytes(taken), Some((first, again))) => {
                    add(0, first);
                    add(0, again);
                    if taken > 0 {
                        add(round(taken), &one.between);
                    }
                    ([at, at + 1], (taken > 0).then_some(at + 2))
                }
                (Some(_), ..) => {
                    add(0, &one.whole);
                    ([at, at], None)
                }
                (None, ..) => {
                    add(0, &one.lives);
                    ([at, at], None)
                }
            }
        });
        for at in numbers {
            blocks[at].bytes = blocks[at].bytes.max(round(bytes));
        }
        objects.push((object, numbers, stored));
    }
    (blocks, objects)
}
