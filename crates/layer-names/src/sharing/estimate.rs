//! What sharing would save, for a program that runs without it: noted in the recording after passes, with sharing what it took.

use std::cell::Cell;
use std::ffi::c_void;

use super::library;
use super::offsets::{Block, offsets};
use super::placing::{Placed, blocks};
use crate::blob::{Blob, bytes_of, is_touched};
use crate::net::Net;
use crate::record;

/// What a net would share.
pub struct Estimate {
    /// The plan for `all`.
    plan: Vec<Placed>,
    /// Whether each of these is shared with `gradients`, too.
    with_gradients: Vec<bool>,
    /// The outputs of layers without inputs.
    sources: Vec<Blob>,
    is_test: bool,
    /// Bytes of the memory that the plans are about, when they were noted.
    noted: usize,
    /// Passes since the last object was constructed, and the number of objects then.
    passes: (u64, u64),
}

impl Estimate {
    pub fn of(plan: impl Iterator<Item = (Placed, bool)>, sources: Vec<Blob>, is_test: bool) -> Estimate {
        // What was touched while the net was made is not shared.
        let is_shared = |placed: &Placed| placed.blob.memory().is_none_or(|memory| !is_touched(memory[placed.part]));
        let (plan, with_gradients) = plan.filter(|(placed, _)| is_shared(placed)).unzip();
        Estimate { plan, with_gradients, sources, is_test, noted: 0, passes: (0, 0) }
    }

    /// What a pass showed; `None` if it is not new.
    pub fn text(&mut self, net: Net, is_backward: bool) -> Option<String> {
        if is_backward && self.is_test {
            // With sharing, that would have been an error: nothing can be shared in this net.
            self.plan.clear();
            return (std::mem::replace(&mut self.noted, usize::MAX) != usize::MAX).then(|| self.line(net, 0, &[]));
        }
        // Later passes rarely touch more than the first two; to look at each would cost small nets much of their time.
        let made = record::count();
        self.passes = if self.passes.1 == made { (self.passes.0 + 1, made) } else { (1, made) };
        if !self.passes.0.is_power_of_two() {
            return None;
        }
        let items = record::batch(&self.sources);
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
            let bytes = bytes_of(object).filter(|_| is_touched(object))?;
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

/// An object, and its bytes as they are and with twice the items.
#[derive(Clone, Copy)]
struct Size {
    bytes: (*mut c_void, usize),
    twice: (*mut c_void, usize),
}

fn own(blocks: &[Block<'_>]) -> usize {
    blocks.iter().map(|block| block.bytes).sum()
}

pub fn note_shared() -> Option<()> {
    thread_local! { static NOTED: Cell<[[u64; 3]; 2]> = const { Cell::new([[0; 3]; 2]) }; }
    let (figures, _) = library::figures();
    if NOTED.replace(figures) == figures {
        return None;
    }
    let [host, device] = figures.map(|side| side.map(|bytes| bytes.to_string()).join("\t"));
    record::note(format!("\tshared\t-\t{host}\t{device}"))
}

fn this_thread() -> usize {
    // SAFETY: it has no preconditions.
    unsafe { libc::pthread_self() as usize }
}
