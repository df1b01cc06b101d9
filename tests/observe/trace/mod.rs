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

use std::ffi::CString;
use std::path::{Path, PathBuf};

use syncedmem::observe::event::Event;
use syncedmem::observe::trace::{self, Live};
#[allow(unused_imports, reason = "each test takes what it needs")]
pub use syncedmem_trace_reader as reader;
use syncedmem_trace_reader::{Item, Notes, Reader};

/// A folder of the test's own, removed with what is in it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        let pattern = CString::new(format!("{}/syncedmem-trace-XXXXXX", std::env::temp_dir().display())).unwrap();
        let mut name = pattern.into_bytes_with_nul();
        assert!(!unsafe { libc::mkdtemp(name.as_mut_ptr().cast()) }.is_null());
        name.pop();
        Folder(PathBuf::from(String::from_utf8(name).unwrap()))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is not a failure of the test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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
