//! Notes passes through nets, and updates of weights, in the trace.
#![expect(unsafe_code, reason = "clock_gettime")]

use std::cell::Cell;
use std::mem::MaybeUninit;

use crate::library;

/// The numbers are those of libsyncedmem's `PassKind`.
#[derive(Clone, Copy)]
pub enum Kind {
    Forward,
    Backward,
    Update,
    /// A forward pass through a net in phase TEST.
    Test,
}

/// A pass from its beginning to the drop of this value, on an exception too.
pub struct Pass {
    kind: Kind,
    /// The solver's iteration plus 1; 0 without one.
    iteration: u64,
    start: u64,
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Pass {
    /// `None` inside another pass of this thread.
    pub fn begin(kind: Kind, iteration: Option<u64>) -> Option<Pass> {
        let is_outermost = !IS_INSIDE.replace(true);
        is_outermost.then(|| Pass { kind, iteration: iteration.map_or(0, |iteration| iteration + 1), start: now() })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
        library::pass(self.kind as u32, self.iteration, self.start);
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
fn now() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr()) };
    // SAFETY: zeros are a valid timespec.
    let time = unsafe { time.assume_init() };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
