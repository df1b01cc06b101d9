//! A moment as a date of the calendar.

#[derive(Debug, PartialEq, Eq)]
pub struct Date {
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// Seconds since midnight.
    pub second_of_day: i64,
    /// 0 to 999999.
    pub microsecond: i64,
}

impl Date {
    /// The date of `seconds` since 1970. Years begin in March, so that the leap day is the last one (Howard Hinnant, chrono-Compatible Low-Level Date
    /// Algorithms).
    pub fn at(seconds: i64, microsecond: i64) -> Date {
        const DAYS_IN_400_YEARS: i64 = 146_097;
        let day = seconds.div_euclid(86400) + 719_468;
        let (era, day_of_era) = (day.div_euclid(DAYS_IN_400_YEARS), day.rem_euclid(DAYS_IN_400_YEARS));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        Date {
            year: 400 * era + year_of_era + i64::from(month_from_march > 9),
            month: (month_from_march + 2) % 12 + 1,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            second_of_day: seconds.rem_euclid(86400),
            microsecond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| {
            let Date { year, month, day, .. } = Date::at(seconds, 0);
            (year, month, day)
        };
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(-1), (1969, 12, 31));
        assert_eq!(date(951_782_400), (2000, 2, 29));
        assert_eq!(date(951_868_800), (2000, 3, 1));
        assert_eq!(date(1_795_219_199), (2026, 11, 20));
        assert_eq!(Date::at(1_795_219_199, 7).second_of_day, 86399);
    }
}
