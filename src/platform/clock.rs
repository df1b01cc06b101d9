//! The monotonic clock.
#![expect(unsafe_code, reason = "clock_gettime")]

fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time
}

/// Milliseconds of CLOCK_MONOTONIC at the last tick of the system's clock. Costs a few nanoseconds.
pub fn coarse_milliseconds() -> u64 {
    let time = read(libc::CLOCK_MONOTONIC_COARSE);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn nanoseconds() -> u64 {
    let time = read(libc::CLOCK_MONOTONIC);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
