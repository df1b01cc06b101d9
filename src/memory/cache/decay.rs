//! Gives back pageable memory that has lain idle for too long, on a thread that is there only while some lies idle.
//!
//! The thread never calls the driver: device and page-locked memory is given back by threads of the program's alone.
#![expect(unsafe_code, reason = "a thread is started with a function, and sleeps in nanosleep")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::platform::thread;
use crate::settings;

/// Gives back what has been idle for longer than so many milliseconds, and says whether something is idle still.
pub type Trim = fn(u64) -> bool;

/// Blocks that may lie idle for longer than so many milliseconds, an hour, may lie for ever.
const LONGEST: u64 = 3_600_000;

/// Whether the thread runs.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Called after something was kept: `trim`, always the same function, is called from time to time, until nothing is idle any
/// more.
#[inline]
pub fn ensure_trimmer(trim: Trim) {
    // SeqCst, here and in `run`: the thread finds what was kept, or it is found to have ended.
    if !RUNNING.load(SeqCst) {
        start(trim);
    }
}

#[cold]
fn start(trim: Trim) {
    // A model has no time; and a thread that would stay for ever would keep the process from ending where `main` ends its
    // own thread alone.
    if cfg!(loom) || settings::POOL_AGE.get() > LONGEST || RUNNING.swap(true, SeqCst) {
        return;
    }
    // SAFETY: `run` takes such a function, which stays.
    if !unsafe { thread::start(run, trim as *mut c_void) } {
        // What is kept next tries again.
        RUNNING.store(false, SeqCst);
    }
}

extern "C" fn run(trim: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made the pointer of an `Trim`.
    let trim = unsafe { std::mem::transmute::<*mut c_void, Trim>(trim) };
    loop {
        let most = settings::POOL_AGE.get();
        if most > LONGEST {
            RUNNING.store(false, SeqCst);
            return std::ptr::null_mut();
        }
        // Blocks grow no older than a quarter more than they may.
        sleep((most / 4).clamp(10, 1000));
        if trim(most) {
            continue;
        }
        RUNNING.store(false, SeqCst);
        // Something may have been kept just before, by a thread that still saw this one run.
        if !trim(most) || RUNNING.swap(true, SeqCst) {
            return std::ptr::null_mut();
        }
    }
}

fn sleep(milliseconds: u64) {
    let time =
        libc::timespec { tv_sec: (milliseconds / 1000) as i64, tv_nsec: (milliseconds % 1000 * 1_000_000) as i64 };
    // SAFETY: `time` is live; the remainder is not asked for.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// In a forked child, where the thread does not exist.
pub fn forget() {
    RUNNING.store(false, SeqCst);
}
