//! The trace: every event as a record in a file that is readable at any moment, even after SIGKILL.
//!
//! [`start`] opens the file and [`stop`] ends it. In between [`record`], [`name`] and [`site`] append their records at
//! once and whole. Any thread may call them, with no lock held. If a record cannot be written, one line on standard
//! error reports it, and the trace ends there; the program goes on.
//!
//! A forked child continues in the same file, or in its own if the name has `%p`, from its first record on. Its fork
//! handler calls [`after_fork_in_child`], which is all it needs. Aborts and kills need no handling: every record is in
//! the file already. A process that exits appends a last record, which marks its trace as complete.
#![expect(unsafe_code, reason = "getpid and prctl")]

mod file;
mod sink;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_trace::event::{Event, Site};
use syncedmem_trace::format::Live;
use syncedmem_trace::format::block::Block;
use syncedmem_trace::format::{chrome, rmm};
use syncedmem_trace::text::{Escaped, Text};

use crate::platform::clock::nanoseconds;
pub use crate::platform::file_error::FileError;
use crate::platform::local_time::LocalTime;
use crate::platform::thread;
use sink::Entry;
pub use sink::{Held, after_fork_in_child, hold, is_on, start, stop};

/// Appends an event. `live` is the memory that objects hold after it.
pub fn record(event: &Event, live: &Live) {
    let Some(entry) = sink::enter() else { return };
    if entry.is_csv() {
        if let Some(row) = rmm::row(event, time_of_day) {
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

/// Seconds since midnight, and microseconds.
fn time_of_day() -> (i64, i64) {
    let now = LocalTime::now();
    (now.second_of_day, now.microsecond)
}

/// Appends an object's new name.
pub fn name(object: u64, name: &str) {
    note(|block, process, thread, now| chrome::name(block, process, thread, now, object, name));
}

/// Records how many items of the batch an object holds.
pub fn items(object: u64, items: u64) {
    note(|block, process, thread, now| chrome::items(block, process, thread, now, object, items));
}

/// Appends the text of a call site.
pub fn site(site: Site, place: &str) {
    note(|block, process, thread, now| chrome::site(block, process, thread, now, site, place));
}

/// Appends what is recorded from now on: accesses that need nothing, results of comparisons.
pub fn mode(accesses: bool, compares: bool) {
    note(|block, process, thread, now| chrome::mode(block, process, thread, now, accesses, compares));
}

fn note(write: impl Fn(&mut Block, u32, u32, u64) -> std::fmt::Result) {
    let Some(entry) = sink::enter() else { return };
    if entry.is_csv() {
        return;
    }
    let (process, thread, now) = (entry.process(), thread::id(), nanoseconds());
    introduce_thread(&entry, thread);
    let mut block = Block::new();
    let mut records = Records { entry: &entry, block: &mut block };
    records.add(|block| write(block, process, thread, now));
    records.write();
}

/// The records of one event. Almost always they fit into one block.
struct Records<'e> {
    entry: &'e Entry,
    /// Owned by the caller: moving it would need its room on the stack twice.
    block: &'e mut Block,
}

impl Records<'_> {
    fn add(&mut self, record: impl Fn(&mut Block) -> std::fmt::Result) {
        if !self.block.add(&record) {
            self.write();
            // One record always fits into an empty block: a test checks the largest of each.
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

/// The counters' last values.
struct Shown([AtomicU64; 3]);

static LAST: Shown = Shown([const { AtomicU64::new(u64::MAX) }; 3]);

impl Shown {
    /// Stores the new values; returns whether they differ. Concurrent threads may both return true, or store older
    /// values: the next record corrects that.
    fn change(&self, live: &Live) -> bool {
        let Shown(last) = self;
        last.iter().zip(live.bytes).fold(false, |changed, (last, bytes)| last.swap(bytes, Relaxed) != bytes || changed)
    }

    fn forget(&self) {
        let Shown(last) = self;
        last.iter().for_each(|last| last.store(u64::MAX, Relaxed));
    }
}

/// Records the name of this thread, once for each trace.
fn introduce_thread(entry: &Entry, thread: u32) {
    thread_local! {
        static INTRODUCED: Cell<u32> = const { Cell::new(0) };
    }
    if INTRODUCED.get() == entry.number() || thread != thread::id() {
        return;
    }
    INTRODUCED.set(entry.number());
    let mut name = [0u8; 17];
    // SAFETY: prctl writes at most 16 of the 17 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let mut block = Block::new();
    let mut records = Records { entry, block: &mut block };
    records.add(|block| chrome::thread(block, entry.process(), thread, printable(&name).as_ref()));
    records.write();
}

/// Records this process, and the traced process that forked it (0: none).
fn introduce_process(entry: &Entry, parent: u32) {
    LAST.forget();
    let mut block = Block::new();
    let mut records = Records { entry, block: &mut block };
    records.add(|block| chrome::process(block, entry.process(), process_name().as_ref(), parent));
    records.write();
}

/// Records that all of this process's records are in the file.
fn conclude(entry: &Entry) {
    let mut block = Block::new();
    if block.add(|block| chrome::end(block, entry.process())) {
        entry.write(block.whole());
    }
}

/// Runs when the library is finalised: after `main` and the destructors of the program's own static objects. Events of
/// other libraries after that are still recorded.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = sink::conclude;

/// The name of the process's first thread: the program's, unless the program changed it.
fn process_name() -> Text<64> {
    let mut name = [0u8; 64];
    // SAFETY: the path is NUL-terminated.
    let file = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/comm".as_ptr(), libc::O_CLOEXEC) };
    if file >= 0 {
        // SAFETY: read writes at most one byte less than `name` has.
        unsafe { libc::syscall(libc::SYS_read, file, name.as_mut_ptr(), name.len() - 1) };
        // SAFETY: this function opened it.
        unsafe { libc::syscall(libc::SYS_close, file) };
    }
    printable(&name)
}

/// The bytes before the first NUL or line end, as text.
fn printable(bytes: &[u8]) -> Text<64> {
    let line = bytes.split(|&byte| byte == 0 || byte == b'\n').next().unwrap_or_default();
    Text::of(format_args!("{}", Escaped(line)))
}
