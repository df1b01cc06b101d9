//! What tests of the trace share: its reader, events of every kind, and the rules of the format.
#![allow(dead_code, reason = "each test takes what it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test answers for what it passes"
)]

pub mod events;
pub mod rules;

pub use crate::support::folder::Folder;

use std::ffi::CString;
use std::path::Path;

use syncedmem::observe::trace;
use syncedmem_trace::event::{Event, Site, What};
use syncedmem_trace::format::Live;
#[allow(unused_imports, reason = "each test takes what it needs")]
pub use syncedmem_trace_reader as reader;
use syncedmem_trace_reader::{Item, Notes, Reader};

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// Writes the events to a trace.
pub fn write(path: &Path, events: &[Event]) {
    trace::start(&c_path(path)).unwrap();
    events.iter().for_each(|event| trace::record(event, &Live::default()));
    trace::stop();
}

/// Reads a trace to its end.
pub fn read(path: &Path) -> (Vec<Item>, Notes) {
    let mut reader = Reader::open(path).unwrap();
    let items = reader.by_ref().map(|item| item.unwrap()).collect();
    assert_eq!(reader.position(), std::fs::metadata(path).unwrap().len());
    (items, reader.notes())
}

/// The events among what was read.
pub fn events_of(items: &[Item], of: u32) -> Vec<Event> {
    let event = |item: &Item| match item {
        Item::Event { process, event } if *process == of => Some(*event),
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

/// An event at so many nanoseconds.
pub fn event(start: u64) -> Event {
    Event { start, duration: 1, thread: 1, object: 0x1000, site: Site(1), what: What::Synchronised }
}

pub fn record(start: u64) {
    trace::record(&event(start), &Live::default());
}

pub fn starts(items: &[Item], process: u32) -> Vec<u64> {
    events_of(items, process).iter().map(|event| event.start).collect()
}
