//! The trace: every event as a record in a mapped file, which survives the process.
//!
//! [`start`] begins the file, and [`stop`] ends it; its format is `syncedmem_trace::recording`. The other functions take no
//! lock, make system calls only for new space, and may be called in any thread and signal handler. If space is lacking, one
//! line on standard error says so, and only the peaks in the header go on.
//!
//! A forked child begins another file at its first record. A process that exits marks its recording as whole.
#![expect(unsafe_code, reason = "prctl")]

mod file;
pub(crate) mod mapping;
mod notes;
mod sink;
mod windows;

use std::cell::Cell;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_trace::event::{Event, Pass, PassKind, Site};
use syncedmem_trace::recording::record::Record;
use syncedmem_trace::recording::text::Topic;

use crate::platform::clock::nanoseconds;
pub use crate::platform::file_error::FileError;
use crate::platform::thread;
pub use notes::is_any_caffe_bound;
use sink::Entry;
use sink::complain;
pub use sink::{after_fork_in_child, conclude, start, stop};

#[inline]
pub fn record(event: &Event, object_bytes: usize) {
    if let Some(entry) = sink::enter() {
        let event = Event { thread: this_thread(&entry), ..*event };
        entry.recording().event(event, object_bytes as u64);
    }
}

pub fn name(object: usize, object_bytes: usize, name: &str) {
    note(|entry, time, thread| {
        let (object, object_bytes) = (object as u64, object_bytes as u64);
        let text = place(entry, Topic::Name, 0, name.as_bytes())?;
        Some(Record::Named { time, thread, object, object_bytes, text })
    });
}

pub fn items(object: usize, object_bytes: usize, items: u64) {
    let (object, object_bytes) = (object as u64, object_bytes as u64);
    note(|_, time, thread| Some(Record::Items { time, thread, object, object_bytes, items }));
}

pub fn site(site: Site, text: &str) {
    if let Some(entry) = sink::enter() {
        entry.recording().text(Topic::Site, site.0.into(), text.as_bytes());
    }
}

/// Records the return addresses of a call site: at most eight.
pub fn frames(site: Site, addresses: &[usize]) {
    if let Some(entry) = sink::enter() {
        let mut bytes = [0; 8 * 8];
        for (bytes, address) in bytes.chunks_exact_mut(8).zip(addresses) {
            bytes.copy_from_slice(&(*address as u64).to_le_bytes());
        }
        let length = bytes.len().min(8 * addresses.len());
        entry.recording().text(Topic::Frames, site.0.into(), &bytes[..length]);
    }
}

/// Records a loaded file: build id and path as in `Topic::Module`.
pub fn module(base: usize, file: &[u8]) {
    if let Some(entry) = sink::enter() {
        place(&entry, Topic::Module, base as u64, file);
    }
}

/// Records the layers of a net, as in `Topic::Net`.
pub fn net(layers: &[u8]) {
    if let Some(entry) = sink::enter() {
        place(&entry, Topic::Net, 0, layers);
    }
}

/// Records a pass that began at `start`, in nanoseconds of CLOCK_MONOTONIC, and ends now.
pub fn pass(kind: PassKind, iteration: Option<u64>, start: u64) {
    let pass = |time: u64, thread| Pass { start, duration: time.saturating_sub(start), thread, kind, iteration };
    note(|_, time, thread| Some(Record::Pass(pass(time, thread))));
}

/// Records that this thread executes a layer from now on.
pub fn step(step: u64) {
    note(|_, time, thread| Some(Record::Step { time, thread, step }));
}

fn note(of: impl FnOnce(&Entry, u64, u32) -> Option<Record>) {
    let Some(entry) = sink::enter() else { return };
    if let Some(record) = of(&entry, nanoseconds(), this_thread(&entry)) {
        entry.recording().record(&record);
    }
}

/// Returns the place of a text. A text that was stored lately is not stored again.
fn place(entry: &Entry, topic: Topic, number: u64, text: &[u8]) -> Option<u32> {
    /// The recording and the place, by the hash of the text.
    static PLACES: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    let known = &PLACES[hasher.finish() as usize % PLACES.len()];
    let last = known.load(Relaxed);
    let (recording, place) = ((last >> 32) as u32, last as u32);
    if recording == entry.number() && entry.recording().has_text(place, topic, text) {
        return Some(place);
    }
    let place = entry.recording().text(topic, number, text)?;
    known.store(u64::from(entry.number()) << 32 | u64::from(place), Relaxed);
    Some(place)
}

/// The kernel's id of this thread. The first call in a recording also records the name of the thread.
#[inline]
fn this_thread(entry: &Entry) -> u32 {
    thread_local! {
        /// The recording and the id.
        static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    }
    match KNOWN.get() {
        (number, thread) if number == entry.number() => thread,
        _ => {
            let thread = thread::id();
            KNOWN.set((entry.number(), thread));
            introduce(entry, thread);
            thread
        }
    }
}

#[cold]
fn introduce(entry: &Entry, thread: u32) {
    let mut name = [0u8; 17];
    // SAFETY: prctl writes at most 16 of the 17 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    entry.recording().text(Topic::Thread, thread.into(), name);
}

/// Records the Caffes that are loaded now.
pub fn caffes() {
    if let Some(entry) = sink::enter() {
        note_caffes(&entry);
    }
}

fn note_caffes(entry: &Entry) {
    notes::each_caffe(|path, how| {
        place(entry, Topic::Caffe, how, path);
    });
}
