//! What the user may choose: by environment variable, read when first needed, or by a call, which wins.
//!
//! Nothing is read at load, and reading allocates nothing.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::text::{Text, to_stderr};

/// A choice among a few named values. The first is the default.
pub struct Choice {
    variable: &'static CStr,
    names: &'static [&'static str],
    /// 0: not chosen yet; else one more than the index of the name.
    chosen: AtomicU8,
}

impl Choice {
    const fn new(variable: &'static CStr, names: &'static [&'static str]) -> Self {
        Choice { variable, names, chosen: AtomicU8::new(0) }
    }

    /// The index of the value in force.
    pub fn get(&self) -> usize {
        let chosen = self.chosen.load(Ordering::Relaxed);
        if chosen != 0 {
            return usize::from(chosen - 1);
        }
        self.read_environment()
    }

    /// Chooses by index; `false` if there is no such value.
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
            // Another thread, or a call, was first.
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
            value.to_str().unwrap_or("(not text)")
        );
        for name in self.names {
            let _ = write!(text, " {name}");
        }
        let _ = writeln!(text, "; using {}", self.names[0]);
        to_stderr(text.as_bytes());
    }
}

static UNSETTLED: AtomicBool = AtomicBool::new(true);

/// Reads what host blocks need to know, so that it need not be read later with a lock held.
#[inline]
pub fn settle() {
    if UNSETTLED.load(Ordering::Relaxed) {
        UNSETTLED.store(false, Ordering::Relaxed);
        read_all();
    }
}

#[cold]
fn read_all() {
    host_limit();
    for choice in [&MODE, &PIN, &HOST_BLOCKS, &HUGE_PAGES] {
        choice.get();
    }
}

/// `Caffe::mode()` as told by the user: auto (ask Caffe), cpu, gpu.
pub static MODE: Choice = Choice::new(c"SYNCEDMEM_MODE", &["auto", "cpu", "gpu"]);
/// Page-locked host memory: auto (in GPU mode), always, never.
pub static PIN: Choice = Choice::new(c"SYNCEDMEM_PIN", &["auto", "always", "never"]);
/// What a failure in a C++ entry point does: abort as Caffe did, or throw.
pub static ON_ERROR: Choice = Choice::new(c"SYNCEDMEM_ON_ERROR", &["abort", "throw"]);
/// Where host blocks of objects come from: auto, or all of them from malloc.
pub static HOST_BLOCKS: Choice = Choice::new(c"SYNCEDMEM_HOST_BLOCKS", &["auto", "malloc"]);
/// Whether huge pages are asked for: auto (from 2 MiB up), never.
pub static HUGE_PAGES: Choice = Choice::new(c"SYNCEDMEM_HUGE_PAGES", &["auto", "never"]);

/// Whether host memory is to be page-locked, as far as the user has said so; else `Caffe::mode()` decides.
#[inline]
pub fn pins() -> Option<bool> {
    match (PIN.get(), MODE.get()) {
        (1, _) | (0, 2) => Some(true),
        (2, _) | (0, 1) => Some(false),
        _ => None,
    }
}

/// Whether a device block may only be used while its device is current: off, on (the original's DEBUG check).
pub static CHECK_DEVICE: Choice = Choice::new(c"SYNCEDMEM_CHECK_DEVICE", &["0", "1"]);

/// Whether every host block must be one that `free()` takes.
pub fn malloc_only() -> bool {
    HOST_BLOCKS.get() == 1
}

/// Whether huge pages are asked for.
pub fn huge_pages() -> bool {
    HUGE_PAGES.get() == 0
}

/// Whether a failure in a C++ entry point throws.
pub fn throws() -> bool {
    ON_ERROR.get() == 1
}

/// Whether every call looks at which device is current.
pub fn checks_device() -> bool {
    CHECK_DEVICE.get() == 1
}

const UNREAD: u64 = u64::MAX - 1;
const UNLIMITED: u64 = u64::MAX;
static HOST_LIMIT: AtomicU64 = AtomicU64::new(UNREAD);

/// `SYNCEDMEM_HOST_LIMIT`: the most bytes of host memory that objects may hold together.
pub fn host_limit() -> Option<u64> {
    let mut limit = HOST_LIMIT.load(Ordering::Relaxed);
    if limit == UNREAD {
        limit = read_host_limit();
        HOST_LIMIT.store(limit, Ordering::Relaxed);
    }
    (limit != UNLIMITED).then_some(limit)
}

#[cold]
fn read_host_limit() -> u64 {
    let Some(value) = environment(c"SYNCEDMEM_HOST_LIMIT") else { return UNLIMITED };
    match parse_bytes(value.to_bytes()) {
        Some(0) => UNLIMITED,
        Some(limit) => limit,
        None => {
            let value = value.to_str().unwrap_or("(not text)");
            let text = Text::<400>::of(format_args!(
                "libsyncedmem: SYNCEDMEM_HOST_LIMIT={value} is not a number of bytes \
                 (digits, then K, M, G or T if wanted); using no limit\n"
            ));
            to_stderr(text.as_bytes());
            UNLIMITED
        }
    }
}

/// `1073741824`, `1048576K`, `1024M`, `1G`: powers of 1024, as ulimit and systemd read them.
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

/// The value of an environment variable; an empty one counts as not set.
#[expect(unsafe_code, reason = "getenv(3): std's own way allocates")]
pub fn environment(variable: &CStr) -> Option<&'static CStr> {
    // SAFETY: `variable` is NUL-terminated.
    let value = unsafe { libc::getenv(variable.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: getenv's result is NUL-terminated and stays while nobody changes that variable, as its contract says.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then_some(value)
}

/// Whether an environment variable is there, even an empty one.
#[expect(unsafe_code, reason = "getenv(3)")]
pub fn is_set(variable: &CStr) -> bool {
    // SAFETY: `variable` is NUL-terminated.
    !unsafe { libc::getenv(variable.as_ptr()) }.is_null()
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
    fn a_choice_takes_only_the_values_it_knows() {
        static CHOICE: Choice = Choice::new(c"SYNCEDMEM_TEST_UNSET", &["first", "second"]);
        assert_eq!(CHOICE.get(), 0);
        assert!(CHOICE.set(1));
        assert!(!CHOICE.set(2));
        assert_eq!(CHOICE.get(), 1);
    }
}
