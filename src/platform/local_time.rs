//! The local time for a log line, also in a forked child, where the C library's time zone lock may be held for ever.
#![expect(unsafe_code, reason = "localtime_r")]

use std::sync::atomic::{AtomicI64, Ordering};

use super::clock::nanoseconds_since_1970;
use super::fork;

#[derive(Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// Seconds since midnight.
    pub second_of_day: i64,
    /// 0 to 999999.
    pub microsecond: i64,
}

impl LocalTime {
    pub fn now() -> LocalTime {
        let microseconds = (nanoseconds_since_1970() / 1000) as i64;
        let seconds = microseconds / 1_000_000;
        LocalTime::at(seconds + offset(seconds), microseconds % 1_000_000)
    }

    /// Years begin in March, so that the leap day is the last one (Howard Hinnant, chrono-Compatible Low-Level Date
    /// Algorithms).
    fn at(seconds: i64, microsecond: i64) -> LocalTime {
        const DAYS_IN_400_YEARS: i64 = 146_097;
        let day_of_era = (seconds.div_euclid(86400) + 719_468).rem_euclid(DAYS_IN_400_YEARS);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        LocalTime {
            month: (month_from_march + 2) % 12 + 1,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            second_of_day: seconds.rem_euclid(86400),
            microsecond,
        }
    }
}

/// Seconds east of Greenwich; in a forked child its parent's last value, or UTC.
fn offset(now: i64) -> i64 {
    static OFFSET: AtomicI64 = AtomicI64::new(0);
    if !fork::in_child() {
        // SAFETY: zeros are a valid `tm`.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are live. On a failure the offset stays 0.
        unsafe { libc::localtime_r(&now, &mut local) };
        OFFSET.store(local.tm_gmtoff, Ordering::Relaxed);
    }
    OFFSET.load(Ordering::Relaxed)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| (LocalTime::at(seconds, 0).month, LocalTime::at(seconds, 0).day);
        assert_eq!(date(0), (1, 1));
        assert_eq!(date(-1), (12, 31));
        assert_eq!(date(951_782_400), (2, 29), "2000-02-29");
        assert_eq!(date(951_868_800), (3, 1), "2000-03-01");
        assert_eq!(date(1_795_219_199), (11, 20), "2026-11-20T23:59:59Z");
        assert_eq!(LocalTime::at(1_795_219_199, 7).second_of_day, 86399);
    }

    #[test]
    fn now_is_what_the_c_library_says() {
        let mut seconds = 0;
        // SAFETY: `seconds` is writable.
        unsafe { libc::time(&mut seconds) };
        // SAFETY: zeros are a valid `tm`.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are live.
        unsafe { libc::localtime_r(&seconds, &mut local) };
        let ours = LocalTime::at(seconds + offset(seconds), 0);
        assert_eq!((ours.month, ours.day), (i64::from(local.tm_mon) + 1, i64::from(local.tm_mday)));
        assert_eq!(ours.second_of_day / 3600, i64::from(local.tm_hour));
    }
}
