//! The local time for a log line. It works in a forked child too, where the C library's time zone lock may be held for ever.
#![expect(unsafe_code, reason = "localtime_r")]

use std::sync::atomic::{AtomicI64, Ordering};

use syncedmem_core::date::Date;

use super::clock::nanoseconds_since_1970;
use super::fork;

pub fn now() -> Date {
    let microseconds = (nanoseconds_since_1970() / 1000) as i64;
    let seconds = microseconds / 1_000_000;
    Date::at(seconds + offset(seconds), microseconds % 1_000_000)
}

/// Seconds east of Greenwich; in a forked child the parent's last value, or UTC.
fn offset(now: i64) -> i64 {
    static OFFSET: AtomicI64 = AtomicI64::new(0);
    if !fork::in_child() {
        // SAFETY: zeros are a valid `tm`.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are live. After a failure the offset is 0.
        unsafe { libc::localtime_r(&now, &mut local) };
        OFFSET.store(local.tm_gmtoff, Ordering::Relaxed);
    }
    OFFSET.load(Ordering::Relaxed)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn now_is_what_the_c_library_says() {
        let mut seconds = 0;
        // SAFETY: `seconds` is writable.
        unsafe { libc::time(&mut seconds) };
        // SAFETY: zeros are a valid `tm`.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are live.
        unsafe { libc::localtime_r(&seconds, &mut local) };
        let ours = Date::at(seconds + offset(seconds), 0);
        assert_eq!((ours.month, ours.day), (i64::from(local.tm_mon) + 1, i64::from(local.tm_mday)));
        assert_eq!(ours.second_of_day / 3600, i64::from(local.tm_hour));
    }
}
