//! What is observed: nothing, unless the user asks for it. Then every place that could tell of something costs one branch.

use std::ffi::CStr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicUsize};

use super::trace::{self, Trouble};
use super::{contents, live, nvtx};
use crate::platform::sync::{nap, this_thread};
use crate::platform::text::{Escaped, Text, to_stderr};
use crate::settings;
use crate::state::fast_path;

/// What is observed, a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct What(u8);

/// The account is kept.
pub const ACCOUNT: What = What(1);
/// Accesses that need nothing are told, too.
pub const ACCESSES: What = What(2);
/// Host contents are compared.
pub const COMPARE: What = What(4);
/// The trace is written.
pub const TRACE: What = What(8);
/// Ranges are shown to a profiler.
pub const RANGES: What = What(16);
/// Calls of the C++ entry points are counted.
pub const CALLS: What = What(32);

impl What {
    /// Whether that is among it.
    pub fn has(self, what: What) -> bool {
        self.0 & what.0 != 0
    }
}

/// It is not known yet.
const UNREAD: u8 = 128;

/// The thread that finds out, or 0: `this_thread`.
static READER: AtomicUsize = AtomicUsize::new(0);

// In a model nothing is observed: what is found out once would differ from one of its runs to the next.
static STATE: AtomicU8 = AtomicU8::new(if cfg!(loom) { 0 } else { UNREAD });

/// Whether nothing is observed.
#[inline(always)]
pub fn off() -> bool {
    STATE.load(Relaxed) == 0
}

/// Whether that is observed.
#[inline]
pub fn has(what: What) -> bool {
    STATE.load(Relaxed) & what.0 != 0
}

/// All that is observed.
pub fn all() -> What {
    What(STATE.load(Relaxed))
}

/// Whether events are told.
#[inline]
pub fn on() -> bool {
    has(What(ACCOUNT.0 | TRACE.0))
}

/// Finds out what is to be observed, the first time. It may open the trace, so nothing may be held.
#[inline]
pub fn settle() {
    if STATE.load(Relaxed) & UNREAD != 0 {
        find_out();
    }
}

#[cold]
fn find_out() {
    while let Err(reader) = READER.compare_exchange(0, this_thread(), Acquire, Relaxed) {
        // A signal handler that has interrupted the reader observes nothing yet.
        if reader == this_thread() || STATE.load(Relaxed) & UNREAD == 0 {
            return;
        }
        nap();
    }
    if STATE.load(Relaxed) & UNREAD != 0 {
        read();
    }
    READER.store(0, Release);
}

fn read() {
    let mut state = 0;
    let mut add = |what: What, wanted: bool| state |= if wanted { what.0 } else { 0 };
    let level = settings::ACCOUNT.get();
    add(ACCOUNT, level > 0 || settings::environment(c"SYNCEDMEM_REPORT").is_some());
    add(ACCESSES, level > 1);
    add(COMPARE, settings::COMPARE.get() == 1);
    add(CALLS, settings::environment(c"SYNCEDMEM_CALLS").is_some());
    add(RANGES, nvtx::attach());
    live::watch_accesses(state & ACCESSES.0 != 0);
    // The trace is written to by what is told, so it is there before anything is.
    let is_traced = settings::environment(c"SYNCEDMEM_TRACE").is_some_and(|file| {
        live::open_trace(file, What(state)).inspect_err(|trouble| complain(file, *trouble)).is_ok()
    });
    STATE.store(if is_traced { state | TRACE.0 } else { state }, Relaxed);
}

/// In a forked child: a thread that was finding out is not here, and somebody else has to.
pub fn after_fork_in_child() {
    READER.store(0, Relaxed);
}

#[cold]
fn complain(file: &CStr, trouble: Trouble) {
    let file = Escaped(file.to_bytes());
    to_stderr(Text::<600>::of(format_args!("libsyncedmem: SYNCEDMEM_TRACE={file}: {trouble}\n")).as_bytes());
}

/// Observes it from now on, or no more.
pub fn set(what: What, wanted: bool) {
    settle();
    if wanted && !on() {
        // Nobody told of what ended meanwhile.
        live::forget_objects();
    }
    if wanted && what == COMPARE && !has(COMPARE) {
        contents::forget_all();
    }
    if wanted {
        STATE.fetch_or(what.0, Relaxed);
    } else {
        STATE.fetch_and(!what.0, Relaxed);
    }
    live::watch_accesses(has(ACCESSES));
    if has(TRACE) && (what == ACCESSES || what == COMPARE) {
        trace::mode(has(ACCESSES), has(COMPARE));
    }
    // Whatever is served at once is found out anew.
    fast_path::close();
}

/// Whether every call has to come to the library, also where nothing is to be done.
#[inline]
pub fn sees_every_call() -> bool {
    has(What(ACCESSES.0 | CALLS.0 | UNREAD))
}
