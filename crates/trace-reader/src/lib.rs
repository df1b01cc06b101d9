//! Reads a trace of SYNCEDMEM_TRACE line by line, in constant memory.
//!
//! A trace may lack its closing bracket and the end of its last line, and may hold several processes and other tools'
//! records. Unusable lines are skipped and counted; a file that is no trace is an error with the number of the line.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: the names of fields say what they hold")]

mod line;
mod order;
mod read_error;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use line::Record;
use order::Order;
pub use read_error::ReadError;
use syncedmem_trace::event::{Event, Site, What};

/// The contents of a trace, each process's items in the order of time. A forked process starts with its parent's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A process starts. If it was forked, its parent's call sites and names follow.
    Process {
        process: u32,
        name: String,
        /// The process that forked it, if that one traced.
        parent: Option<u32>,
    },
    /// A thread's name.
    Thread { process: u32, thread: u32, name: String },
    /// The text of a call site. Precedes the events that refer to it.
    Site { process: u32, site: Site, place: String },
    /// An object's name from now on.
    Name {
        process: u32,
        /// The object's address.
        object: u64,
        name: String,
    },
    /// How many items of the batch an object holds from now on; 0: it does not grow with the batch.
    Items {
        process: u32,
        /// The object's address.
        object: u64,
        items: u64,
    },
    /// The recording mode from now on. Unknown before the first of these.
    Mode {
        process: u32,
        /// Whether accesses that need nothing are recorded.
        accesses: bool,
        compares: bool,
    },
    /// An event.
    Event { process: u32, event: Event },
}

/// Counts of records and faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Records of libsyncedmem: events, names, sites, processes.
    pub ours: u64,
    /// Records of other tools.
    pub foreign: u64,
    /// Lines that are no records, or unknown ones.
    pub damaged: u64,
    /// Number of the first such line; 0: none.
    pub first_damaged: u64,
    /// Whether the last line is incomplete: its process was killed while writing it, or the disk was full.
    pub incomplete: bool,
    /// Number of processes without a last record, and the first one's id. They were killed, are still running, or could
    /// not write any more.
    pub unended: (u64, u32),
    /// Events too late in the file for their place in time.
    pub late: u64,
}

/// The longest line of a trace in bytes. A file with a longer one is no trace.
const LONGEST_LINE: u64 = 1 << 20;

pub struct Reader<R> {
    input: R,
    line: Vec<u8>,
    lines: u64,
    position: u64,
    processes: HashMap<u32, Process>,
    ready: VecDeque<Item>,
    notes: Notes,
    ended: bool,
}

/// The state of a process.
#[derive(Default)]
struct Process {
    order: Order,
    sites: Vec<(Site, String)>,
    names: HashMap<u64, String>,
    items: HashMap<u64, u64>,
    mode: Option<(bool, bool)>,
    ended: bool,
}

impl Reader<BufReader<File>> {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(Reader::new(BufReader::with_capacity(1 << 18, File::open(path).map_err(ReadError::System)?)))
    }
}

impl<R: BufRead> Reader<R> {
    pub fn new(input: R) -> Self {
        Reader {
            input,
            line: Vec::new(),
            lines: 0,
            position: 0,
            processes: HashMap::new(),
            ready: VecDeque::new(),
            notes: Notes::default(),
            ended: false,
        }
    }

    /// Bytes read so far.
    #[allow(dead_code, reason = "the tests that read traces with it show no progress")]
    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn notes(&self) -> Notes {
        self.notes
    }

    fn advance(&mut self) -> Result<(), ReadError> {
        self.line.clear();
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.line).map_err(ReadError::System)?;
        self.position += read as u64;
        if read == 0 {
            return self.end();
        }
        self.lines += 1;
        let whole = self.line.ends_with(b"\n");
        if !whole && read as u64 == LONGEST_LINE {
            return Err(ReadError::Line(self.lines, "it is too long for a record"));
        }
        let line = self.line.trim_ascii();
        let line = if self.lines == 1 { line::after_bracket(line)? } else { line };
        match line::parse(line) {
            Ok(None) => {}
            Ok(Some(record)) => self.take(record)?,
            Err(_) if !whole => self.notes.incomplete = true,
            // No record of libsyncedmem so far, and no JSON: the file is no trace.
            Err(what) if self.notes.ours == 0 => return Err(ReadError::Line(self.lines, what)),
            Err(_) => {
                self.notes.damaged += 1;
                if self.notes.first_damaged == 0 {
                    self.notes.first_damaged = self.lines;
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, record: Record) -> Result<(), ReadError> {
        if matches!(record, Record::Foreign) {
            self.notes.foreign += 1;
            return Ok(());
        }
        self.notes.ours += 1;
        match record {
            Record::Foreign | Record::Drawn => {}
            Record::Process { format, .. } if format > syncedmem_trace::format::FORMAT.into() => {
                return Err(ReadError::Newer(format));
            }
            Record::Process { process, name, parent, .. } => self.begin(process, name, parent),
            Record::End { process } => self.processes.entry(process).or_default().ended = true,
            Record::Thread { process, thread, name } => self.ready.push_back(Item::Thread { process, thread, name }),
            Record::Site { process, site, place } => {
                self.processes.entry(process).or_default().sites.push((site, place.clone()));
                self.ready.push_back(Item::Site { process, site, place });
            }
            Record::Name { process, time, object, name } => {
                self.put(process, time, Item::Name { process, object, name });
            }
            Record::Items { process, time, object, items } => {
                self.put(process, time, Item::Items { process, object, items });
            }
            Record::Mode { process, time, accesses, compares } => {
                self.put(process, time, Item::Mode { process, accesses, compares });
            }
            Record::Event { process, event } => self.put(process, event.end(), Item::Event { process, event }),
        }
        Ok(())
    }

    /// Starts a process. Ends an earlier one with the same id.
    fn begin(&mut self, process: u32, name: String, parent: Option<u32>) {
        let mut begun = Process::default();
        if let Some(before) = self.processes.remove(&process) {
            self.note_end(process, &before);
            self.finish(before);
        }
        self.ready.push_back(Item::Process { process, name, parent });
        if let Some(parent) = parent.and_then(|parent| self.processes.get(&parent)) {
            begun.sites.clone_from(&parent.sites);
            begun.names.clone_from(&parent.names);
            begun.items.clone_from(&parent.items);
            begun.mode = parent.mode;
        }
        if let Some((accesses, compares)) = begun.mode {
            self.ready.push_back(Item::Mode { process, accesses, compares });
        }
        for (site, place) in &begun.sites {
            self.ready.push_back(Item::Site { process, site: *site, place: place.clone() });
        }
        for (&object, name) in &begun.names {
            self.ready.push_back(Item::Name { process, object, name: name.clone() });
        }
        for (&object, &items) in &begun.items {
            self.ready.push_back(Item::Items { process, object, items });
        }
        self.processes.insert(process, begun);
    }

    /// Puts an item in the order of its process.
    fn put(&mut self, process: u32, end: u64, item: Item) {
        let Process { order, names, items: of_batch, mode, .. } = self.processes.entry(process).or_default();
        match &item {
            Item::Name { object, name, .. } => {
                names.insert(*object, name.clone());
            }
            Item::Items { object, items, .. } => {
                of_batch.insert(*object, *items);
            }
            Item::Mode { accesses, compares, .. } => *mode = Some((*accesses, *compares)),
            Item::Event { event: Event { object, what: What::Made { .. } | What::Ended, .. }, .. } => {
                names.remove(object);
                of_batch.remove(object);
            }
            _ => {}
        }
        if let Some(item) = order.put(end, item) {
            self.ready.push_back(item);
        }
    }

    fn note_end(&mut self, number: u32, process: &Process) {
        if !process.ended {
            let (count, first) = self.notes.unended;
            self.notes.unended = (count + 1, if count == 0 { number } else { first });
        }
    }

    fn finish(&mut self, mut process: Process) {
        self.notes.late += process.order.late();
        self.ready.extend(std::iter::from_fn(|| process.order.next()));
    }

    fn end(&mut self) -> Result<(), ReadError> {
        self.ended = true;
        if self.notes.ours == 0 {
            return Err(if self.lines == 0 { ReadError::Empty } else { ReadError::NotOurs(self.notes.foreign) });
        }
        let mut left: Vec<(u32, Process)> = self.processes.drain().collect();
        left.sort_by_key(|(process, _)| *process);
        for (number, process) in left {
            self.note_end(number, &process);
            self.finish(process);
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.advance() {
                self.ended = true;
                self.ready.clear();
                return Some(Err(error));
            }
        }
    }
}
