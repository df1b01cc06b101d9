#![expect(unsafe_code, reason = "clock_gettime")]

fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time
}

/// Reads the system clock's last tick, which costs a few nanoseconds.
pub fn coarse_milliseconds() -> u64 {
    let time = read(libc::CLOCK_MONOTONIC_COARSE);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

pub fn nanoseconds() -> u64 {
    in_nanoseconds(read(libc::CLOCK_MONOTONIC))
}

pub fn nanoseconds_since_1970() -> u64 {
    in_nanoseconds(read(libc::CLOCK_REALTIME))
}

pub fn processor_nanoseconds() -> u64 {
    in_nanoseconds(read(libc::CLOCK_PROCESS_CPUTIME_ID))
}

fn in_nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
