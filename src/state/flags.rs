//! One word of flags for all that is off by default. While it is 0, constructors, first touches and destructors of small objects
//! make no further check.
//!
//! `observe::control` sets the low byte. While that is 0, each place that records an event costs one branch. Of the other
//! flags, only [`UNSETTLED`] is ever cleared.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Flags(u32);

pub const ACCOUNT: Flags = Flags(1);
pub const TRACE: Flags = Flags(2);
/// A profiler reads the ranges of calls.
pub const RANGES: Flags = Flags(4);

const UNREAD: Flags = Flags(128);
const OBSERVED: Flags = Flags(255);

/// The settings are not read yet, or the library's initializer has not run.
pub const UNSETTLED: Flags = Flags(256);
/// There is a limit on host memory, a check of the current device, or junk in new blocks.
pub const CHECKED: Flags = Flags(512);
/// A setting, a callback or a GPU build of Caffe may ask for page-locked host blocks.
pub const MAY_PIN: Flags = Flags(1024);
/// An object has given up its contents or shares its memory, or one did before.
pub const SHARING: Flags = Flags(2048);

impl Flags {
    pub const NONE: Flags = Flags(0);

    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    pub fn and(self, flag: Flags, wanted: bool) -> Flags {
        if wanted { Flags(self.0 | flag.0) } else { self }
    }
}

// Under loom all flags stay 0: the settings are read once in a process, so the runs of a model would differ.
static FLAGS: AtomicU32 = AtomicU32::new(if cfg!(loom) { 0 } else { UNREAD.0 | UNSETTLED.0 });

#[inline(always)]
pub fn none() -> bool {
    FLAGS.load(Relaxed) == 0
}

/// Whether anything observes calls, or may: the settings are not read yet.
#[inline(always)]
pub fn is_observed() -> bool {
    has(OBSERVED)
}

#[inline]
pub fn has(flag: Flags) -> bool {
    all().has(flag)
}

#[inline]
pub fn all() -> Flags {
    Flags(FLAGS.load(Relaxed))
}

/// Whether an event has a reader: the counters, or the trace.
#[inline]
pub fn are_events_read() -> bool {
    has(Flags(ACCOUNT.0 | TRACE.0))
}

#[inline]
pub fn are_unread() -> bool {
    has(UNREAD)
}

pub fn begin(flags: Flags) {
    let _ = FLAGS.fetch_update(Relaxed, Relaxed, |all| Some(all & !OBSERVED.0 | flags.0));
}

pub fn raise_if(wanted: bool, flag: Flags) {
    if wanted && !cfg!(loom) && !has(flag) {
        FLAGS.fetch_or(flag.0, Relaxed);
    }
}

pub fn set(flag: Flags, wanted: bool) {
    if wanted {
        FLAGS.fetch_or(flag.0, Relaxed);
    } else {
        FLAGS.fetch_and(!flag.0, Relaxed);
    }
}
