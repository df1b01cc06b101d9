//! A thread, the trimmer, frees pageable blocks that lie idle for too long. It exists only while some lie idle, and
//! never calls the driver.
//!
//! Before it ends, it clears [`RUNNING`], and then looks once more under the lock that guards idle blocks. A thread
//! that keeps a block reads `RUNNING` after it released that lock. Either it held the lock first, and the trimmer finds
//! the block; or the trimmer did, and the lock orders the trimmer's store before the thread's load. So both may be
//! Relaxed, without a fence.
#![expect(unsafe_code, reason = "a thread is started with a function, and sleeps in nanosleep")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::host::trim;
use crate::platform::thread;
use crate::settings;

/// From this many milliseconds on, blocks may lie idle for ever.
const LONGEST: u64 = 3_600_000;

static RUNNING: AtomicBool = AtomicBool::new(false);

/// Called after a block was kept.
#[inline]
pub fn ensure_trimmer() {
    if !RUNNING.load(Relaxed) {
        start();
    }
}

#[cold]
fn start() {
    // A model has no time. A thread that stays for ever would keep a process alive whose `main` ended its own thread alone.
    if cfg!(loom) || settings::POOL_AGE.get() > LONGEST || RUNNING.swap(true, Relaxed) {
        return;
    }
    // SAFETY: `run` uses no argument.
    if !unsafe { thread::start(run, std::ptr::null_mut()) } {
        // The next kept block tries again.
        RUNNING.store(false, Relaxed);
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
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

/// Not by `syscall`, as `nap`: tests replace nanosleep.
fn sleep(milliseconds: u64) {
    let time =
        libc::timespec { tv_sec: (milliseconds / 1000) as i64, tv_nsec: (milliseconds % 1000 * 1_000_000) as i64 };
    // SAFETY: `time` is live; a null remainder is permitted.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// In a forked child, where the thread does not exist.
pub fn forget() {
    RUNNING.store(false, Relaxed);
}
