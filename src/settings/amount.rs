//! A setting in bytes.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::environment;
use crate::platform::text::{Escaped, Text, to_stderr};

const UNREAD: u64 = u64::MAX - 1;
const NONE: u64 = u64::MAX;

/// A number of bytes that the user may set.
pub struct Amount {
    variable: &'static CStr,
    /// The value without a setting, for a message.
    otherwise: &'static str,
    bytes: AtomicU64,
}

impl Amount {
    pub(super) const fn new(variable: &'static CStr, otherwise: &'static str) -> Self {
        Amount { variable, otherwise, bytes: AtomicU64::new(UNREAD) }
    }

    /// The number of bytes, if one is set.
    #[inline]
    pub fn get(&self) -> Option<u64> {
        let bytes = self.bytes.load(Relaxed);
        if bytes == UNREAD {
            return self.read_environment();
        }
        (bytes != NONE).then_some(bytes)
    }

    /// Sets a number of bytes, whatever the environment says. The two largest numbers, which have a meaning here,
    /// become the next smaller one: as good as no limit.
    pub fn set(&self, bytes: u64) {
        self.bytes.store(bytes.min(UNREAD - 1), Relaxed);
    }

    #[cold]
    fn read_environment(&self) -> Option<u64> {
        let read = environment(self.variable).map(|value| (value, parse_bytes(value.to_bytes())));
        let bytes = read.and_then(|(_, bytes)| bytes);
        let first = self.bytes.compare_exchange(UNREAD, bytes.unwrap_or(NONE), Relaxed, Relaxed);
        if let Err(now) = first {
            // Another thread, or a call of `set`, was first.
            return (now != NONE).then_some(now);
        }
        if let Some((value, None)) = read {
            self.complain(value);
        }
        bytes
    }

    fn complain(&self, value: &CStr) {
        let text = Text::<400>::of(format_args!(
            "libsyncedmem: {}={} is not a number of bytes (digits, then K, M, G or T if wanted); using {}\n",
            self.variable.to_str().unwrap_or_default(),
            Escaped(value.to_bytes()),
            self.otherwise
        ));
        to_stderr(text.as_bytes());
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
    number.checked_mul(1 << power).filter(|&bytes| bytes < UNREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts_take_the_usual_suffixes() {
        assert_eq!(parse_bytes(b"17"), Some(17));
        assert_eq!(parse_bytes(b"4K"), Some(4096));
        assert_eq!(parse_bytes(b"2m"), Some(2 << 20));
        assert_eq!(parse_bytes(b"3G"), Some(3 << 30));
        assert_eq!(parse_bytes(b"1T"), Some(1 << 40));
    }

    #[test]
    fn what_is_no_byte_count_is_refused() {
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
}
