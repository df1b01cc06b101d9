//! Amounts for the page, with blanks that do not break.

use std::fmt;

use syncedmem_trace::text::{Duration, Size};

/// `1.2 GiB`
#[derive(Clone, Copy)]
pub struct Bytes(pub u64);

/// Nanoseconds: `3.4 ms`.
#[derive(Clone, Copy)]
pub struct Time(pub u64);

/// `101,486`
#[derive(Clone, Copy)]
pub struct Count(pub u64);

/// `1 copy`, `2 copies`
#[derive(Clone, Copy)]
pub struct Counted(pub u64, pub &'static str, pub &'static str);

/// `11.3 GiB/s`; a dash if no time was measured.
#[derive(Clone, Copy)]
pub struct Rate {
    pub bytes: u64,
    pub nanoseconds: u64,
}

/// `48.1 %`
#[derive(Clone, Copy)]
pub struct Percent {
    pub part: u64,
    pub of: u64,
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}\u{a0}%", self.part as f64 / self.of.max(1) as f64 * 100.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unbroken(f, Size(self.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        unbroken(f, Duration(self.0))
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
        write!(f, "{}/s", Bytes(each_second as u64))
    }
}

fn unbroken(f: &mut fmt::Formatter<'_>, amount: impl fmt::Display) -> fmt::Result {
    f.write_str(&amount.to_string().replace(' ', "\u{a0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(amount: impl fmt::Display) -> String {
        amount.to_string().replace('\u{a0}', " ")
    }

    #[test]
    fn amounts_do_not_break_before_their_unit() {
        assert_eq!([Bytes(1023), Bytes(158_297_088)].map(|n| n.to_string()), ["1023\u{a0}B", "151.0\u{a0}MiB"]);
        assert_eq!(Time(12_345).to_string(), "12.3\u{a0}us");
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
        assert_eq!(plain(Rate { bytes: 1 << 30, nanoseconds: 500_000_000 }), "2.0 GiB/s");
        assert_eq!(plain(Rate { bytes: 1 << 30, nanoseconds: 0 }), "–");
    }
}
