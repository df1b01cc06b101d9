//! Notes passes through nets, and updates of weights, in the recording.

use std::cell::Cell;
use std::mem::MaybeUninit;

use crate::library::Function;

/// The library's numbers.
#[derive(Clone, Copy)]
pub enum Kind {
    Forward,
    Backward,
    Update,
    /// Forward, through a net in phase TEST.
    Test,
}

/// Noted when it is dropped, also by an exception of Caffe's.
pub struct Pass {
    kind: Kind,
    /// Plus 1; 0: not known.
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
        // `syncedmem::pass(unsigned kind, unsigned long iteration, unsigned long start)`: a pass ends now.
        static NOTE: Function<unsafe extern "C" fn(u32, u64, u64)> = Function::new(c"_ZN9syncedmem4passEjmm");
        IS_INSIDE.set(false);
        if let Some(note) = NOTE.find() {
            // SAFETY: it takes any numbers.
            unsafe { note(self.kind as u32, self.iteration, self.start) };
        }
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
fn now() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr()) };
    // SAFETY: zeros are a value of it.
    let time = unsafe { time.assume_init() };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
