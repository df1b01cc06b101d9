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
pub const VERSION: u64 = 2;

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
    use crate::account::Account;
    use crate::event::{Origin, Site, What};
    use crate::kind::Kind;
    use crate::recording::LEAST;
    use crate::recording::record::{self, Record};

    const LAYOUT: Layout = Layout::within(LEAST);

    fn new() -> Box<Words> {
        Box::new([const { AtomicU64::new(7) }; HEADER as usize / 8])
    }

    fn about() -> About<&'static str> {
        let (identity, run, start, start_of_day) = (3 << 40, 4 << 40, u64::MAX, 1 << 60);
        About { process: 5, parent: 6, identity, run, start, start_of_day, program: "caffe", library: "0.1.0" }
    }

    fn begun() -> Box<Words> {
        let words = new();
        begin(&words, LAYOUT, &about());
        words
    }

    fn bytes(words: &Words) -> Vec<u8> {
        words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
    }

    #[test]
    fn a_new_header_is_read_as_it_was_written() {
        let read = Header::read(&bytes(&begun())).unwrap();
        let About { process, parent, identity, run, start, start_of_day, program, library } = about();
        let (program, library) = (program.to_owned(), library.to_owned());
        assert_eq!(read.about, About { process, parent, identity, run, start, start_of_day, program, library });
        assert_eq!((read.layout, read.next, read.texts, read.end, read.cut), (LAYOUT, 0, 0, None, None));
        assert_eq!((read.lost, read.account), (0, Account::of([0; account::WORDS])));
    }

    #[test]
    fn long_names_are_cut_off_and_do_not_reach_the_next_words() {
        let long = "x".repeat(1000);
        let words = new();
        begin(&words, LAYOUT, &About { program: &long, library: &long, ..about() });
        let read = Header::read(&bytes(&words)).unwrap();
        assert_eq!((read.about.program.len(), read.about.library.len(), read.next), (256, 64, 0));
    }

    #[test]
    fn events_are_counted_in_the_header() {
        let words = begun();
        let allocated = What::Allocated { kind: Kind::Pinned, bytes: 100, block: 8, origin: Origin::Fresh };
        let event = |what| Event { start: 10, duration: 5, thread: 1, object: 2, site: Site::UNKNOWN, what };
        [allocated, allocated, What::Ended].into_iter().for_each(|what| count(&words, &event(what)));
        let account = Header::read(&bytes(&words)).unwrap().account;
        let memory = account.memory(Kind::Pinned);
        assert_eq!((memory.live, memory.peak_time, memory.fresh.count, account.ended()), (200, 15, 2, 1));
    }

    #[test]
    fn records_and_text_are_reserved_once_and_a_full_area_stays_as_it_is() {
        let words = begun();
        assert_eq!([(); 3].map(|()| reserve(&words)), [0, 1, 2]);
        assert_eq!([24, 16, 8].map(|bytes| reserve_text(&words, bytes, 40)), [Some(0), Some(24), None]);
        let read = Header::read(&bytes(&words)).unwrap();
        assert_eq!((read.indices(), read.texts), (0..3, 40));
    }

    #[test]
    fn the_ring_holds_the_newest_records() {
        let words = begun();
        let slots: Vec<record::Slot> = (0..LAYOUT.most).map(|_| [const { AtomicU64::new(0) }; 8]).collect();
        let total = 2 * LAYOUT.most + 5;
        let made = |time| Record::Mode { time, thread: 1, accesses: true };
        for time in 0..total {
            let (slot, lap) = LAYOUT.slot(reserve(&words));
            made(time).write(&slots[slot as usize], lap);
        }
        let read = Header::read(&bytes(&words)).unwrap();
        assert_eq!(read.indices(), total - LAYOUT.most..total);
        for index in read.indices() {
            let slot = &slots[LAYOUT.slot(index).0 as usize];
            let bytes: Vec<u8> = slot.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
            assert_eq!(read.record(index, bytes.first_chunk().unwrap()), Ok(made(index)));
        }
    }

    #[test]
    fn the_end_and_a_cut_are_marked() {
        let words = begun();
        cut(&words, 28);
        lose(&words);
        let last = End { time: 1 << 50, processor_time: 1 << 40, peak_resident: 1 << 30, peak_address_space: 1 << 32 };
        end(&words, last);
        let read = Header::read(&bytes(&words)).unwrap();
        assert_eq!((read.end, read.cut, read.lost), (Some(last), Some(28), 1));
    }

    #[test]
    fn the_first_bytes_say_whose_recording_it_is() {
        let words = begun();
        assert_eq!(bytes(&words)[RUN_AT as usize..].first_chunk(), Some(&about().run.to_le_bytes()));
        let owner = |words: &Words| Owner::read(bytes(words).first_chunk().unwrap());
        let expected = Owner { identity: about().identity, run: about().run, ended: false };
        assert_eq!(owner(&words), Some(expected));
        end(&words, End::default());
        assert_eq!(owner(&words), Some(Owner { ended: true, ..expected }));
        assert_eq!(Owner::read(&[0; Owner::BYTES]), None);
    }

    #[test]
    fn a_header_that_was_not_begun_or_not_finished_is_known_by_its_length_and_its_first_words() {
        let file = |words: &[u64]| {
            let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            file.resize(HEADER as usize, 0);
            file
        };
        for words in [&[][..], &[0, VERSION], &[0, VERSION, RECORD], &[0, VERSION, RECORD, 4096, 1]] {
            assert!(is_unfinished(&file(words)), "{words:?}");
        }
        let zeros = |bytes: u64| vec![0; bytes as usize];
        for other in [zeros(HEADER - 1), zeros(HEADER + 1), file(&[0, 1]), file(&[0, 0, 0, 1]), bytes(&begun())] {
            assert!(!is_unfinished(&other), "{:?}", &other[..32]);
        }
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
            let words = begun();
            words[word].store(number, Relaxed);
            assert_eq!(Header::read(&bytes(&words)), Err(error), "word {word}");
        }
    }
}
