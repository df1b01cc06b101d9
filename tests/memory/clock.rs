//! Takes the place of `clock_gettime` and `nanosleep` in this program, so that a test can stop the clock by which idle blocks grow
//! old, and let time pass on it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

use crate::support::pools::until;

type GetTime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// The C library's `clock_gettime`, once it was looked for.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// The time at which the coarse clock is stopped, in milliseconds; 0: it runs.
static STOPPED_AT: AtomicU64 = AtomicU64::new(0);
/// How often the thread that gives idle blocks back went to sleep.
static SLEEPS: AtomicU64 = AtomicU64::new(0);
/// It sleeps at least so long, and no other thread of a test does.
const LEAST_SLEEP: i64 = 10_000_000;

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    let stopped_at = STOPPED_AT.load(SeqCst);
    if clock == libc::CLOCK_MONOTONIC_COARSE && stopped_at != 0 {
        let (seconds, rest) = ((stopped_at / 1000) as i64, (stopped_at % 1000) as i64);
        unsafe { time.write(libc::timespec { tv_sec: seconds, tv_nsec: rest * 1_000_000 }) };
        return 0;
    }
    if REAL.load(SeqCst).is_null() {
        REAL.store(unsafe { libc::dlsym(libc::RTLD_NEXT, c"clock_gettime".as_ptr()) }, SeqCst);
    }
    let real = unsafe { std::mem::transmute::<*mut c_void, GetTime>(REAL.load(SeqCst)) };
    unsafe { real(clock, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const libc::timespec, rest: *mut libc::timespec) -> c_int {
    let mut length = unsafe { *time };
    if length.tv_sec > 0 || length.tv_nsec >= LEAST_SLEEP {
        SLEEPS.fetch_add(1, SeqCst);
        if STOPPED_AT.load(SeqCst) != 0 {
            length = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        }
    }
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const length, rest) as c_int }
}

/// Stops the clock. The thread that gives idle blocks back looks at it every millisecond from now on.
pub fn stop() {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(unsafe { clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now) }, 0);
    STOPPED_AT.store(now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000, SeqCst);
}

/// Lets time pass on the stopped clock.
pub fn pass(milliseconds: u64) {
    assert_ne!(STOPPED_AT.fetch_add(milliseconds, SeqCst), 0, "the clock is not stopped");
}

/// Returns when the thread that gives idle blocks back has looked at all of them at the present time. There must be some.
pub fn have_idle_blocks_looked_at() {
    let before = SLEEPS.load(SeqCst);
    // It may be looking already, at an earlier time.
    until(|| SLEEPS.load(SeqCst) >= before + 2);
}
