//! The time of day for a log line, also where the C library's own lock on time zones may be held for ever.
#![expect(unsafe_code, reason = "clock_gettime and localtime_r")]

use std::sync::atomic::{AtomicI64, Ordering};

use super::fork;

/// What a log line shows of a time.
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
    /// The time now, where the process is.
    pub fn now() -> LocalTime {
        let mut clock = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `clock` is writable.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut clock) };
        LocalTime::at(clock.tv_sec + offset(clock.tv_sec), clock.tv_nsec / 1000)
    }

    /// The date from the days since 1970-01-01, in the proleptic Gregorian calendar: years counted from March,
    /// so that the leap day is the last (Howard Hinnant, chrono-Compatible Low-Level Date Algorithms).
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

/// Seconds east of Greenwich. A forked child uses what its parent last knew, or UTC: the thread that held the C
/// library's lock at the fork does not exist there.
fn offset(now: i64) -> i64 {
    static OFFSET: AtomicI64 = AtomicI64::new(0);
    if !fork::in_child() {
        // SAFETY: all zeros is a value of `tm`, whose pointer may be null.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are live; if the time zone cannot be read, the offset stays 0.
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
        // SAFETY: all zeros is a value of `tm`.
        let mut local: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both are live.
        unsafe { libc::localtime_r(&seconds, &mut local) };
        let ours = LocalTime::at(seconds + offset(seconds), 0);
        assert_eq!((ours.month, ours.day), (i64::from(local.tm_mon) + 1, i64::from(local.tm_mday)));
        assert_eq!(ours.second_of_day / 3600, i64::from(local.tm_hour));
    }
}
