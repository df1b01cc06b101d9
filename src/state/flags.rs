//! The observation flags: nothing is observed by default, and each place that records an event then costs one branch.
//!
//! The flags lie beside the gate of the fast path, which they close. `observe::control` reads the settings and sets them.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// A set of flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Flags(u8);

/// The account is kept.
pub const ACCOUNT: Flags = Flags(1);
/// Accesses that need nothing are recorded, too.
pub const ACCESSES: Flags = Flags(2);
/// Host contents are compared.
pub const COMPARE: Flags = Flags(4);
/// The trace is written.
pub const TRACE: Flags = Flags(8);
/// A profiler gets ranges.
pub const RANGES: Flags = Flags(16);
/// Calls of the C++ entry points are counted.
pub const CALLS: Flags = Flags(32);

/// The settings were not read yet.
const UNREAD: Flags = Flags(128);

impl Flags {
    /// No flags.
    pub const NONE: Flags = Flags(0);

    /// Whether `flag` is set.
    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    /// With `flag` added, if `wanted`.
    pub fn and(self, flag: Flags, wanted: bool) -> Flags {
        if wanted { Flags(self.0 | flag.0) } else { self }
    }
}

// In a model nothing is observed: settings are read once, so its runs would differ.
static FLAGS: AtomicU8 = AtomicU8::new(if cfg!(loom) { 0 } else { UNREAD.0 });

/// Whether nothing is observed.
#[inline(always)]
pub fn off() -> bool {
    FLAGS.load(Relaxed) == 0
}

/// Whether `flag` is set.
#[inline]
pub fn has(flag: Flags) -> bool {
    all().has(flag)
}

/// All flags.
#[inline]
pub fn all() -> Flags {
    Flags(FLAGS.load(Relaxed))
}

/// Whether events are recorded.
#[inline]
pub fn on() -> bool {
    has(Flags(ACCOUNT.0 | TRACE.0))
}

/// Whether the settings were not read yet.
#[inline]
pub fn are_unread() -> bool {
    has(UNREAD)
}

/// Whether every call must be seen, even if it needs no work.
#[inline]
pub fn sees_every_call() -> bool {
    has(Flags(ACCESSES.0 | CALLS.0 | UNREAD.0))
}

/// Sets all flags from the settings.
pub fn begin(flags: Flags) {
    FLAGS.store(flags.0, Relaxed);
}

/// Sets `flag`, or clears it.
pub fn set(flag: Flags, wanted: bool) {
    if wanted {
        FLAGS.fetch_or(flag.0, Relaxed);
    } else {
        FLAGS.fetch_and(!flag.0, Relaxed);
    }
}
