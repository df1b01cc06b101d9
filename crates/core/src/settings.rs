//! The table of settings: every environment variable of libsyncedmem, its values, and what it does.
//!
//! The two libraries read their variables by it. The options of `syncedmem run` with their help and manual page, `syncedmem
//! doctor`, and the tables of docs/settings.md are made from it.

use std::ffi::CStr;
use std::fmt;

pub struct Setting {
    /// Name of the environment variable.
    pub variable: &'static CStr,
    pub values: Values,
    /// One sentence in Markdown, without links: it is also the option's help.
    pub does: &'static str,
    /// Function of the C API that sets the value in a running process.
    pub function: Option<&'static str>,
    pub option: RunOption,
}

#[derive(Clone, Copy)]
pub enum Values {
    /// The first is the default.
    OneOf(&'static [&'static str]),
    /// A number of bytes; the text names the default.
    Bytes(&'static str),
    /// A time; the default is in seconds.
    Seconds(u64),
    /// Text, such as a file's name; the description says which.
    Text(&'static str),
}

/// The option of `syncedmem run` that sets the variable. `SYNCEDMEM_POOL_AGE` has `--pool-age`.
#[derive(Clone, Copy)]
pub enum RunOption {
    None,
    /// Takes no value and sets the last one.
    Flag,
    /// The text stands for the value in help.
    Value(&'static str),
    /// The option without a value sets the second text.
    ValueOr(&'static str, &'static str),
}

use RunOption::{Flag, Value, ValueOr};
use Values::{Bytes, OneOf, Seconds, Text};

pub const ON_ERROR: Setting = Setting {
    variable: c"SYNCEDMEM_ON_ERROR",
    values: OneOf(&["abort", "throw"]),
    does: "On a failure in a C++ function, end the process as Caffe does, or throw a C++ exception (`MemoryError` in Python)",
    function: Some("syncedmem_set_error_policy"),
    option: Value("HOW"),
};
pub const HOST_LIMIT: Setting = Setting {
    variable: c"SYNCEDMEM_HOST_LIMIT",
    values: Bytes("no limit"),
    does: "Limit of the host memory of all objects, page-locked or not; an allocation beyond it fails. `0` is no limit. In a \
        mixed binding, blocks that the other side frees stay counted",
    function: None,
    option: Value("BYTES"),
};
pub const CHECK_DEVICE: Setting = Setting {
    variable: c"SYNCEDMEM_CHECK_DEVICE",
    values: OneOf(&["0", "1"]),
    does: "Refuse the use of an object while another device than its data's is current, as a DEBUG build of Caffe does",
    function: Some("syncedmem_set_device_check"),
    option: RunOption::None,
};
pub const TAKE_OVER: Setting = Setting {
    variable: c"SYNCEDMEM_TAKE_OVER",
    values: OneOf(&["0", "1"]),
    does: "Take over each Caffe in the process that calls its own functions directly, by a jump at the entry of each: when the library is \
        loaded, and whenever the program opens a file. `syncedmem run` sets it where it is needed",
    function: None,
    option: Flag,
};
pub const ACCOUNT: Setting = Setting {
    variable: c"SYNCEDMEM_ACCOUNT",
    values: OneOf(&["off", "on"]),
    does: "Count operations, for the report and `syncedmem_stats`",
    function: Some("syncedmem_set_accounting"),
    option: RunOption::None,
};
pub const REPORT: Setting = Setting {
    variable: c"SYNCEDMEM_REPORT",
    values: Text("`stderr`, a file"),
    does: "Count operations, and write a short report of calls, memory and work when the process exits or the library aborts it. The \
        report replaces that of an earlier run; forked children append theirs. `%p` becomes the process id",
    function: Some("syncedmem_report"),
    option: RunOption::None,
};
pub const TRACE: Setting = Setting {
    variable: c"SYNCEDMEM_TRACE",
    values: Text("a file"),
    does: "Record every event in this file, the trace",
    function: Some("syncedmem_trace_start"),
    option: RunOption::None,
};
pub const TRACE_SIZE: Setting = Setting {
    variable: c"SYNCEDMEM_TRACE_SIZE",
    values: Bytes("256M"),
    does: "Limit of the trace of each process on the disk; at the limit the oldest events are overwritten, but not the account",
    function: None,
    option: Value("BYTES"),
};
pub const MODE: Setting = Setting {
    variable: c"SYNCEDMEM_MODE",
    values: OneOf(&["auto", "cpu", "gpu"]),
    does: "Take this for `Caffe::mode()`; `auto` asks the Caffe in the process",
    function: Some("syncedmem_set_mode"),
    option: Value("MODE"),
};
pub const PIN: Setting = Setting {
    variable: c"SYNCEDMEM_PIN",
    values: OneOf(&["auto", "always", "never"]),
    does: "Use page-locked host memory; `auto` does in GPU mode. Where the driver has none, memory is pageable, with one warning",
    function: Some("syncedmem_set_pinning"),
    option: Value("WHEN"),
};
pub const PINNED_LIMIT: Setting = Setting {
    variable: c"SYNCEDMEM_PINNED_LIMIT",
    values: Bytes("half of the process's memory"),
    does: "Limit of all page-locked memory; a block beyond it is pageable",
    function: Some("syncedmem_set_pinned_limit"),
    option: Value("BYTES"),
};
pub const HOST_BLOCKS: Setting = Setting {
    variable: c"SYNCEDMEM_HOST_BLOCKS",
    values: OneOf(&["auto", "malloc"]),
    does: "Source of host blocks. With `malloc`, `free()` may free each one, for mixed bindings, and no freed block is kept for reuse, so \
        that valgrind sees each; no memory is shared then",
    function: None,
    option: Value("HOW"),
};
pub const JUNK_FILL: Setting = Setting {
    variable: c"SYNCEDMEM_JUNK_FILL",
    values: OneOf(&["off", "on"]),
    does: "Fill host memory of undefined contents (`overwrite_cpu_data`; shared memory when it is taken and when it is free) with \
        `0x7fedbeef` and shared device memory with ones, both NaN as a `float`, to find programs that read before they write",
    function: None,
    option: Flag,
};
pub const SHARE: Setting = Setting {
    variable: c"SYNCEDMEM_SHARE",
    values: OneOf(&["off", "gradients", "all", "parked"]),
    does: "Reuse the memory of blobs that are no longer needed: in training the gradients of activations, and scratch inside of layers; or \
        all, activations too; or parked, all and what waits for Backward, which is encoded meanwhile",
    function: None,
    option: ValueOr("WHAT", "all"),
};
pub const KEEP: Setting = Setting {
    variable: c"SYNCEDMEM_KEEP",
    values: Text("names of blobs, or a layer's name and ` internal`, separated by commas"),
    does: "Do not share the memory of these blobs, or of a layer (`pool1 internal`), so that they can be read after a pass",
    function: None,
    option: Value("BLOB,…"),
};
pub const POOL_BUDGET: Setting = Setting {
    variable: c"SYNCEDMEM_POOL_BUDGET",
    values: Bytes("a share of the memory"),
    does: "Limit of the memory that is kept for reuse: of the pageable, of the page-locked, and of each device's. With `0` no freed block \
        is kept, as in the original",
    function: Some("syncedmem_set_pool_budget"),
    option: Value("BYTES"),
};
pub const POOL_AGE: Setting = Setting {
    variable: c"SYNCEDMEM_POOL_AGE",
    values: Seconds(10),
    does: "Unmap a pageable block that was not reused for so long; above an hour, none is unmapped for its age",
    function: Some("syncedmem_set_pool_age"),
    option: Value("SECONDS"),
};
pub const LIBRARY: Setting = Setting {
    variable: c"SYNCEDMEM_LIBRARY",
    values: Text("a file or its folder"),
    does: "The `libsyncedmem.so` that `syncedmem` and the Python package use",
    function: None,
    option: RunOption::None,
};

/// All settings, in the order of the documents, each table of docs/settings.md under its heading.
pub const TABLES: [(&str, &[&Setting]); 7] = [
    ("Memory that layers share", &[&SHARE, &KEEP]),
    ("Errors and limits", &[&ON_ERROR, &HOST_LIMIT, &CHECK_DEVICE]),
    ("Reach a Caffe that calls itself", &[&TAKE_OVER]),
    ("See what memory does", &[&ACCOUNT, &REPORT, &TRACE, &TRACE_SIZE]),
    ("Host memory", &[&MODE, &PIN, &PINNED_LIMIT, &HOST_BLOCKS, &JUNK_FILL]),
    ("Memory that is kept for reuse", &[&POOL_BUDGET, &POOL_AGE]),
    ("The command", &[&LIBRARY]),
];

pub fn all() -> impl Iterator<Item = &'static Setting> {
    TABLES.iter().flat_map(|(_, settings)| settings.iter().copied())
}

impl Setting {
    pub fn name(&self) -> &'static str {
        self.variable.to_str().unwrap_or_default()
    }

    /// Name of the option of `syncedmem run`, without the dashes.
    pub fn option_name(&self) -> String {
        self.name().trim_start_matches("SYNCEDMEM_").to_lowercase().replace('_', "-")
    }

    /// The value as a number: an index, bytes or milliseconds; 0 for text. `None`: it is not one of the setting's values.
    pub fn parse(&self, value: &[u8]) -> Option<u64> {
        match self.values {
            OneOf(names) => Some(names.iter().position(|name| name.as_bytes() == value)? as u64),
            Bytes(_) => bytes(value),
            Seconds(_) => milliseconds(std::str::from_utf8(value).ok()?.parse().ok()?),
            Text(_) => Some(0),
        }
    }
}

/// Displays why a value of the setting is refused, and the default that holds instead: the end of a sentence.
pub struct Refusal<'s>(pub &'s Setting);

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.values {
            OneOf(names) => {
                f.write_str("is not one of")?;
                names.iter().try_for_each(|name| write!(f, " {name}"))?;
                write!(f, "; using {}", names[0])
            }
            Bytes(default) => {
                write!(
                    f,
                    "is not a number of bytes (digits, then K, M, G or T if wanted); using the default, {default}"
                )
            }
            Seconds(default) => write!(f, "is not a number of seconds; using {default}"),
            Text(_) => Ok(()),
        }
    }
}

/// Parses `1073741824`, `1048576K`, `1024M` or `1G`: powers of 1024, as for ulimit and systemd.
pub fn bytes(text: &[u8]) -> Option<u64> {
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
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok()?.checked_mul(1 << power)
}

/// `None`: the time is negative or NaN. A time above some thirty years becomes that.
pub fn milliseconds(seconds: f64) -> Option<u64> {
    const LONGEST: f64 = 1e9;
    (seconds >= 0.0).then(|| (seconds.min(LONGEST) * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_in_one_table() {
        let names: Vec<_> = all().map(Setting::name).collect();
        let declared = include_str!("settings.rs").lines().filter_map(|line| line.strip_prefix("    variable: c\""));
        let mut declared: Vec<_> = declared.filter_map(|rest| rest.strip_suffix("\",")).collect();
        assert_eq!(names.len(), declared.len());
        declared.retain(|name| !names.contains(name));
        assert!(declared.is_empty(), "{declared:?}");
    }

    #[test]
    fn byte_counts_take_the_usual_suffixes() {
        let parsed = ["17", "4K", "2m", "3G", "1T"].map(|text| bytes(text.as_bytes()));
        assert_eq!(parsed, [17, 4096, 2 << 20, 3 << 30, 1 << 40].map(Some));
    }

    #[test]
    fn text_that_is_no_byte_count_is_refused() {
        for bad in ["", "K", "-1", "+1", "1.5G", "1 G", "1GB", "0x10", "8é", "99999999999T"] {
            assert_eq!(bytes(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn a_time_is_not_negative_and_not_longer_than_can_be_counted() {
        let times = [0.0, 2.5, f64::INFINITY, -1.0, f64::NAN].map(milliseconds);
        assert_eq!(times, [Some(0), Some(2500), Some(1_000_000_000_000), None, None]);
    }

    #[test]
    fn a_refused_value_is_answered_with_the_valid_ones() {
        assert_eq!(PIN.parse(b"always"), Some(1));
        assert_eq!(PIN.parse(b"Always"), None);
        assert_eq!(Refusal(&PIN).to_string(), "is not one of auto always never; using auto");
    }
}
