//! Reads recordings: the files that SYNCEDMEM_TRACE and `syncedmem run` write, one for each process.
//!
//! A [`Reader`] reads a recording and those of the processes that belong to it, process by process; a [`Stream`] reads one, also while
//! its process writes it. Both give [`Item`]s in the order of time. The writer keeps no account of objects, so objects that it has met
//! before the recording are found out here: by their first event.
//!
//! Any bytes are read without a panic, and with memory in proportion to the file's size.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: the names of fields say what they hold")]

pub mod family;
mod objects;
mod order;
mod read_error;
mod recording;
mod stream;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};

use family::Member;
pub use read_error::ReadError;
use stream::Inherited;
pub use stream::Stream;
use syncedmem_trace::event::{Event, Site};
use syncedmem_trace::recording::header::Header;

/// The contents of a recording, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A process begins.
    Process {
        process: u32,
        name: String,
        /// The process that forked it, if that one recorded.
        parent: Option<u32>,
        /// The recording's start: nanoseconds of CLOCK_MONOTONIC, and of CLOCK_REALTIME.
        monotonic: u64,
        realtime: u64,
    },
    /// A thread's name.
    Thread { process: u32, thread: u32, name: String },
    /// The text of a call site. Precedes the events that refer to it.
    Site { process: u32, site: Site, place: String },
    /// The return addresses of a call site, the innermost first.
    Frames { process: u32, site: Site, addresses: Vec<u64> },
    /// A loaded file.
    Module {
        process: u32,
        /// Its load address.
        start: u64,
        build_id: Vec<u8>,
        path: String,
    },
    /// An object's name from now on. The object is known: an event about it came before.
    Name {
        process: u32,
        time: u64,
        /// The object's address.
        object: u64,
        name: String,
    },
    /// How many items of a batch an object holds from now on; 0: not known.
    Items { process: u32, object: u64, items: u64 },
    /// The recording mode from now on. Unknown before the first of these.
    Mode {
        process: u32,
        time: u64,
        /// Whether accesses that need nothing are recorded.
        accesses: bool,
        compares: bool,
    },
    /// An event.
    Event { process: u32, event: Event },
    /// The last item of a process.
    End(End),
}

/// What a recording says of itself as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub process: u32,
    pub header: Box<Header>,
    /// Records that gave way to later ones before they were read.
    pub gave_way: u64,
    /// Records that the process had begun and not finished.
    pub unfinished: u64,
    /// Records that this version does not know, and damaged ones.
    pub unknown: u64,
}

/// Reads recordings one after the other.
#[derive(Debug, Default)]
pub struct Reader {
    current: Option<Stream>,
    /// The other recordings, the last one first.
    waiting: Vec<Member>,
    ready: VecDeque<Item>,
    /// What a forked process has from its parent, by its id.
    inherited: HashMap<u32, Inherited>,
    unreadable: Vec<(PathBuf, ReadError)>,
}

impl Reader {
    /// Reads a recording and its family (see [`family::of`]); of a folder, the recordings in it.
    pub fn open(path: &Path) -> Result<Reader, ReadError> {
        let (mut waiting, unreadable) = family::of(path)?;
        waiting.reverse();
        Ok(Reader { waiting, unreadable, ..Reader::default() })
    }

    /// Reads one recording.
    pub fn of(file: File) -> Result<Reader, ReadError> {
        Ok(Reader { current: Some(Stream::new(file)?), ..Reader::default() })
    }

    /// Leaves out these files.
    pub fn without(mut self, files: &[PathBuf]) -> Reader {
        self.waiting.retain(|member| !files.contains(&member.path));
        self
    }

    /// The files that could not be read so far.
    pub fn unreadable(&self) -> &[(PathBuf, ReadError)] {
        &self.unreadable
    }

    /// Reads on; `false` behind the last recording.
    fn advance(&mut self) -> Result<bool, ReadError> {
        if let Some(stream) = &mut self.current {
            if !stream.read(&mut self.ready)? {
                self.inherited.extend(stream.finish(&mut self.ready));
                self.current = None;
            }
            return Ok(true);
        }
        let Some(Member { path, process, start, .. }) = self.waiting.pop() else { return Ok(false) };
        match File::open(&path).map_err(ReadError::System).and_then(Stream::new) {
            Ok(stream) => {
                let is_forked = |member: &&Member| member.parent == process && member.start >= start;
                let forks =
                    self.waiting.iter().filter(is_forked).map(|member| (member.start, member.process)).collect();
                let inherited = self.inherited.remove(&process).unwrap_or_default();
                self.current = Some(stream.among(inherited, forks));
            }
            Err(error) => self.unreadable.push((path, error)),
        }
        Ok(true)
    }
}

impl Iterator for Reader {
    type Item = Result<Item, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    (self.current, self.waiting) = (None, Vec::new());
                    return Some(Err(error));
                }
            }
        }
    }
}
