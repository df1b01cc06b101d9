//! Formats amounts for people: bytes, times and counts.

use std::fmt;

/// A number of bytes: `1.2 GiB`.
#[derive(Clone, Copy)]
pub struct Bytes(pub u64);

/// A time in nanoseconds: `3.4 ms`.
#[derive(Clone, Copy)]
pub struct Time(pub u64);

/// A count, in groups of three digits: `101,486`.
#[derive(Clone, Copy)]
pub struct Count(pub u64);

/// A count with its noun: `1 copy`, `2 copies`.
#[derive(Clone, Copy)]
pub struct Counted(pub u64, pub &'static str, pub &'static str);

/// Bytes per time: `11.3 GiB/s`; a dash if no time was measured.
#[derive(Clone, Copy)]
pub struct Rate {
    pub bytes: u64,
    pub nanoseconds: u64,
}

/// A part of a whole: `48.1 %`.
#[derive(Clone, Copy)]
pub struct Share {
    pub part: u64,
    pub of: u64,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}\u{a0}%", self.part as f64 / self.of.max(1) as f64 * 100.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0 as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0 as f64, 1000.0, &["ns", "µs", "ms", "s"])
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.char_indices() {
            if place > 0 && (digits.len() - place) % 3 == 0 {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Count(self.0), if self.0 == 1 { self.1 } else { self.2 })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanoseconds == 0 {
            return f.write_str("–");
        }
        let each_second = self.bytes as f64 / (self.nanoseconds as f64 / 1e9);
        scaled(f, each_second, 1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"])
    }
}

/// At least three digits, in the largest unit in which the amount is 1 or more.
fn scaled(f: &mut fmt::Formatter<'_>, amount: f64, step: f64, units: &[&str]) -> fmt::Result {
    let (mut amount, mut unit) = (amount, 0);
    // An amount that would round up to 1 of the next unit is shown in that unit.
    while unit + 1 < units.len() && amount >= step - 0.5 {
        amount /= step;
        unit += 1;
    }
    let digits = match amount {
        _ if unit == 0 && amount.fract() == 0.0 => 0,
        a if a < 9.995 => 2,
        a if a < 99.95 => 1,
        _ => 0,
    };
    write!(f, "{amount:.digits$}\u{a0}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(amount: impl fmt::Display) -> String {
        amount.to_string().replace('\u{a0}', " ")
    }

    #[test]
    fn bytes_are_told_in_the_unit_that_people_read() {
        let told = [0, 1023, 1024, 1536, 158_297_088, 1 << 30, u64::MAX].map(|n| plain(Bytes(n)));
        assert_eq!(told, ["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "151 MiB", "1.00 GiB", "16.0 EiB"]);
    }

    #[test]
    fn times_are_told_in_the_unit_that_people_read() {
        let told = [0, 999, 1000, 12_345, 123_456_789, 7_200_000_000_000].map(|n| plain(Time(n)));
        assert_eq!(told, ["0 ns", "999 ns", "1.00 µs", "12.3 µs", "123 ms", "7200 s"]);
    }

    #[test]
    fn counts_are_told_in_groups_of_three_digits() {
        let told = [0, 999, 1000, 101_486, 12_345_678].map(|n| plain(Count(n)));
        assert_eq!(told, ["0", "999", "1,000", "101,486", "12,345,678"]);
    }

    #[test]
    fn one_is_not_many() {
        let told = [0, 1, 1000].map(|n| plain(Counted(n, "copy", "copies")));
        assert_eq!(told, ["0 copies", "1 copy", "1,000 copies"]);
    }

    #[test]
    fn a_rate_without_a_time_is_not_made_up() {
        assert_eq!(plain(Rate { bytes: 1 << 30, nanoseconds: 500_000_000 }), "2.00 GiB/s");
        assert_eq!(plain(Rate { bytes: 1 << 30, nanoseconds: 0 }), "–");
    }
}
