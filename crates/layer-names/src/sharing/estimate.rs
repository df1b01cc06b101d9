//! What sharing would save, for a program that runs without it: noted in the recording after passes, with sharing what it took.

use std::cell::Cell;
use std::ffi::c_void;

use super::offsets::offsets;
use super::placing::{Placed, blocks};
use super::{library, with};
use crate::blob::{bytes_of, is_touched};
use crate::net::Net;
use crate::record;

/// What a net's nets would share, with `gradients` and with `all`.
pub struct Estimate {
    plans: [Vec<Placed>; 2],
    /// Bytes of the memory that the plans are about, when they were noted.
    noted: usize,
}

pub fn begin(net: Net, plans: [Vec<Placed>; 2]) {
    let plans = plans.map(|mut plan| {
        // What was touched while the net was made is not shared.
        plan.retain(|placed| placed.blob.memory().is_none_or(|memory| !is_touched(memory[placed.part])));
        plan
    });
    with(|state| state.estimates.insert(net.address(), Estimate { plans, noted: 0 }));
}

/// Notes what a pass through the net showed, if it is new.
pub fn note(net: Net) -> Option<()> {
    if super::is_on() {
        return note_shared();
    }
    record::note(with(|state| state.estimates.get_mut(&net.address())?.text(net))?)
}

impl Estimate {
    /// What a pass showed; `None` if it is not new.
    fn text(&mut self, net: Net) -> Option<String> {
        let bytes = |_: &Placed, object: *mut c_void| bytes_of(object).filter(|_| is_touched(object));
        let held = |placed: &[Placed]| blocks(placed, bytes).0.iter().map(|block| block.bytes).sum::<usize>();
        let all = held(&self.plans[1]);
        if all <= self.noted {
            return None;
        }
        self.noted = all;
        let items = net.batch()?;
        let twice = |placed: &Placed, object: *mut c_void| {
            let factor = if placed.grows && placed.blob.first_axis() == items { 2 } else { 1 };
            Some(bytes(placed, object)? * factor)
        };
        let mut text = format!("\tsharing\t-\t{}\t{}\t{items}", net.address(), this_thread());
        for placed in &self.plans {
            for blocks in [blocks(placed, bytes).0, blocks(placed, twice).0] {
                let needed = offsets(&blocks).iter().zip(&blocks).map(|(at, block)| at + block.bytes).max();
                let own: usize = blocks.iter().map(|block| block.bytes).sum();
                text += &format!("\t{own}\t{}", needed.unwrap_or(0));
            }
        }
        Some(text)
    }
}

fn note_shared() -> Option<()> {
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
