//! What sharing would save, for a program that runs without it: noted in the recording after passes, with sharing what it took.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;

use super::library;
use super::offsets::offsets;
use super::placing::{Placed, blocks};
use crate::at_fork::lock;
use crate::blob::{bytes_of, is_touched};
use crate::net::Net;
use crate::record;

/// What a net's nets would share, with `gradients` and with `all`.
pub struct Estimate {
    plans: [Vec<Placed>; 2],
    /// Bytes of the memory that the plans are about, when they were noted.
    noted: Cell<usize>,
}

/// By the address of a net. A net that ended leaves its entry, until another begins at its address.
pub static ESTIMATES: Mutex<Option<HashMap<usize, Estimate>>> = Mutex::new(None);

pub fn begin(net: Net, plans: [Vec<Placed>; 2]) {
    let plans = plans.map(|mut plan| {
        // What was touched while the net was made is not shared.
        plan.retain(|placed| placed.blob.memory().is_none_or(|memory| !is_touched(memory[placed.part])));
        plan
    });
    let estimate = Estimate { plans, noted: Cell::new(0) };
    lock(&ESTIMATES).get_or_insert_default().insert(net.address(), estimate);
}

/// Notes what a pass through the net showed, if it is new.
pub fn note(net: Net) -> Option<()> {
    if super::is_on() {
        return note_shared();
    }
    let estimates = lock(&ESTIMATES);
    let estimate = estimates.as_ref()?.get(&net.address())?;
    let bytes = |_: &Placed, object: *mut c_void| bytes_of(object).filter(|_| is_touched(object));
    let held = |placed: &[Placed]| blocks(placed, bytes).0.iter().map(|block| block.bytes).sum::<usize>();
    let all = held(&estimate.plans[1]);
    if all <= estimate.noted.replace(all.max(estimate.noted.get())) {
        return None;
    }
    let items = net.batch()?;
    let twice = |placed: &Placed, object: *mut c_void| {
        let factor = if placed.grows && placed.blob.first_axis() == items { 2 } else { 1 };
        Some(bytes(placed, object)? * factor)
    };
    let mut text = format!("\tsharing\t-\t{}\t{}\t{items}", net.address(), this_thread());
    for placed in &estimate.plans {
        for blocks in [blocks(placed, bytes).0, blocks(placed, twice).0] {
            let needed = offsets(&blocks).iter().zip(&blocks).map(|(at, block)| at + block.bytes).max();
            let own: usize = blocks.iter().map(|block| block.bytes).sum();
            text += &format!("\t{own}\t{}", needed.unwrap_or(0));
        }
    }
    record::note(text)
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
