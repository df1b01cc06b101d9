//! A setting in seconds.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::environment;
use crate::platform::text::{Escaped, Text, to_stderr};

const UNREAD: u64 = u64::MAX;

/// A time in seconds that the user may set; stored in milliseconds.
pub struct Seconds {
    variable: &'static CStr,
    otherwise: u64,
    milliseconds: AtomicU64,
}

impl Seconds {
    pub(super) const fn new(variable: &'static CStr, otherwise: u64) -> Self {
        Seconds { variable, otherwise, milliseconds: AtomicU64::new(UNREAD) }
    }

    /// The current value in milliseconds.
    #[inline]
    pub fn get(&self) -> u64 {
        let milliseconds = self.milliseconds.load(Relaxed);
        if milliseconds == UNREAD { self.read_environment() } else { milliseconds }
    }

    /// Sets a time in seconds; `false` if it is negative or not a number.
    pub fn set(&self, seconds: f64) -> bool {
        let milliseconds = to_milliseconds(seconds);
        if let Some(milliseconds) = milliseconds {
            self.milliseconds.store(milliseconds, Relaxed);
        }
        milliseconds.is_some()
    }

    #[cold]
    fn read_environment(&self) -> u64 {
        let given = environment(self.variable);
        let read = given.map(|value| value.to_str().ok()?.parse().ok().and_then(to_milliseconds));
        let milliseconds = read.flatten().unwrap_or(self.otherwise * 1000);
        if let Err(now) = self.milliseconds.compare_exchange(UNREAD, milliseconds, Relaxed, Relaxed) {
            // Another thread, or a call of `set`, was first.
            return now;
        }
        if read == Some(None) {
            let text = Text::<400>::of(format_args!(
                "libsyncedmem: {}={} is not a number of seconds; using {}\n",
                self.variable.to_str().unwrap_or_default(),
                Escaped(given.unwrap_or_default().to_bytes()),
                self.otherwise
            ));
            to_stderr(text.as_bytes());
        }
        milliseconds
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
    fn a_time_is_not_negative_and_not_longer_than_can_be_counted() {
        assert_eq!(to_milliseconds(0.0), Some(0));
        assert_eq!(to_milliseconds(2.5), Some(2500));
        assert_eq!(to_milliseconds(f64::INFINITY), Some(1_000_000_000_000));
        assert_eq!(to_milliseconds(-1.0), None);
        assert_eq!(to_milliseconds(f64::NAN), None);
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
