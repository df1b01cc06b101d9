//! The state of the trace: on or off, and its file.
#![expect(unsafe_code, reason = "the recording is mapped while threads are inside")]

use std::ffi::CStr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

use syncedmem_trace::recording::header::{About, End};

use super::file::{File, Opened, identity};
use super::mapping::{self, Recording};
use super::notes;
use super::windows::{self, Inside};
use crate::platform::clock::{nanoseconds, nanoseconds_since_1970, processor_nanoseconds};
use crate::platform::file_error::FileError;
use crate::platform::file_name::Name;
use crate::platform::limits;
use crate::platform::program;
use crate::platform::sync::nap;
use crate::platform::text::warn;
use crate::platform::thread::{block_signals, restore_signals};

const OFF: u32 = 0;
const ON: u32 = 1;
/// One thread starts or stops a trace, and owns the statics below.
const CHANGING: u32 = 2;
/// One thread of a forked child begins its file, and owns the statics below.
const TAKING_OVER: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(OFF);
/// Number of the current recording. Forked children continue the count.
static NUMBER: AtomicU32 = AtomicU32::new(0);
/// Id of this process; 0 in a child that has not recorded anything yet.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Id of the parent, if it was traced; else 0.
static PARENT: AtomicU32 = AtomicU32::new(0);
/// Identity of the first process of the run, once known.
static RUN: AtomicU64 = AtomicU64::new(0);
/// The file's name as given, and as opened.
static NAME: Name = Name::empty();
static PATH: Name = Name::empty();

/// Number of files that other programs in the same process may have left: each execve leaves one.
const FILES: u32 = 8;

#[inline]
fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

/// Starts a trace, and first ends a running one. `%p` in the name stands for the id of the process.
pub fn start(path: &CStr) -> Result<(), FileError> {
    stop();
    if STATE.compare_exchange(OFF, CHANGING, SeqCst, Relaxed).is_err() {
        return Err(FileError::Busy);
    }
    PARENT.store(0, Relaxed);
    RUN.store(0, Relaxed);
    let begun = if path.to_bytes().ends_with(b".json") {
        Err(FileError::Exported)
    } else {
        NAME.set(path).and_then(|()| begin())
    };
    STATE.store(if begun.is_ok() { ON } else { OFF }, SeqCst);
    begun
}

/// Stops the trace after all current writers have ended.
pub fn stop() {
    conclude();
    if STATE.compare_exchange(ON, CHANGING, SeqCst, Relaxed).is_ok() {
        windows::wait_for_none();
        // SAFETY: a recording is mapped while the state is not `OFF`.
        let recording = unsafe { Recording::mapped() };
        // SAFETY: no thread is inside, and none enters.
        unsafe { recording.unmap() };
        mapping::close_file();
        STATE.store(OFF, SeqCst);
    }
}

/// Marks the recording as whole. A child without a record has no recording.
pub fn conclude() {
    let entry = if PROCESS.load(Relaxed) == 0 { None } else { enter() };
    if let Some(entry) = entry {
        super::note_caffes(&entry);
        let (time, processor_time) = (nanoseconds(), processor_nanoseconds());
        let (peak_resident, peak_address_space) = (limits::peak_resident(), limits::peak_address_space());
        entry.recording().end(End { time, processor_time, peak_resident, peak_address_space });
    }
}

/// The parent's recording stays mapped in the child, which has one thread: a signal handler may have forked in the middle of
/// a record.
pub fn after_fork_in_child() {
    windows::forget_threads();
    let process = PROCESS.swap(0, Relaxed);
    if process != 0 {
        PARENT.store(process, Relaxed);
        // The lock of the file is the parent's.
        mapping::close_file();
    }
    match STATE.load(Relaxed) {
        CHANGING => STATE.store(OFF, Relaxed),
        TAKING_OVER => STATE.store(ON, Relaxed),
        _ => {}
    }
}

/// Begins a recording. The caller has set `CHANGING` or `TAKING_OVER`.
fn begin() -> Result<(), FileError> {
    let process = std::process::id();
    let first = u32::from(PARENT.load(Relaxed) != 0 && !NAME.has_process());
    for times in first..first + FILES {
        PATH.set_path(&NAME, process, times)?;
        // SAFETY: `set_path` succeeded, and only the thread that has set the state uses the path.
        match File::open(unsafe { PATH.as_c_str() })? {
            Opened::Ready(file) => return record_to(file, process),
            Opened::Taken { run } => {
                let _ = RUN.compare_exchange(0, run.unwrap_or(0), Relaxed, Relaxed);
            }
        }
    }
    Err(FileError::Locked)
}

fn record_to(file: File, process: u32) -> Result<(), FileError> {
    // If there is no /proc, the identity is the id alone.
    let identity = identity(process).unwrap_or(process.into());
    let _ = RUN.compare_exchange(0, identity, Relaxed, Relaxed);
    let program = program::name();
    let about = About {
        process,
        parent: PARENT.load(Relaxed),
        identity,
        run: RUN.load(Relaxed),
        start: nanoseconds(),
        start_of_day: nanoseconds_since_1970(),
        program: program.as_ref(),
        library: env!("CARGO_PKG_VERSION"),
    };
    // SAFETY: only the thread that has set the state uses the recording.
    unsafe { Recording::begin(file, &about) }?;
    // SAFETY: the recording has begun, and only the thread that has set the state uses it.
    notes::process(unsafe { Recording::mapped() });
    NUMBER.fetch_add(1, Relaxed);
    PROCESS.store(process, Relaxed);
    Ok(())
}

/// Begins the file of a forked child. Signals are blocked: a handler might wait for this function.
#[cold]
fn take_over() {
    let before = block_signals();
    if STATE.compare_exchange(ON, TAKING_OVER, SeqCst, Relaxed).is_ok() {
        windows::wait_for_none();
        let taken = if PROCESS.load(Relaxed) == 0 { begin() } else { Ok(()) };
        STATE.store(if taken.is_ok() { ON } else { OFF }, SeqCst);
        if let Err(trouble) = taken {
            complain(trouble);
        }
    }
    restore_signals(&before);
}

#[cold]
pub fn complain(trouble: FileError) {
    warn(format_args!("the trace ends here: {PATH}: {trouble}"));
}

/// While it lives, the recording stays mapped.
pub struct Entry(Inside);

#[inline]
pub fn enter() -> Option<Entry> {
    if is_on() { enter_trace() } else { None }
}

#[inline]
fn enter_trace() -> Option<Entry> {
    loop {
        // Take over before this thread has an entry: `take_over` in a signal handler waits until there is none.
        if PROCESS.load(Relaxed) == 0 && is_on() {
            take_over();
        }
        let entry = Entry(Inside::begin());
        // SeqCst on both sides: see `Inside::begin`.
        match STATE.load(SeqCst) {
            ON if PROCESS.load(Relaxed) != 0 => return Some(entry),
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
    /// Never 0.
    pub fn number(&self) -> u32 {
        NUMBER.load(Relaxed)
    }

    #[inline]
    pub fn recording(&self) -> Recording {
        // SAFETY: `stop` unmaps the recording only after all entries have ended.
        unsafe { Recording::mapped() }
    }
}
