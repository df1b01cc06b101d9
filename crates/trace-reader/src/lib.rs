//! Reads recordings, one file for each process, as [`Item`]s in the order of time. A [`Reader`] reads a recording and its
//! family, process by process; a [`Stream`] reads one recording, also while its process writes it. A [`ledger::Ledger`]
//! keeps the objects and adds up the memory of each owner. Any bytes are read without a panic, and with memory in proportion to the
//! file's size.

#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "used in this workspace alone: the names of fields say what they hold")]

pub mod family;
pub mod ledger;
mod recording;
mod stream;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use family::Member;
use stream::Inherited;
pub use stream::Stream;
use syncedmem_trace::event::{Event, Pass, Site};
use syncedmem_trace::recording::header::{Header, NoHeader};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The first item of a process. All items up to `End` belong to it.
    Process {
        process: u32,
        name: String,
        /// `None` unless the parent recorded.
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
    /// The layers of one of Caffe's nets, as text: see `Topic::Net`.
    Net(String),
    Note(Note),
    /// The name of a known object, from now on.
    Name {
        time: u64,
        object: u64,
        name: String,
    },
    /// The number of items of the batch that an object holds from now on; 0: not known.
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
    /// Whether its calls can reach the library. If not, the linker has bound them within the file.
    pub reaches: bool,
    /// Number of functions of `SyncedMemory` that were replaced at their entries; 0 if it was not taken over.
    pub taken_over: u64,
    /// Number of functions of nets and solvers that were replaced, for the names of layers.
    pub for_names: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub process: u32,
    pub header: Box<Header>,
    /// Records that were overwritten before they were read.
    pub gave_way: u64,
    /// Records that the process began and did not finish.
    pub unfinished: u64,
    /// Records of another version, or damaged ones.
    pub unknown: u64,
}

#[derive(Debug, Default)]
pub struct Reader {
    current: Option<Stream>,
    /// In reverse order.
    waiting: Vec<Member>,
    ready: VecDeque<Item>,
    /// What forked processes inherit, by their id.
    inherited: HashMap<u32, Inherited>,
    unreadable: Vec<(PathBuf, ReadError)>,
}

impl Reader {
    /// Reads the recordings of [`family::of`].
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

    /// Returns `false` after the last recording.
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

/// The reason why a file cannot be read as a recording.
#[derive(Debug)]
pub enum ReadError {
    System(io::Error),
    Empty,
    Text,
    NoRecordings,
    /// The file has more than these bytes, which its header names.
    TooLong(u64),
    Header(NoHeader),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::System(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::System(error) => write!(f, "it cannot be read: {error}"),
            ReadError::Empty => {
                f.write_str("it is empty: its process has not used the library, or the disk was full; record again")
            }
            ReadError::Text => f.write_str(
                "it is an export, not a recording; open it with the tool that it was exported for, or record again with syncedmem run \
                 --trace FILE",
            ),
            ReadError::NoRecordings => f.write_str("this folder has no recording; name one that syncedmem run --trace wrote"),
            ReadError::TooLong(most) => {
                write!(f, "it is longer than the {most} bytes that its header names: it is damaged; record again")
            }
            ReadError::Header(NoHeader::Foreign) => {
                f.write_str("it is not a recording of libsyncedmem; name a file that syncedmem run --trace or SYNCEDMEM_TRACE wrote")
            }
            ReadError::Header(NoHeader::Other(version)) => {
                write!(f, "another version of libsyncedmem wrote it (format {version}); use the command of that version, or record again")
            }
            ReadError::Header(NoHeader::Damaged) => f.write_str("its header is damaged or incomplete; record again"),
        }
    }
}

impl std::error::Error for ReadError {}
