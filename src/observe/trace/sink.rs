//! The state of the trace: on or off, its file, and the threads that are writing to it.
#![expect(unsafe_code, reason = "the path is kept in atomics, and opened as a C string")]

use std::ffi::CStr;
use std::fmt::Write;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};

use syncedmem_trace::format::block::OPENING;
use syncedmem_trace::format::rmm::COLUMNS;
use syncedmem_trace::text::{Escaped, Text};

use super::file::{Earlier, File, Opened};
use super::introduce_process;
use crate::platform::file_error::FileError;
use crate::platform::sync::nap;
use crate::platform::text::to_stderr;
use crate::platform::thread::{block_signals, restore_signals};

/// No trace.
const OFF: u32 = 0;
/// A trace is running.
const ON: u32 = 1;
/// One thread starts or stops a trace, and owns the statics below.
const CHANGING: u32 = 2;
/// One thread of a forked child takes over its parent's trace, and owns the statics below.
const TAKING_OVER: u32 = 3;
/// The trace ended because a record could not be written.
const ENDED: u32 = 4;

static STATE: AtomicU32 = AtomicU32::new(OFF);
/// Threads that are between `enter` and the end of their entry.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Number of the current trace of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// This process's id; 0 in a child that has recorded nothing yet.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Id of the process that forked this one, if it traced; else 0.
static PARENT: AtomicU32 = AtomicU32::new(0);
/// The file and its name.
static FILE: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static NAME: Name = Name([const { AtomicU8::new(0) }; LONGEST]);
static CSV: AtomicBool = AtomicBool::new(false);

/// The longest path that the system takes, in bytes, with its NUL.
const LONGEST: usize = libc::PATH_MAX as usize;

/// A file name as given, with its `%p`.
struct Name([AtomicU8; LONGEST]);

impl Name {
    /// Stores a name; `false` if it is too long.
    fn set(&self, name: &CStr) -> bool {
        let bytes = name.to_bytes_with_nul();
        let fits = bytes.len() <= LONGEST;
        if fits {
            self.0.iter().zip(bytes).for_each(|(kept, &byte)| kept.store(byte, Relaxed));
        }
        fits
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0)
    }

    fn has_process(&self) -> bool {
        let mut bytes = self.bytes();
        while let Some(byte) = bytes.next() {
            if byte == b'%' && bytes.next() == Some(b'p') {
                return true;
            }
        }
        false
    }

    fn is_csv(&self) -> bool {
        let mut last = [0; 4];
        self.bytes().for_each(|byte| last = [last[1], last[2], last[3], byte]);
        last == *b".csv"
    }
}

/// The path to open. A static, because a small stack has no room for it. Used only while the state is `CHANGING` or
/// `TAKING_OVER`.
static PATH: Name = Name([const { AtomicU8::new(0) }; LONGEST]);

impl Name {
    /// Sets this to `name`, with `%p` replaced by the process's id and `%%` by a percent sign.
    fn set_path(&self, name: &Name, process: u32) -> Result<(), FileError> {
        let mut rest = self.0.iter();
        let mut add = |byte| rest.next().map(|place| place.store(byte, Relaxed)).ok_or(FileError::NameTooLong);
        let mut bytes = name.bytes().peekable();
        while let Some(byte) = bytes.next() {
            let special = if byte == b'%' { bytes.next_if(|next| matches!(next, b'p' | b'%')) } else { None };
            match special {
                Some(b'p') => {
                    Text::<12>::of(format_args!("{process}")).as_bytes().iter().try_for_each(|&byte| add(byte))?;
                }
                _ => add(byte)?,
            }
        }
        add(0)
    }

    /// As a C string.
    ///
    /// # Safety
    /// The name was set, and does not change while the string lives.
    unsafe fn as_c_str(&self) -> &CStr {
        // SAFETY: atomic bytes have the layout of bytes, and `set_path` ends them with NUL. The caller guarantees that
        // they do not change.
        unsafe { CStr::from_ptr(self.0.as_ptr().cast()) }
    }
}

/// Whether a trace is running: one relaxed load.
#[inline]
pub fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

/// Starts a trace: Chrome's JSON, or RMM's rows if the name ends in `.csv`. `%p` in the name becomes the process's id.
/// Ends a running trace first.
pub fn start(path: &CStr) -> Result<(), FileError> {
    stop();
    if STATE.compare_exchange(OFF, CHANGING, SeqCst, Relaxed).is_err() {
        return Err(FileError::Busy);
    }
    PARENT.store(0, Relaxed);
    let begun = if NAME.set(path) { begin() } else { Err(FileError::NameTooLong) };
    STATE.store(if begun.is_ok() { ON } else { OFF }, SeqCst);
    begun
}

/// Ends the trace, if there is one, after all current writers.
pub fn stop() {
    let change = |from| STATE.compare_exchange(from, CHANGING, SeqCst, Relaxed).is_ok();
    let is_whole = change(ON);
    if is_whole || change(ENDED) {
        wait_until_no_thread_is_inside();
        if is_whole {
            conclude_file();
        }
        file().close();
        STATE.store(OFF, SeqCst);
    }
}

/// Appends the last record of a running trace when the process exits.
pub extern "C" fn conclude() {
    // A panic would be a bug in this library. The process must still reach its end.
    let _ = std::panic::catch_unwind(|| {
        if is_on() {
            conclude_file();
        }
    });
}

/// Appends the last record, unless this is a child that has recorded nothing.
fn conclude_file() {
    // Checked before an entry exists, as in `enter_trace`.
    if PROCESS.load(Relaxed) != 0 && !CSV.load(Relaxed) {
        super::conclude(&Entry::new());
    }
}

/// Holds the file of a trace for the lifetime of this process, as if this process traced to it: others that trace to it
/// append, even one after the other. Does nothing if the name has `%p`: each process then has its own file.
///
/// Earlier contents stay until [`Held::begin`].
pub fn hold(path: &CStr) -> Result<Option<Held>, FileError> {
    let name = Name([const { AtomicU8::new(0) }; LONGEST]);
    if !name.set(path) {
        return Err(FileError::NameTooLong);
    }
    if name.has_process() {
        return Ok(None);
    }
    if STATE.compare_exchange(OFF, CHANGING, SeqCst, Relaxed).is_err() {
        return Err(FileError::Busy);
    }
    let opened = open(&name, 0);
    STATE.store(OFF, SeqCst);
    match opened? {
        Opened::Ready(_) => Ok(None),
        Opened::Earlier(earlier) => Ok(Some(Held { earlier, csv: name.is_csv() })),
    }
}

/// The file of an earlier trace. A process that starts to trace to it waits until it is started afresh.
#[derive(Debug)]
pub struct Held {
    earlier: Earlier,
    csv: bool,
}

impl Held {
    /// Starts the file afresh; returns its size in bytes.
    pub fn begin(self) -> Result<u64, FileError> {
        let opening = opening(self.csv);
        self.earlier.replace(opening)?;
        Ok(opening.len() as u64)
    }
}

/// Resets the trace's state in a forked child. Its fork handler calls this, while it has one thread.
pub fn after_fork_in_child() {
    // The threads that were inside do not exist here.
    INSIDE.store(0, Relaxed);
    let process = PROCESS.swap(0, Relaxed);
    if process != 0 {
        PARENT.store(process, Relaxed);
    }
    match STATE.load(Relaxed) {
        CHANGING => STATE.store(OFF, Relaxed),
        TAKING_OVER => STATE.store(ON, Relaxed),
        _ => {}
    }
}

/// Opens the file and records the process. The caller has set the state to `CHANGING` or `TAKING_OVER`.
fn begin() -> Result<(), FileError> {
    let process = std::process::id();
    let file = match open(&NAME, process)? {
        Opened::Ready(file) => file,
        Opened::Earlier(earlier) => earlier.replace(opening(NAME.is_csv()))?,
    };
    for (kept, part) in FILE.iter().zip(file.parts()) {
        kept.store(part, Relaxed);
    }
    CSV.store(NAME.is_csv(), Relaxed);
    introduce(process);
    Ok(())
}

/// Opens the file of that name. The caller has set the state to `CHANGING` or `TAKING_OVER`.
fn open(name: &Name, process: u32) -> Result<Opened, FileError> {
    PATH.set_path(name, process)?;
    // SAFETY: `set_path` succeeded, and the state keeps other threads out.
    File::open(unsafe { PATH.as_c_str() }, opening(name.is_csv()))
}

/// The first bytes of a trace.
fn opening(csv: bool) -> &'static [u8] {
    if csv { COLUMNS.as_bytes() } else { &OPENING }
}

fn introduce(process: u32) {
    PROCESS.store(process, Relaxed);
    NUMBER.fetch_add(1, Relaxed);
    if !CSV.load(Relaxed) {
        introduce_process(&Entry::new(), PARENT.load(Relaxed));
    }
}

/// In a forked child, before its first record: records the process, in its own file if the name has `%p`. Blocks
/// signals meanwhile: a handler might wait for this function.
#[cold]
fn take_over() {
    let before = block_signals();
    take_over_at_once();
    restore_signals(&before);
}

fn take_over_at_once() {
    if STATE.compare_exchange(ON, TAKING_OVER, SeqCst, Relaxed).is_err() {
        return;
    }
    wait_until_no_thread_is_inside();
    let taken = if PROCESS.load(Relaxed) != 0 {
        Ok(())
    } else if NAME.has_process() {
        file().close();
        begin()
    } else {
        introduce(std::process::id());
        Ok(())
    };
    match taken {
        Ok(()) => STATE.store(ON, SeqCst),
        Err(trouble) => end(TAKING_OVER, trouble),
    }
}

fn file() -> File {
    File::of_parts([0, 1, 2, 3].map(|part: usize| FILE[part].load(Relaxed)))
}

fn wait_until_no_thread_is_inside() {
    while INSIDE.load(SeqCst) != 0 {
        nap();
    }
}

/// Ends the trace. The first thread that changes the state reports the error.
fn end(state: u32, trouble: FileError) {
    if STATE.compare_exchange(state, ENDED, SeqCst, Relaxed).is_ok() {
        let mut text = Text::<600>::new();
        let _ = text.write_str("libsyncedmem: the trace ends here: ");
        for byte in NAME.bytes().take(400) {
            let _ = write!(text, "{}", Escaped(&[byte]));
        }
        let _ = writeln!(text, ": {trouble}");
        to_stderr(text.as_bytes());
    }
}

/// A writer. While it lives, the file stays open and the process the same.
pub struct Entry(());

/// Enters as a writer, if a trace is running.
#[inline]
pub fn enter() -> Option<Entry> {
    if is_on() { enter_trace() } else { None }
}

fn enter_trace() -> Option<Entry> {
    loop {
        // Checked before an entry exists: a signal handler that takes over waits until no thread is inside.
        if PROCESS.load(Relaxed) == 0 && is_on() {
            take_over();
        }
        let entry = Entry::new();
        match STATE.load(SeqCst) {
            ON if entry.process() != 0 => return Some(entry),
            ON => {}
            TAKING_OVER => {
                drop(entry);
                nap();
            }
            _ => return None,
        }
    }
}

impl Entry {
    fn new() -> Entry {
        // SeqCst on both sides: a thread that changes the state afterwards sees this count and waits.
        INSIDE.fetch_add(1, SeqCst);
        Entry(())
    }

    /// Id of the process that records.
    pub fn process(&self) -> u32 {
        PROCESS.load(Relaxed)
    }

    /// The number of the trace.
    pub fn number(&self) -> u32 {
        NUMBER.load(Relaxed)
    }

    /// Whether the trace has RMM's rows.
    pub fn is_csv(&self) -> bool {
        CSV.load(Relaxed)
    }

    /// Appends bytes.
    pub fn write(&self, bytes: &[u8]) {
        if let Err(trouble) = file().write(bytes) {
            end(ON, trouble);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Release: the thread that waits for the count to become 0 sees this writer's effects.
        INSIDE.fetch_sub(1, Release);
    }
}
