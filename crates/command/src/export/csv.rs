//! Rows as `rmm::mr::logging_resource_adaptor` writes them. The stream is always the default one: blocks belong to no stream. RMM
//! writes the local time; an export says UTC, so that it is the same on every machine.

use std::fmt;
use std::io::Write;

use syncedmem_trace::event::{Event, What};
use syncedmem_trace_reader::{Item, ReadError};

use super::Error;

pub const COLUMNS: &str = "Thread,Time,Action,Pointer,Size,Stream\n";

pub fn write(items: impl Iterator<Item = Result<Item, ReadError>>, output: &mut impl Write) -> Result<(), Error> {
    output.write_all(COLUMNS.as_bytes())?;
    let mut clock = 0;
    for item in items {
        match item? {
            Item::Process { realtime, monotonic, .. } => clock = realtime.wrapping_sub(monotonic),
            Item::Event { event, .. } => row(output, &event, TimeOfDay(clock.wrapping_add(event.end())))?,
            _ => {}
        }
    }
    Ok(())
}

fn row(output: &mut impl Write, event: &Event, time: TimeOfDay) -> Result<(), Error> {
    let (action, block, bytes) = match event.what {
        What::Allocated { bytes, block, .. } => ("allocate", block, bytes),
        What::Freed { bytes, block, .. } => ("free", block, bytes),
        What::Failed { bytes, .. } => ("allocate failure", 0, bytes),
        _ => return Ok(()),
    };
    Ok(writeln!(output, "{},{time},{action},{},{bytes},0", event.thread, Pointer(block))?)
}

/// Nanoseconds since 1970.
struct TimeOfDay(u64);

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = self.0 / 1000;
        let seconds = microseconds / 1_000_000 % 86_400;
        write!(f, "{:02}:{:02}:{:02}.{:06}", seconds / 3600, seconds / 60 % 60, seconds % 60, microseconds % 1_000_000)
    }
}

/// An address as glibc's `%p` prints it.
struct Pointer(u64);

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("(nil)") } else { write!(f, "{:#x}", self.0) }
    }
}
