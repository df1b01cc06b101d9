//! Environment variables as numbers.

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::text::Escaped;

use super::environment;
use crate::platform::text::warn;

const UNREAD: u64 = u64::MAX;

struct Variable {
    name: &'static CStr,
    value: AtomicU64,
}

impl Variable {
    const fn new(name: &'static CStr) -> Self {
        Variable { name, value: AtomicU64::new(UNREAD) }
    }

    #[inline]
    fn known(&self) -> Option<u64> {
        Some(self.value.load(Relaxed)).filter(|&value| value != UNREAD)
    }

    fn set(&self, value: u64) {
        self.value.store(value, Relaxed);
    }

    /// A value that `parse` refuses counts as not set, and is reported; `why` ends the sentence.
    #[cold]
    fn read(&self, parse: impl Fn(&[u8]) -> Option<u64>, default: u64, why: fmt::Arguments) -> u64 {
        let given = environment(self.name);
        let parsed = given.map(|given| parse(given.to_bytes()));
        let value = parsed.flatten().unwrap_or(default);
        if let Err(first) = self.value.compare_exchange(UNREAD, value, Relaxed, Relaxed) {
            return first;
        }
        if let (Some(given), Some(None)) = (given, parsed) {
            warn(format_args!("{}={} {why}", self.name.to_str().unwrap_or_default(), Escaped(given.to_bytes())));
        }
        value
    }
}

/// A setting with named values, the first of which is the default.
pub struct Choice {
    variable: Variable,
    names: &'static [&'static str],
}

impl Choice {
    pub(super) const fn new(variable: &'static CStr, names: &'static [&'static str]) -> Self {
        Choice { variable: Variable::new(variable), names }
    }

    /// The value's index.
    pub fn get(&self) -> usize {
        self.variable.known().unwrap_or_else(|| self.read()) as usize
    }

    pub fn set(&self, index: usize) -> bool {
        let is_known = index < self.names.len();
        if is_known {
            self.variable.set(index as u64);
        }
        is_known
    }

    #[cold]
    fn read(&self) -> u64 {
        let parse = |given: &[u8]| Some(self.names.iter().position(|name| name.as_bytes() == given)? as u64);
        self.variable.read(parse, 0, format_args!("is not one of{}; using {}", Names(self.names), self.names[0]))
    }
}

struct Names(&'static [&'static str]);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

/// A number of bytes. Messages call the default `otherwise`.
pub struct Amount {
    variable: Variable,
    otherwise: &'static str,
}

impl Amount {
    const NONE: u64 = UNREAD - 1;

    pub(super) const fn new(variable: &'static CStr, otherwise: &'static str) -> Self {
        Amount { variable: Variable::new(variable), otherwise }
    }

    #[inline]
    pub fn get(&self) -> Option<u64> {
        Some(self.variable.known().unwrap_or_else(|| self.read())).filter(|&bytes| bytes != Self::NONE)
    }

    /// The environment holds again.
    pub fn reset(&self) {
        self.variable.set(UNREAD);
    }

    /// The two largest numbers have a meaning here; the next smaller one is as good as no limit.
    pub fn set(&self, bytes: u64) {
        self.variable.set(bytes.min(Self::NONE - 1));
    }

    #[cold]
    fn read(&self) -> u64 {
        let otherwise = self.otherwise;
        let why = format_args!("is not a number of bytes (digits, then K, M, G or T if wanted); using {otherwise}");
        self.variable.read(parse_bytes, Self::NONE, why)
    }
}

/// Parses `1073741824`, `1048576K`, `1024M` or `1G`: powers of 1024, as for ulimit and systemd.
fn parse_bytes(text: &[u8]) -> Option<u64> {
    let (digits, power) = match text.split_last()? {
        (b'K' | b'k', digits) => (digits, 10),
        (b'M' | b'm', digits) => (digits, 20),
        (b'G' | b'g', digits) => (digits, 30),
        (b'T' | b't', digits) => (digits, 40),
        _ => (text, 0),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    number.checked_mul(1 << power).filter(|&bytes| bytes < Amount::NONE)
}

/// Stored in milliseconds.
pub struct Seconds {
    variable: Variable,
    otherwise: u64,
}

impl Seconds {
    pub(super) const fn new(variable: &'static CStr, otherwise: u64) -> Self {
        Seconds { variable: Variable::new(variable), otherwise }
    }

    /// In milliseconds.
    #[inline]
    pub fn get(&self) -> u64 {
        self.variable.known().unwrap_or_else(|| self.read())
    }

    /// `false`: the time is negative or not a number.
    pub fn set(&self, seconds: f64) -> bool {
        to_milliseconds(seconds).map(|milliseconds| self.variable.set(milliseconds)).is_some()
    }

    #[cold]
    fn read(&self) -> u64 {
        let parse = |given: &[u8]| to_milliseconds(std::str::from_utf8(given).ok()?.parse().ok()?);
        let why = format_args!("is not a number of seconds; using {}", self.otherwise);
        self.variable.read(parse, self.otherwise * 1000, why)
    }
}

fn to_milliseconds(seconds: f64) -> Option<u64> {
    /// About thirty years: as good as for ever.
    const LONGEST: f64 = 1e9;
    (seconds >= 0.0).then(|| (seconds.min(LONGEST) * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_takes_only_the_values_it_knows() {
        static CHOICE: Choice = Choice::new(c"SYNCEDMEM_TEST_UNSET", &["first", "second"]);
        assert_eq!(CHOICE.get(), 0);
        assert!(CHOICE.set(1));
        assert!(!CHOICE.set(2));
        assert_eq!(CHOICE.get(), 1);
    }

    #[test]
    fn byte_counts_take_the_usual_suffixes() {
        let parsed = ["17", "4K", "2m", "3G", "1T"].map(|text| parse_bytes(text.as_bytes()));
        assert_eq!(parsed, [17, 4096, 2 << 20, 3 << 30, 1 << 40].map(Some));
    }

    #[test]
    fn text_that_is_no_byte_count_is_refused() {
        for bad in ["", "K", "-1", "+1", "1.5G", "1 G", "1GB", "0x10", "99999999999T"] {
            assert_eq!(parse_bytes(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn an_amount_is_none_until_it_is_given() {
        static AMOUNT: Amount = Amount::new(c"SYNCEDMEM_TEST_UNSET", "none");
        assert_eq!(AMOUNT.get(), None);
        AMOUNT.set(u64::MAX);
        assert_eq!(AMOUNT.get(), Some(u64::MAX - 2), "a number that can be kept");
        AMOUNT.set(0);
        assert_eq!(AMOUNT.get(), Some(0));
    }

    #[test]
    fn a_time_is_not_negative_and_not_longer_than_can_be_counted() {
        let milliseconds = [0.0, 2.5, f64::INFINITY, -1.0, f64::NAN].map(to_milliseconds);
        assert_eq!(milliseconds, [Some(0), Some(2500), Some(1_000_000_000_000), None, None]);
    }

    #[test]
    fn the_default_holds_until_another_time_is_given() {
        static TIME: Seconds = Seconds::new(c"SYNCEDMEM_TEST_UNSET", 7);
        assert_eq!(TIME.get(), 7000);
        assert!(!TIME.set(-1.0));
        assert!(TIME.set(0.25));
        assert_eq!(TIME.get(), 250);
    }
}
