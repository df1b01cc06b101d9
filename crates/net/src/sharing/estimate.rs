//! Notes in the trace, after passes, what sharing would save, or what it saves.
#![expect(unsafe_code, reason = "pthread_self")]

use std::cell::Cell;

use super::offsets::{Block, offsets};
use super::placing::{Placed, blocks};
use crate::blob::{Blob, Object};
use crate::net::Net;
use crate::{library, naming};

/// The plan of a net that does not share.
pub struct Estimate {
    /// The plan for `all`.
    plan: Vec<Placed>,
    /// Whether `gradients` would share each of these, too.
    with_gradients: Vec<bool>,
    /// The outputs of layers without inputs.
    sources: Vec<Blob>,
    is_test: bool,
    /// Bytes of the memory in the plan when the estimate was last noted.
    noted: usize,
    /// Passes since the last object was constructed, and the number of objects.
    passes: (u64, u64),
}

impl Estimate {
    pub fn of(plan: impl Iterator<Item = (Placed, bool)>, sources: Vec<Blob>, is_test: bool) -> Estimate {
        // An object that was touched while the net was made would not be shared.
        let is_shared = |placed: &Placed| placed.blob.memory().is_none_or(|memory| !memory[placed.part].is_touched());
        let (plan, with_gradients) = plan.filter(|(placed, _)| is_shared(placed)).unzip();
        Estimate { plan, with_gradients, sources, is_test, noted: 0, passes: (0, 0) }
    }

    /// The estimate after a pass; `None` if it has not changed.
    pub fn text(&mut self, net: Net, is_backward: bool) -> Option<String> {
        if is_backward && self.is_test {
            // A backward pass in phase TEST is an error with sharing, so nothing in this net can be shared.
            self.plan.clear();
            return (std::mem::replace(&mut self.noted, usize::MAX) != usize::MAX).then(|| self.line(net, 0, &[]));
        }
        // Later passes rarely touch more memory than the first two; an estimate after each would slow down small nets.
        let made = naming::count();
        self.passes = if self.passes.1 == made { (self.passes.0 + 1, made) } else { (1, made) };
        if !self.passes.0.is_power_of_two() {
            return None;
        }
        let items = naming::batch(&self.sources);
        let sizes = self.sizes(items);
        let all = own(&blocks(&self.plan, |at| Some(sizes[at]?.bytes)).0);
        if all <= self.noted {
            return None;
        }
        self.noted = all;
        Some(self.line(net, items, &sizes))
    }

    fn sizes(&self, items: u64) -> Vec<Option<Size>> {
        let size = |placed: &Placed| {
            let object = placed.blob.memory()?[placed.part];
            let bytes = object.bytes().filter(|_| object.is_touched())?;
            let factor = if placed.grows && placed.blob.first_axis() == items { 2 } else { 1 };
            Some(Size { bytes: (object, bytes), twice: (object, bytes * factor) })
        };
        self.plan.iter().map(size).collect()
    }

    fn line(&self, net: Net, items: u64, sizes: &[Option<Size>]) -> String {
        let mut text = format!("\tsharing\t-\t{}\t{}\t{items}", net.address(), this_thread());
        for is_all in [false, true] {
            let size = |at: usize| sizes[at].filter(|_| is_all || self.with_gradients[at]);
            let (now, twice) =
                (blocks(&self.plan, |at| Some(size(at)?.bytes)).0, blocks(&self.plan, |at| Some(size(at)?.twice)).0);
            for blocks in [now, twice] {
                let needed = offsets(&blocks).iter().zip(&blocks).map(|(at, block)| at + block.bytes).max();
                text += &format!("\t{}\t{}", own(&blocks), needed.unwrap_or(0));
            }
        }
        text
    }
}

/// An object with its bytes, and with those for twice the batch.
#[derive(Clone, Copy)]
struct Size {
    bytes: (Object, usize),
    twice: (Object, usize),
}

fn own(blocks: &[Block<'_>]) -> usize {
    blocks.iter().map(|block| block.bytes).sum()
}

/// Notes what sharing needed, if that has changed.
pub fn note_shared() -> Option<()> {
    thread_local! { static NOTED: Cell<[[u64; 3]; 2]> = const { Cell::new([[0; 3]; 2]) }; }
    let (figures, _) = library::figures();
    if NOTED.replace(figures) == figures {
        return None;
    }
    let [host, device] = figures.map(|side| side.map(|bytes| bytes.to_string()).join("\t"));
    library::note(format!("\tshared\t-\t{host}\t{device}"))
}

fn this_thread() -> usize {
    // SAFETY: pthread_self has no preconditions.
    unsafe { libc::pthread_self() as usize }
}
