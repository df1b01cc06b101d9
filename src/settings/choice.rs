//! A setting with a few named values.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, Ordering};

use super::environment;
use crate::platform::text::{Escaped, Text, to_stderr};

/// A setting with a few named values. The first one is the default.
pub struct Choice {
    variable: &'static CStr,
    names: &'static [&'static str],
    /// 0: not read yet; else the index of the value plus one.
    chosen: AtomicU8,
}

impl Choice {
    pub(super) const fn new(variable: &'static CStr, names: &'static [&'static str]) -> Self {
        Choice { variable, names, chosen: AtomicU8::new(0) }
    }

    /// The index of the current value.
    pub fn get(&self) -> usize {
        let chosen = self.chosen.load(Ordering::Relaxed);
        if chosen != 0 {
            return usize::from(chosen - 1);
        }
        self.read_environment()
    }

    /// Sets the value by index; `false` if there is no such value.
    pub fn set(&self, index: usize) -> bool {
        let known = index < self.names.len();
        if known {
            self.chosen.store(index as u8 + 1, Ordering::Relaxed);
        }
        known
    }

    #[cold]
    fn read_environment(&self) -> usize {
        let wanted = environment(self.variable);
        let found = wanted.map(|value| self.names.iter().position(|name| name.as_bytes() == value.to_bytes()));
        let index = found.flatten().unwrap_or(0);
        let first = self.chosen.compare_exchange(0, index as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
        match first {
            Ok(_) => {
                if found == Some(None) {
                    self.complain(wanted.unwrap_or_default());
                }
                index
            }
            // Another thread, or a call of `set`, was first.
            Err(chosen) => usize::from(chosen - 1),
        }
    }

    fn complain(&self, value: &CStr) {
        let mut text = Text::<400>::new();
        use std::fmt::Write;
        let _ = write!(
            text,
            "libsyncedmem: {}={} is not one of",
            self.variable.to_str().unwrap_or_default(),
            Escaped(value.to_bytes())
        );
        for name in self.names {
            let _ = write!(text, " {name}");
        }
        let _ = writeln!(text, "; using {}", self.names[0]);
        to_stderr(text.as_bytes());
    }
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
}
