//! The header of a recording: its process, how much is used, and the memory that objects hold and held at the peaks. The
//! words that every event changes lie on separate cache lines.

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::record::{NoRecord, Record};
use super::{HEADER, Layout, RECORD, words};
use crate::account::{Levels, take_level};
use crate::event::Event;
use syncedmem_core::kind::Kind;

pub type Words = [AtomicU64; HEADER as usize / 8];

/// The first word of the file.
pub const MAGIC: [u8; 8] = *b"syncmem\x01";
/// Readers refuse files of other versions.
pub const VERSION: u64 = 5;

const IDENTITY: usize = 7;
const RUN: usize = 8;
const ENDED: usize = 11;
const CUT: usize = 12;
const LOST: usize = 13;
const PEAK_RESIDENT: usize = 14;
const END_TIME: usize = 15;
const PROCESSOR_TIME: usize = 16;
const PEAK_ADDRESS_SPACE: usize = 17;
const NAME: usize = 32;
const NAME_WORDS: usize = 32;
const LIBRARY: usize = 64;
const LIBRARY_WORDS: usize = 8;
const NEXT: usize = 128;
const TEXTS: usize = 136;
const LEVELS: usize = 144;

/// The place of the run's identity in the file.
pub const RUN_AT: u64 = 8 * RUN as u64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<Text> {
    pub process: u32,
    /// 0 unless the parent recorded.
    pub parent: u32,
    /// The process's id, and its start as the kernel counts it. execve keeps both.
    pub identity: u64,
    /// The identity of the run's first process. Its forked children have the same, and so have processes that found its
    /// file taken.
    pub run: u64,
    /// Nanoseconds of CLOCK_MONOTONIC, and of CLOCK_REALTIME.
    pub start: u64,
    pub start_of_day: u64,
    pub program: Text,
    pub library: Text,
}

/// Writes a new header. The first word, which makes the file a recording, comes last.
pub fn begin(words: &Words, layout: Layout, about: &About<&str>) {
    let numbers = [
        VERSION,
        RECORD,
        layout.texts,
        layout.most,
        about.process.into(),
        about.parent.into(),
        about.identity,
        about.run,
        about.start,
        about.start_of_day,
    ];
    words.iter().for_each(|word| word.store(0, Relaxed));
    for (word, number) in words[1..].iter().zip(numbers) {
        word.store(number, Relaxed);
    }
    store_text(&words[NAME..NAME + NAME_WORDS], about.program);
    store_text(&words[LIBRARY..LIBRARY + LIBRARY_WORDS], about.library);
    words[0].store(u64::from_le_bytes(MAGIC), Release);
}

/// Cuts the text off at the end of the words.
fn store_text(words: &[AtomicU64], text: &str) {
    for (word, part) in words.iter().zip(text.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
}

/// Reserves a record. Returns its index.
#[inline]
pub fn reserve(words: &Words) -> u64 {
    words[NEXT].fetch_add(1, Relaxed)
}

/// Reserves bytes in a text area of `most` bytes. Returns where they begin.
pub fn reserve_text(words: &Words, bytes: u64, most: u64) -> Option<u64> {
    words[TEXTS].fetch_update(Relaxed, Relaxed, |used| Some(used + bytes).filter(|&used| used <= most)).ok()
}

#[inline]
pub fn count(words: &Words, event: &Event) {
    if let Some(levels) = words[LEVELS..].first_chunk::<{ size_of::<Levels>() / 8 }>() {
        take_level(levels, event);
    }
}

pub fn lose(words: &Words) {
    words[LOST].fetch_add(1, Relaxed);
}

/// Notes that no record is written from now on.
pub fn cut(words: &Words, errno: i32) {
    words[CUT].store(errno as u64, Relaxed);
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// CLOCK_MONOTONIC in nanoseconds.
    pub time: u64,
    /// Nanoseconds.
    pub processor_time: u64,
    /// Bytes.
    pub peak_resident: u64,
    /// Bytes.
    pub peak_address_space: u64,
}

/// Notes that every event until now is recorded.
pub fn end(words: &Words, end: End) {
    words[PEAK_RESIDENT].store(end.peak_resident, Relaxed);
    words[PEAK_ADDRESS_SPACE].store(end.peak_address_space, Relaxed);
    words[END_TIME].store(end.time, Relaxed);
    words[PROCESSOR_TIME].store(end.processor_time, Relaxed);
    words[ENDED].store(1, Release);
}

/// The owner of a file. A process reads it before it writes to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub identity: u64,
    pub run: u64,
    pub ended: bool,
}

impl Owner {
    /// Bytes that [`Owner::read`] needs.
    pub const BYTES: usize = 128;

    /// `None` if the bytes are not a recording's.
    pub fn read(bytes: &[u8; Owner::BYTES]) -> Option<Owner> {
        let words: [u64; Owner::BYTES / 8] = words(bytes);
        let is_one = words[0] == u64::from_le_bytes(MAGIC);
        is_one.then_some(Owner { identity: words[IDENTITY], run: words[RUN], ended: words[ENDED] != 0 })
    }
}

/// Whether the file is a header whose process was killed before it finished it.
pub fn is_unfinished(file: &[u8]) -> bool {
    let Some((first, rest)) = file.split_first_chunk::<24>() else { return false };
    file.len() as u64 == HEADER
        && match words::<24, 3>(first) {
            [0, VERSION, RECORD] => true,
            [0, 0 | VERSION, 0] => rest.iter().all(|&byte| byte == 0),
            _ => false,
        }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub about: About<String>,
    pub layout: Layout,
    /// Number of records that were reserved.
    pub next: u64,
    /// Bytes used.
    pub texts: u64,
    /// `Some` if the process exited or stopped the recording.
    pub end: Option<End>,
    /// The error number after which no record was written.
    pub cut: Option<i32>,
    /// Number of events after the cut, or in a signal handler that could not wait.
    pub lost: u64,
    /// Peaks of all events, also of those whose records were overwritten, by kind: bytes, and the time.
    pub peaks: [(u64, u64); 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHeader {
    Foreign,
    /// Another version of the format.
    Other(u64),
    Damaged,
}

impl Header {
    pub fn read(bytes: &[u8]) -> Result<Header, NoHeader> {
        if !bytes.starts_with(&MAGIC) {
            return Err(NoHeader::Foreign);
        }
        let bytes = bytes.first_chunk::<{ HEADER as usize }>().ok_or(NoHeader::Damaged)?;
        let all: [u64; HEADER as usize / 8] = words(bytes);
        let [_, version, record, texts, most, process, parent, identity, run, start, start_of_day, ..] = all;
        if version != VERSION {
            return Err(NoHeader::Other(version));
        }
        let layout = Layout { texts, most };
        let is_sound = record == RECORD
            && most > 0
            && texts <= u32::MAX.into()
            && most < u64::MAX / RECORD / 2
            && all[TEXTS] <= texts;
        if !is_sound {
            return Err(NoHeader::Damaged);
        }
        let text = |from: usize, count: usize| {
            let bytes: Vec<u8> = all[from..from + count].iter().flat_map(|word| word.to_le_bytes()).collect();
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let about = About {
            process: process as u32,
            parent: parent as u32,
            identity,
            run,
            start,
            start_of_day,
            program: text(NAME, NAME_WORDS),
            library: text(LIBRARY, LIBRARY_WORDS),
        };
        Ok(Header {
            about,
            layout,
            next: all[NEXT],
            texts: all[TEXTS],
            end: (all[ENDED] != 0).then_some(End {
                time: all[END_TIME],
                processor_time: all[PROCESSOR_TIME],
                peak_resident: all[PEAK_RESIDENT],
                peak_address_space: all[PEAK_ADDRESS_SPACE],
            }),
            cut: Some(all[CUT] as i32).filter(|&errno| errno != 0),
            lost: all[LOST],
            peaks: Kind::ALL.map(|kind| (all[LEVELS + 3 + kind as usize], all[LEVELS + 6 + kind as usize])),
        })
    }

    /// Indices of the records in the file, the oldest first.
    pub fn indices(&self) -> Range<u64> {
        self.next.saturating_sub(self.layout.most)..self.next
    }

    /// Reads a record from the bytes of its slot.
    pub fn record(&self, index: u64, bytes: &[u8; RECORD as usize]) -> Result<Record, NoRecord> {
        Record::read(bytes, self.layout.slot(index).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::LEAST;

    const LAYOUT: Layout = Layout::within(LEAST);

    fn begun(about: &About<&str>) -> Box<Words> {
        let words = Box::new([const { AtomicU64::new(7) }; HEADER as usize / 8]);
        begin(&words, LAYOUT, about);
        words
    }

    fn bytes(words: &Words) -> Vec<u8> {
        words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
    }

    #[test]
    fn long_names_are_cut_off_and_do_not_reach_the_next_words() {
        let long = "x".repeat(1000);
        let words = begun(&About { program: &long, library: &long, ..About::default() });
        let read = Header::read(&bytes(&words)).unwrap();
        assert_eq!((read.about.program.len(), read.about.library.len(), read.next), (256, 64, 0));
    }

    #[test]
    fn other_files_other_formats_and_damaged_headers_are_refused() {
        assert_eq!(Header::read(b"[\n{}"), Err(NoHeader::Foreign));
        assert_eq!(Header::read(b""), Err(NoHeader::Foreign));
        assert_eq!(Header::read(&MAGIC), Err(NoHeader::Damaged));
        for (word, number, error) in [
            (1, VERSION + 1, NoHeader::Other(VERSION + 1)),
            (1, VERSION - 1, NoHeader::Other(VERSION - 1)),
            (2, 32, NoHeader::Damaged),
            (3, u64::MAX, NoHeader::Damaged),
            (4, 0, NoHeader::Damaged),
            (4, u64::MAX, NoHeader::Damaged),
            (TEXTS, LAYOUT.texts + 8, NoHeader::Damaged),
        ] {
            let words = begun(&About::default());
            words[word].store(number, Relaxed);
            assert_eq!(Header::read(&bytes(&words)), Err(error), "word {word}");
        }
    }
}
