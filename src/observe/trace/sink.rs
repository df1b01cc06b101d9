//! Whether there is a trace, where it goes, and who is writing to it just now.
#![expect(unsafe_code, reason = "the path is kept in atomics, and opened as a C string")]

use std::ffi::CStr;
use std::fmt::Write;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};

use super::block::OPENING;
use super::file::{Earlier, File, Opened};
use super::{COLUMNS, introduce_process};
use crate::platform::file_error::Trouble;
use crate::platform::sync::nap;
use crate::platform::text::{Escaped, Text, to_stderr};
use crate::platform::thread::{block_signals, restore_signals};

/// No trace.
const OFF: u32 = 0;
/// There is one.
const ON: u32 = 1;
/// A thread starts or stops one, and has what is below to itself.
const CHANGING: u32 = 2;
/// A forked child takes its parent's over, likewise.
const TAKING_OVER: u32 = 3;
/// It ended where a record could not be written.
const ENDED: u32 = 4;

static STATE: AtomicU32 = AtomicU32::new(OFF);
/// Threads that are between `enter` and the end of their entry.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Counts the traces of this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// This process; 0 in a child that has not recorded anything yet.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The process that this one was forked from, if that traced.
static PARENT: AtomicU32 = AtomicU32::new(0);
/// The file, and what it is called.
static FILE: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static NAME: Name = Name([const { AtomicU8::new(0) }; LONGEST]);
static CSV: AtomicBool = AtomicBool::new(false);

/// Bytes of the longest path that the system takes, with its NUL.
const LONGEST: usize = libc::PATH_MAX as usize;

/// A file name with its `%p`, as it was given.
struct Name([AtomicU8; LONGEST]);

impl Name {
    /// Keeps a name; `false` if it is too long.
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

/// The path that is opened: not on the stack, which may be a small one. Changed and read only while the state is
/// `CHANGING` or `TAKING_OVER`.
static PATH: Name = Name([const { AtomicU8::new(0) }; LONGEST]);

impl Name {
    /// Becomes another name with `%p` replaced by the process's number and `%%` by a percent sign.
    fn set_path(&self, name: &Name, process: u32) -> Result<(), Trouble> {
        let mut rest = self.0.iter();
        let mut add = |byte| rest.next().map(|place| place.store(byte, Relaxed)).ok_or(Trouble::NameTooLong);
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
    /// It was set, and does not change while the string lives.
    unsafe fn as_c_str(&self) -> &CStr {
        // SAFETY: atomic bytes are bytes, the last of what was set is a NUL, and nothing changes, says the caller.
        unsafe { CStr::from_ptr(self.0.as_ptr().cast()) }
    }
}

/// Whether there is a trace: one relaxed load.
#[inline]
pub fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

/// Begins a trace to a file, as Chrome's JSON or, where the name ends in `.csv`, as RMM's rows; `%p` in the name becomes
/// the number of the process. One that there is ends first.
pub fn start(path: &CStr) -> Result<(), Trouble> {
    stop();
    if STATE.compare_exchange(OFF, CHANGING, SeqCst, Relaxed).is_err() {
        return Err(Trouble::Busy);
    }
    PARENT.store(0, Relaxed);
    let begun = if NAME.set(path) { begin() } else { Err(Trouble::NameTooLong) };
    STATE.store(if begun.is_ok() { ON } else { OFF }, SeqCst);
    begun
}

/// Ends the trace, if there is one, once all that is being recorded is in the file.
pub fn stop() {
    let change = |from| STATE.compare_exchange(from, CHANGING, SeqCst, Relaxed).is_ok();
    let is_whole = change(ON);
    if is_whole || change(ENDED) {
        wait_until_nobody_is_inside();
        if is_whole {
            conclude_file();
        }
        file().close();
        STATE.store(OFF, SeqCst);
    }
}

/// When the process exits, with a trace that goes on: its file is whole from now on.
pub extern "C" fn conclude() {
    // A panic would be a bug of ours; the process goes on to its end.
    let _ = std::panic::catch_unwind(|| {
        if is_on() {
            conclude_file();
        }
    });
}

/// Adds the last record, unless this is a child that has recorded nothing.
fn conclude_file() {
    // Asked before there is an entry, as in `enter_trace`.
    if PROCESS.load(Relaxed) != 0 && !CSV.load(Relaxed) {
        super::conclude(&Entry::new());
    }
}

/// Holds the file of a trace for as long as this process lives, as if it traced to it: processes that trace to it meanwhile
/// add to it, even one after the other. Where the name has `%p` there is nothing to hold: each process has its own.
///
/// What the file held before stays until [`Held::begin`].
pub fn hold(path: &CStr) -> Result<Option<Held>, Trouble> {
    let name = Name([const { AtomicU8::new(0) }; LONGEST]);
    if !name.set(path) {
        return Err(Trouble::NameTooLong);
    }
    if name.has_process() {
        return Ok(None);
    }
    if STATE.compare_exchange(OFF, CHANGING, SeqCst, Relaxed).is_err() {
        return Err(Trouble::Busy);
    }
    let opened = open(&name, 0);
    STATE.store(OFF, SeqCst);
    match opened? {
        Opened::Ready(_) => Ok(None),
        Opened::Earlier(earlier) => Ok(Some(Held { earlier, csv: name.is_csv() })),
    }
}

/// The file of an earlier trace, which waits to be begun anew: a process that is to trace to it waits for that.
#[derive(Debug)]
pub struct Held {
    earlier: Earlier,
    csv: bool,
}

impl Held {
    /// Begins the file anew, and says how many bytes are in it now.
    pub fn begin(self) -> Result<u64, Trouble> {
        let opening = opening(self.csv);
        self.earlier.replace(opening)?;
        Ok(opening.len() as u64)
    }
}

/// Tells the trace that this is a forked child. To be called from its handler, where no other thread is.
pub fn after_fork_in_child() {
    // Who was inside is not here any more.
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

/// Opens the file and writes which process it belongs to. The state keeps other threads out.
fn begin() -> Result<(), Trouble> {
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

/// Opens the file of that name. The state keeps other threads out.
fn open(name: &Name, process: u32) -> Result<Opened, Trouble> {
    PATH.set_path(name, process)?;
    // SAFETY: it was just set, and the state keeps others out.
    File::open(unsafe { PATH.as_c_str() }, opening(name.is_csv()))
}

/// What a trace begins with.
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

/// In a forked child, before its first record: says which process this is, in its own file where the name has `%p`. No
/// signal comes meanwhile: its handler might wait for this.
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
    wait_until_nobody_is_inside();
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

fn wait_until_nobody_is_inside() {
    while INSIDE.load(SeqCst) != 0 {
        nap();
    }
}

/// Ends the trace, and says so: by the first that finds out.
fn end(state: u32, trouble: Trouble) {
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

/// Somebody who records: until this is dropped the file stays open, and the process the same.
pub struct Entry(());

/// Lets somebody record, if there is a trace.
#[inline]
pub fn enter() -> Option<Entry> {
    if is_on() { enter_trace() } else { None }
}

fn enter_trace() -> Option<Entry> {
    loop {
        // Asked before there is an entry: a signal handler that takes over waits until no thread is inside.
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
        // Who is counted before the state is read is waited for by whoever changes it afterwards: SeqCst on both sides.
        INSIDE.fetch_add(1, SeqCst);
        Entry(())
    }

    /// The process that records.
    pub fn process(&self) -> u32 {
        PROCESS.load(Relaxed)
    }

    /// The number of the trace.
    pub fn number(&self) -> u32 {
        NUMBER.load(Relaxed)
    }

    /// Whether rows are written instead of records.
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
        // Release: whoever waits for nobody to be inside comes after what was done there.
        INSIDE.fetch_sub(1, Release);
    }
}
