//! What a recording is of, how much of it is used, and the account. The words that every event changes lie on cache
//! lines of their own.

mod read;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

pub use read::{Header, NoHeader, Owner, is_unfinished};

use super::{HEADER, Layout, RECORD};
use crate::account;
use crate::event::Event;

pub type Words = [AtomicU64; HEADER as usize / 8];

/// The first word.
pub const MAGIC: [u8; 8] = *b"syncmem\x01";
/// A reader refuses files of other versions.
pub const VERSION: u64 = 4;

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
const ACCOUNT: usize = 144;

/// Its place in the file.
pub const RUN_AT: u64 = 8 * RUN as u64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<Text> {
    pub process: u32,
    /// If that one recorded; else 0.
    pub parent: u32,
    /// Of this process: its id, and its start as the kernel counts it. execve keeps both.
    pub identity: u64,
    /// Of the run's first process. Forked children share it, and processes that found its file taken.
    pub run: u64,
    /// Nanoseconds of CLOCK_MONOTONIC, and of CLOCK_REALTIME.
    pub start: u64,
    pub start_of_day: u64,
    pub program: Text,
    pub library: Text,
}

/// The first word, which makes the file a recording, comes last.
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

/// Cuts it off at the end of the words.
fn store_text(words: &[AtomicU64], text: &str) {
    for (word, part) in words.iter().zip(text.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
}

/// Returns its index.
#[inline]
pub fn reserve(words: &Words) -> u64 {
    words[NEXT].fetch_add(1, Relaxed)
}

/// Returns where they begin in a text area of `most` bytes.
pub fn reserve_text(words: &Words, bytes: u64, most: u64) -> Option<u64> {
    words[TEXTS].fetch_update(Relaxed, Relaxed, |used| Some(used + bytes).filter(|&used| used <= most)).ok()
}

#[inline]
pub fn count(words: &Words, event: &Event) {
    const { assert!(ACCOUNT + account::WORDS <= HEADER as usize / 8) };
    if let Some(words) = words[ACCOUNT..].first_chunk() {
        account::take(words, event);
    }
}

pub fn lose(words: &Words) {
    words[LOST].fetch_add(1, Relaxed);
}

/// No record is written from now on.
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

/// Every event so far is recorded.
pub fn end(words: &Words, end: End) {
    words[PEAK_RESIDENT].store(end.peak_resident, Relaxed);
    words[PEAK_ADDRESS_SPACE].store(end.peak_address_space, Relaxed);
    words[END_TIME].store(end.time, Relaxed);
    words[PROCESSOR_TIME].store(end.processor_time, Relaxed);
    words[ENDED].store(1, Release);
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
