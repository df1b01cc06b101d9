//! The trace: every event as a record in a file, readable at any moment, even after SIGKILL.
//!
//! [`start`] opens the file and [`stop`] ends it; in between [`record`], [`name`] and [`site`] append what they are given,
//! each at once and whole. They are called from any thread, with no lock held. Where a record cannot be written this is
//! said once on standard error, and the trace ends there; the program goes on.
//!
//! A forked child goes on in the same file, or in its own where the name has `%p` in it, once it has something to record:
//! its fork handler calls [`after_fork_in_child`], and nothing else has to be done. Aborts and kills need nothing: what was
//! recorded is in the file. A process that exits leaves a record that says so, by which a whole trace is known.
#![expect(unsafe_code, reason = "getpid and prctl")]

mod block;
mod chrome;
pub mod fields;
mod file;
mod rmm;
mod sink;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::event::{Event, Site};
use crate::platform::clock::nanoseconds;
pub use crate::platform::file_error::Trouble;
use crate::platform::text::{Escaped, Text};
use crate::platform::thread;
use block::Block;
pub use chrome::{CATEGORY, END};
pub use rmm::COLUMNS;
use sink::Entry;
pub use sink::{Held, after_fork_in_child, hold, is_on, start, stop};

/// The number of the form that records have. A reader of another form says so.
pub const FORMAT: u32 = 1;

/// The bytes that objects hold, by [`crate::state::kind::Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// The bytes.
    pub bytes: [u64; 3],
}

/// Appends an event; `live` is what objects hold after it.
pub fn record(event: &Event, live: &Live) {
    let Some(entry) = sink::enter() else { return };
    if entry.is_csv() {
        if let Some(row) = rmm::row(event) {
            entry.write(row.as_bytes());
        }
        return;
    }
    introduce_thread(&entry, event.thread);
    let process = entry.process();
    let mut block = Block::new();
    let mut records = Records { entry: &entry, block: &mut block };
    records.add(|block| chrome::event(block, process, event));
    if let Some((phase, copy)) = chrome::flow_phase(event) {
        records.add(|block| chrome::flow(block, process, event, phase, copy));
    }
    if LAST.change(live) {
        records.add(|block| chrome::counters(block, process, event, live));
    }
    records.write();
}

/// Appends the name that an object has from now on.
pub fn name(object: u64, name: &str) {
    note(|block, process, thread, now| chrome::name(block, process, thread, now, object, name));
}

/// Appends the place that a number stands for.
pub fn site(site: Site, place: &str) {
    note(|block, process, thread, now| chrome::site(block, process, thread, now, site, place));
}

/// Appends what is told from now on: whether accesses that need nothing are, and whether contents are compared.
pub fn mode(accesses: bool, compares: bool) {
    note(|block, process, thread, now| chrome::mode(block, process, thread, now, accesses, compares));
}

fn note(write: impl Fn(&mut Block, u32, u32, u64) -> std::fmt::Result) {
    let Some(entry) = sink::enter() else { return };
    if entry.is_csv() {
        return;
    }
    let (process, thread, now) = (entry.process(), thread::number(), nanoseconds());
    introduce_thread(&entry, thread);
    let mut block = Block::new();
    let mut records = Records { entry: &entry, block: &mut block };
    records.add(|block| write(block, process, thread, now));
    records.write();
}

/// The records of one event. Almost always they fit into one block.
struct Records<'e> {
    entry: &'e Entry,
    /// Made by the caller: to move it would take its room on the stack twice.
    block: &'e mut Block,
}

impl Records<'_> {
    fn add(&mut self, record: impl Fn(&mut Block) -> std::fmt::Result) {
        if !self.block.add(&record) {
            self.write();
            // One record always has room in an empty block: a test has the largest of each.
            self.block.add(&record);
        }
    }

    fn write(&mut self) {
        if !self.block.is_empty() {
            self.entry.write(self.block.whole());
            self.block.clear();
        }
    }
}

/// What the counters showed last.
struct Shown([AtomicU64; 3]);

static LAST: Shown = Shown([const { AtomicU64::new(u64::MAX) }; 3]);

impl Shown {
    /// Whether that is something else. Threads at once may both say so, or show what is a moment old: what comes next
    /// puts it right.
    fn change(&self, live: &Live) -> bool {
        let Shown(last) = self;
        last.iter().zip(live.bytes).fold(false, |changed, (last, bytes)| last.swap(bytes, Relaxed) != bytes || changed)
    }

    fn forget(&self) {
        let Shown(last) = self;
        last.iter().for_each(|last| last.store(u64::MAX, Relaxed));
    }
}

/// Names the thread, if it is this one and has no name yet in this trace.
fn introduce_thread(entry: &Entry, thread: u32) {
    thread_local! {
        static INTRODUCED: Cell<u32> = const { Cell::new(0) };
    }
    if INTRODUCED.get() == entry.number() || thread != thread::number() {
        return;
    }
    INTRODUCED.set(entry.number());
    let mut name = [0u8; 17];
    // SAFETY: 16 bytes are written at most, and there is one more.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let mut block = Block::new();
    let mut records = Records { entry, block: &mut block };
    records.add(|block| chrome::thread(block, entry.process(), thread, printable(&name).as_ref()));
    records.write();
}

/// Says which process this is, and from which it was forked (0: from none that traced).
fn introduce_process(entry: &Entry, parent: u32) {
    LAST.forget();
    let mut block = Block::new();
    let mut records = Records { entry, block: &mut block };
    records.add(|block| chrome::process(block, entry.process(), process_name().as_ref(), parent));
    records.write();
}

/// Says that all that this process had to record is in the file.
fn conclude(entry: &Entry) {
    let mut block = Block::new();
    if block.add(|block| chrome::end(block, entry.process())) {
        entry.write(block.whole());
    }
}

/// Runs when the library is finalised: after `main` and the destructors of the program's own static objects. What other
/// libraries do after that is recorded, too.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = sink::conclude;

/// The name of the process's first thread, which is the program's unless that was changed.
fn process_name() -> Text<64> {
    let mut name = [0u8; 64];
    // SAFETY: the path is NUL-terminated.
    let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/comm".as_ptr(), libc::O_CLOEXEC) };
    if file >= 0 {
        // SAFETY: one byte less than there is may be written.
        unsafe { libc::syscall(libc::SYS_read, file, name.as_mut_ptr(), name.len() - 1) };
        // SAFETY: it was opened above.
        unsafe { libc::syscall(libc::SYS_close, file) };
    }
    printable(&name)
}

/// Bytes up to a NUL or a line's end, as text.
fn printable(bytes: &[u8]) -> Text<64> {
    let line = bytes.split(|&byte| byte == 0 || byte == b'\n').next().unwrap_or_default();
    Text::of(format_args!("{}", Escaped(line)))
}
