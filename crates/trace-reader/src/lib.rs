//! Reads recordings, one file for each process, as [`Item`]s in the order of time: a [`Reader`] a recording and its
//! family, process by process; a [`Stream`] one, also while its process writes it. Any bytes are read without a panic,
//! and with memory in proportion to the file's size.

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
use syncedmem_trace::event::{Event, Pass, Site};
use syncedmem_trace::recording::header::Header;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The first item of a process: those up to its end are its own.
    Process {
        process: u32,
        name: String,
        /// If that one recorded.
        parent: Option<u32>,
        /// Nanoseconds of CLOCK_MONOTONIC, and of CLOCK_REALTIME.
        monotonic: u64,
        realtime: u64,
    },
    Thread {
        thread: u32,
        name: String,
    },
    /// Precedes the events that refer to it.
    Site {
        site: Site,
        place: String,
    },
    /// The return addresses of a call site, innermost first.
    Frames {
        site: Site,
        addresses: Vec<u64>,
    },
    /// A loaded file.
    Module {
        /// The load address.
        start: u64,
        build_id: Vec<u8>,
        path: String,
    },
    /// The layers of a net of Caffe's, as the format has them.
    Net(String),
    Note(Note),
    /// The name of a known object, from now on.
    Name {
        time: u64,
        object: u64,
        name: String,
    },
    /// How many items of the batch an object holds from now on; 0: not known.
    Items {
        object: u64,
        items: u64,
    },
    Event(Event),
    Pass(Pass),
    /// The thread executes a layer from now on.
    Step {
        time: u64,
        thread: u32,
        step: u64,
    },
    /// The last item of a process.
    End(End),
}

/// What a process is, and what bounds its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The command line.
    Command(Vec<String>),
    /// The machine's name.
    Host(String),
    /// `NAME=VALUE` of an environment variable of the library's.
    Setting(String),
    Limit {
        name: String,
        bytes: u64,
    },
    Caffe(Caffe),
}

/// A Caffe in the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caffe {
    pub file: String,
    /// Else its calls are bound within it.
    pub reaches: bool,
    /// How many functions of its memory were replaced at their entries; 0 if it was not taken over.
    pub taken_over: u64,
    /// How many functions of nets and solvers were, for the names of layers.
    pub for_names: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub process: u32,
    pub header: Box<Header>,
    /// Records that gave way before they were read.
    pub gave_way: u64,
    /// Records that the process had begun.
    pub unfinished: u64,
    /// Also damaged ones.
    pub unknown: u64,
}

#[derive(Debug, Default)]
pub struct Reader {
    current: Option<Stream>,
    /// The last one first.
    waiting: Vec<Member>,
    ready: VecDeque<Item>,
    /// By the id of a forked process.
    inherited: HashMap<u32, Inherited>,
    unreadable: Vec<(PathBuf, ReadError)>,
}

impl Reader {
    /// See [`family::of`].
    pub fn open(path: &Path) -> Result<Reader, ReadError> {
        let (mut waiting, unreadable) = family::of(path)?;
        waiting.reverse();
        Ok(Reader { waiting, unreadable, ..Reader::default() })
    }

    pub fn of(file: File) -> Result<Reader, ReadError> {
        Ok(Reader { current: Some(Stream::new(file)?), ..Reader::default() })
    }

    pub fn without(mut self, files: &[PathBuf]) -> Reader {
        self.waiting.retain(|member| !files.contains(&member.path));
        self
    }

    pub fn unreadable(&self) -> &[(PathBuf, ReadError)] {
        &self.unreadable
    }

    /// `false` behind the last recording.
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
