//! Rows in the format of RMM's logging adaptor, for the tools that read its logs.
//!
//! Columns and words are those of `rmm::mr::logging_resource_adaptor`: Thread, Time (local time of day, to the
//! microsecond), Action (allocate, free, allocate failure), Pointer, Size, Stream (always the default one: the
//! library's blocks belong to no stream).

use std::fmt::{self, Write};

use crate::event::{Event, What};
use crate::text::Text;

/// The header row.
pub const COLUMNS: &str = "Thread,Time,Action,Pointer,Size,Stream\n";

/// The row of an event; `None` if the event is not about an allocation. `time_of_day` returns seconds since midnight, and
/// microseconds.
pub fn row(event: &Event, time_of_day: impl FnOnce() -> (i64, i64)) -> Option<Text<160>> {
    let (action, block, bytes) = match event.what {
        What::Allocated { bytes, block, .. } => ("allocate", block, bytes),
        What::Freed { bytes, block, .. } => ("free", block, bytes),
        What::Failed { bytes, .. } => ("allocate failure", 0, bytes),
        _ => return None,
    };
    let now = Clock(time_of_day());
    let mut row = Text::new();
    // The text has room for the longest row.
    let _ = writeln!(row, "{},{now},{action},{},{bytes},0", event.thread, Pointer(block));
    Some(row)
}

/// A time of day.
struct Clock((i64, i64));

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clock((second, microsecond)) = *self;
        write!(f, "{:02}:{:02}:{:02}.{microsecond:06}", second / 3600, second / 60 % 60, second % 60)
    }
}

/// An address in the format of glibc's `%p`.
struct Pointer(u64);

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("(nil)") } else { write!(f, "{:#x}", self.0) }
    }
}
