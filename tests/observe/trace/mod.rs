//! What tests of the trace share: events of every kind, and two ways to read a trace.
#![allow(dead_code, reason = "each test takes what it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::undocumented_unsafe_blocks,
    reason = "a test answers for what it passes"
)]

pub mod events;

pub use crate::support::folder::Folder;

use std::ffi::CString;
use std::path::Path;

use syncedmem::observe::trace;
use syncedmem_trace::event::{Event, Site, What};
use syncedmem_trace::recording::header::Header;
use syncedmem_trace::recording::record::{NoRecord, Record};
use syncedmem_trace::recording::text::{self, Topic};
use syncedmem_trace::recording::{HEADER, RECORD};
#[allow(unused_imports, reason = "each test takes what it needs")]
pub use syncedmem_trace_reader as reader;
use syncedmem_trace_reader::{Item, Reader};

pub fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// Records `work` in a file.
pub fn trace_to(path: &Path, work: impl FnOnce()) {
    trace::start(&c_path(path)).unwrap();
    work();
    trace::stop();
}

pub fn recorded(work: impl FnOnce()) -> Recorded {
    let folder = Folder::new();
    trace_to(&folder.path("t"), work);
    Recorded::of(&folder.path("t"))
}

/// Reads a trace and those of its run to their end.
pub fn read(path: &Path) -> Vec<Item> {
    Reader::open(path).unwrap().map(|item| item.unwrap()).collect()
}

/// The events among what was read.
pub fn events_of(items: &[Item], of: u32) -> Vec<Event> {
    let processes = items.split(|item| matches!(item, Item::End(_)));
    let of = processes.filter(|items| matches!(items.first(), Some(Item::Process { process, .. }) if *process == of));
    of.flatten().filter_map(|item| if let Item::Event(event) = item { Some(*event) } else { None }).collect()
}

/// What one file holds, by the format alone.
pub struct Recorded {
    /// The length in bytes.
    pub length: usize,
    pub header: Header,
    /// In the order of their numbers.
    pub records: Vec<Record>,
    /// Numbers of records that were reserved and not finished.
    pub unfinished: Vec<u64>,
    pub texts: Vec<(Topic, u64, String)>,
}

impl Recorded {
    pub fn of(path: &Path) -> Recorded {
        let file = std::fs::read(path).unwrap();
        let header = Header::read(&file).unwrap();
        let texts = Recorded::bytes_of_texts(path).into_iter();
        let texts =
            texts.map(|(kind, number, text)| (kind, number, String::from_utf8_lossy(&text).into_owned())).collect();
        let (mut records, mut unfinished) = (Vec::new(), Vec::new());
        for index in header.indices() {
            let begin = header.layout.record_at(header.layout.slot(index).0) as usize;
            let bytes = file.get(begin..).and_then(|rest| rest.first_chunk::<{ RECORD as usize }>());
            match bytes.map_or(Err(NoRecord::Unfinished), |bytes| header.record(index, bytes)) {
                Ok(record) => records.push(record),
                Err(NoRecord::Unfinished) => unfinished.push(index),
                Err(NoRecord::Unknown) => panic!("record {index} is unknown: {bytes:?}"),
            }
        }
        Recorded { length: file.len(), header, records, unfinished, texts }
    }

    /// The entries of the text area.
    pub fn bytes_of_texts(path: &Path) -> Vec<(Topic, u64, Vec<u8>)> {
        let file = std::fs::read(path).unwrap();
        let area = &file[HEADER as usize..][..Header::read(&file).unwrap().texts as usize];
        text::entries(area).map(|entry| (entry.topic, entry.number, entry.text.to_vec())).collect()
    }

    pub fn events(&self) -> Vec<Event> {
        let event = |record: &Record| match record {
            Record::Event { event, .. } => Some(*event),
            _ => None,
        };
        self.records.iter().filter_map(event).collect()
    }

    pub fn starts(&self) -> Vec<u64> {
        self.events().iter().map(|event| event.start).collect()
    }
}

/// When the events of a file began.
pub fn starts(path: &Path) -> Vec<u64> {
    Recorded::of(path).starts()
}

pub fn this_thread() -> u32 {
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// An event at so many nanoseconds.
pub fn event(start: u64) -> Event {
    Event { start, duration: 1, thread: this_thread(), object: 0, site: Site(1), what: What::Synchronised }
}

pub fn record(start: u64) {
    trace::record(&event(start), 0);
}
