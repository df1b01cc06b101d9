//! A thread, the trimmer, frees pageable blocks that lie idle for too long. It exists only while some blocks lie idle, and never calls
//! the driver.
//!
//! Before the trimmer ends, it clears [`RUNNING`], and then looks once more under the lock that guards idle blocks. A thread that keeps
//! a block reads `RUNNING` after it has released that lock. If the thread held the lock first, the trimmer finds the block; if the
//! trimmer did, the lock orders its store before the thread's load. So both may be Relaxed, without a fence.
#![expect(unsafe_code, reason = "a thread is started with a function, and sleeps in nanosleep")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::platform::thread;
use crate::settings;

/// Frees blocks idle for longer than this many milliseconds; returns whether others are idle, as the lock shows.
pub type Trim = fn(u64) -> bool;

/// From this many milliseconds on, blocks may lie idle for ever.
const LONGEST: u64 = 3_600_000;

static RUNNING: AtomicBool = AtomicBool::new(false);

/// Starts the trimmer unless it runs. Must be called after a block was kept, always with the same `trim`.
#[inline]
pub fn ensure_trimmer(trim: Trim) {
    if !RUNNING.load(Relaxed) {
        start(trim);
    }
}

#[cold]
fn start(trim: Trim) {
    // Loom has no time. Blocks that never expire need no trimmer: it would keep a process alive whose main thread called pthread_exit.
    if cfg!(loom) || settings::POOL_AGE.get() > LONGEST || RUNNING.swap(true, Relaxed) {
        return;
    }
    // SAFETY: `run` expects a `Trim`, which stays valid.
    if !unsafe { thread::start(run, trim as *mut c_void) } {
        // The next kept block tries again.
        RUNNING.store(false, Relaxed);
    }
}

extern "C" fn run(trim: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made the pointer from a `Trim`.
    let trim = unsafe { std::mem::transmute::<*mut c_void, Trim>(trim) };
    loop {
        let most = settings::POOL_AGE.get();
        if most > LONGEST {
            RUNNING.store(false, Relaxed);
            return std::ptr::null_mut();
        }
        // Blocks become at most a quarter older than they may.
        sleep((most / 4).clamp(10, 1000));
        if trim(most) {
            continue;
        }
        RUNNING.store(false, Relaxed);
        if !trim(most) || RUNNING.swap(true, Relaxed) {
            return std::ptr::null_mut();
        }
    }
}

/// Calls nanosleep, which tests replace.
fn sleep(milliseconds: u64) {
    let time =
        libc::timespec { tv_sec: (milliseconds / 1000) as i64, tv_nsec: (milliseconds % 1000 * 1_000_000) as i64 };
    // SAFETY: `time` is live; a null remainder is permitted.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// Forgets the trimmer in a forked child, which does not have the thread.
pub fn forget() {
    RUNNING.store(false, Relaxed);
}
