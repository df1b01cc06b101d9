//! Rows in the format of RMM's logging adaptor, for the tools that read its logs.
//!
//! Columns and words are those of `rmm::mr::logging_resource_adaptor`: Thread, Time (local time of day, to the
//! microsecond), Action (allocate, free, allocate failure), Pointer, Size, Stream (always the default one: the
//! library's blocks belong to no stream).

use std::fmt::{self, Write};

use super::super::event::{Event, What};
use crate::platform::local_time::LocalTime;
use crate::platform::text::Text;

/// The header row.
pub const COLUMNS: &str = "Thread,Time,Action,Pointer,Size,Stream\n";

/// The row of an event; `None` if the event is not about an allocation.
pub fn row(event: &Event) -> Option<Text<160>> {
    let (action, block, bytes) = match event.what {
        What::Allocated { bytes, block, .. } => ("allocate", block, bytes),
        What::Freed { bytes, block, .. } => ("free", block, bytes),
        What::Failed { bytes, .. } => ("allocate failure", 0, bytes),
        _ => return None,
    };
    let now = Clock(LocalTime::now());
    let mut row = Text::new();
    // The text has room for the longest row.
    let _ = writeln!(row, "{},{now},{action},{},{bytes},0", event.thread, Pointer(block));
    Some(row)
}

/// A time of day.
struct Clock(LocalTime);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.0.second_of_day;
        write!(f, "{:02}:{:02}:{:02}.{:06}", second / 3600, second / 60 % 60, second % 60, self.0.microsecond)
    }
}

/// An address in the format of glibc's `%p`.
struct Pointer(u64);

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("(nil)") } else { write!(f, "{:#x}", self.0) }
    }
}
