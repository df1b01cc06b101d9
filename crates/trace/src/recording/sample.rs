//! Recordings for tests, written by the functions that the library uses. Needs the feature `sample`.
#![expect(clippy::expect_used, reason = "a test whose preparation fails has failed")]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::header::{self, About, End, Words};
use super::record::{Record, Slot};
use super::text::{self, Topic};
use super::{HEADER, LEAST, Layout};
use crate::event::{Event, Site, What};

pub struct Recording {
    header: Box<Words>,
    texts: Vec<AtomicU64>,
    slots: Vec<Slot>,
}

pub const LAYOUT: Layout = Layout::within(LEAST);

/// A process without a parent.
pub fn process(process: u32) -> About<&'static str> {
    let identity = process.into();
    About {
        process,
        identity,
        run: identity,
        start: 100,
        start_of_day: 1_000_000_100,
        program: "caffe",
        ..About::default()
    }
}

impl Recording {
    pub fn new(about: &About<&str>) -> Recording {
        let words = |count: u64| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let recording = Recording {
            header: Box::new([const { AtomicU64::new(0) }; HEADER as usize / 8]),
            texts: words(LAYOUT.texts / 8),
            slots: (0..LAYOUT.most).map(|_| Slot::default()).collect(),
        };
        header::begin(&recording.header, LAYOUT, about);
        recording
    }

    /// Reserves a record that is never finished.
    pub fn reserve(&self) {
        header::reserve(&self.header);
    }

    pub fn put(&self, record: Record) {
        let (slot, lap) = LAYOUT.slot(header::reserve(&self.header));
        record.write(&self.slots[slot as usize], lap);
        if let Record::Event { event, .. } = record {
            header::count(&self.header, &event);
        }
    }

    pub fn event(&self, event: Event) {
        self.put(Record::Event { event, object_bytes: 64 });
    }

    pub fn named(&self, time: u64, object: u64, name: &str) {
        let text = self.text(Topic::Name, 0, name.as_bytes());
        self.put(Record::Named { time, thread: 1, object, object_bytes: 64, text });
    }

    /// Returns the place of the text.
    pub fn text(&self, topic: Topic, number: u64, text: &[u8]) -> u32 {
        let bytes = text::entry_bytes(text.len());
        let place = header::reserve_text(&self.header, bytes as u64, LAYOUT.texts).expect("space for a text") as usize;
        text::write(&self.texts[place / 8..(place + bytes) / 8], topic, number, text);
        place as u32
    }

    pub fn site(&self, site: u32, place: &str) {
        self.text(Topic::Site, site.into(), place.as_bytes());
    }

    pub fn lose(&self) {
        header::lose(&self.header);
    }

    pub fn cut(&self, errno: i32) {
        header::cut(&self.header, errno);
    }

    pub fn end(&self, end: End) {
        header::end(&self.header, end);
    }

    pub fn bytes(&self) -> Vec<u8> {
        let words = self.header.iter().chain(&self.texts).chain(self.slots.iter().flatten());
        words.flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
    }

    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).expect("a file");
    }
}

/// An event of object 0x1000, without a call site.
pub fn at(start: u64, duration: u64, what: What) -> Event {
    Event { start, duration, thread: 1, object: 0x1000, site: Site::UNKNOWN, what }
}
