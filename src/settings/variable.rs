//! Values of settings, each read when it is first needed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use syncedmem_core::settings::{Refusal, Setting, Values, milliseconds};
use syncedmem_core::text::Escaped;

use super::given;
use crate::platform::text::warn;

const UNREAD: u64 = u64::MAX;
/// A number of bytes that was not given.
const NONE: u64 = UNREAD - 1;

struct Variable {
    setting: &'static Setting,
    value: AtomicU64,
}

impl Variable {
    const fn new(setting: &'static Setting) -> Self {
        Variable { setting, value: AtomicU64::new(UNREAD) }
    }

    #[inline]
    fn get(&self) -> u64 {
        match self.value.load(Relaxed) {
            UNREAD => self.read(),
            value => value,
        }
    }

    fn set(&self, value: u64) {
        self.value.store(value, Relaxed);
    }

    /// Reports a value that is not one of the setting's, and takes the default.
    #[cold]
    fn read(&self) -> u64 {
        let given = given(self.setting);
        let parsed = given.map(|given| self.setting.parse(given.to_bytes()).filter(|&value| value < NONE));
        let value = parsed.flatten().unwrap_or(match self.setting.values {
            Values::Bytes(_) => NONE,
            Values::Seconds(seconds) => seconds * 1000,
            Values::OneOf(_) | Values::Text(_) => 0,
        });
        if let Err(first) = self.value.compare_exchange(UNREAD, value, Relaxed, Relaxed) {
            return first;
        }
        if let (Some(given), Some(None)) = (given, parsed) {
            let given = Escaped(given.to_bytes());
            warn(format_args!("{}={given} {}", self.setting.name(), Refusal(self.setting)));
        }
        value
    }
}

/// One of the setting's named values.
pub struct Choice(Variable);

impl Choice {
    pub(super) const fn new(setting: &'static Setting) -> Self {
        Choice(Variable::new(setting))
    }

    /// The value's index.
    pub fn get(&self) -> usize {
        self.0.get() as usize
    }

    pub fn set(&self, index: usize) -> bool {
        let is_known = matches!(self.0.setting.values, Values::OneOf(names) if index < names.len());
        if is_known {
            self.0.set(index as u64);
        }
        is_known
    }
}

/// A number of bytes.
pub struct Amount(Variable);

impl Amount {
    pub(super) const fn new(setting: &'static Setting) -> Self {
        Amount(Variable::new(setting))
    }

    #[inline]
    pub fn get(&self) -> Option<u64> {
        Some(self.0.get()).filter(|&bytes| bytes != NONE)
    }

    /// The environment holds again.
    pub fn reset(&self) {
        self.0.set(UNREAD);
    }

    /// The two largest numbers have a meaning here; the next smaller one is as good as no limit.
    pub fn set(&self, bytes: u64) {
        self.0.set(bytes.min(NONE - 1));
    }
}

/// A time, stored in milliseconds.
pub struct Seconds(Variable);

impl Seconds {
    pub(super) const fn new(setting: &'static Setting) -> Self {
        Seconds(Variable::new(setting))
    }

    /// In milliseconds.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.get()
    }

    /// `false`: the time is negative or not a number.
    pub fn set(&self, seconds: f64) -> bool {
        milliseconds(seconds).map(|milliseconds| self.0.set(milliseconds)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn unset(values: Values) -> Setting {
        use syncedmem_core::settings::RunOption;
        Setting { variable: c"SYNCEDMEM_TEST_UNSET", values, does: "", function: None, option: RunOption::None }
    }

    #[test]
    fn a_choice_takes_only_the_values_it_knows() {
        static UNSET: Setting = unset(Values::OneOf(&["first", "second"]));
        static CHOICE: Choice = Choice::new(&UNSET);
        assert_eq!(CHOICE.get(), 0);
        assert!(CHOICE.set(1));
        assert!(!CHOICE.set(2));
        assert_eq!(CHOICE.get(), 1);
    }

    #[test]
    fn an_amount_is_none_until_it_is_given() {
        static UNSET: Setting = unset(Values::Bytes("none"));
        static AMOUNT: Amount = Amount::new(&UNSET);
        assert_eq!(AMOUNT.get(), None);
        AMOUNT.set(u64::MAX);
        assert_eq!(AMOUNT.get(), Some(u64::MAX - 2), "a number that can be kept");
        AMOUNT.set(0);
        assert_eq!(AMOUNT.get(), Some(0));
    }

    #[test]
    fn the_default_holds_until_another_time_is_given() {
        static UNSET: Setting = unset(Values::Seconds(7));
        static TIME: Seconds = Seconds::new(&UNSET);
        assert_eq!(TIME.get(), 7000);
        assert!(!TIME.set(-1.0));
        assert!(TIME.set(0.25));
        assert_eq!(TIME.get(), 250);
    }
}
