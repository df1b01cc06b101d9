//! Records as the Trace Event Format has them, which chrome://tracing and Perfetto read.
//!
//! The array form, "JSON Array Format" there: its closing bracket may be missing. "Complete Events" (X) are what takes
//! time, "Instant Events" (i) what does not, "Counter Events" (C) the bytes in use, "Flow Events" (s and f, the latter
//! bound to the slice around it) lead from a push or pull to its completion, "Metadata Events" (M) name processes and
//! threads. Times are microseconds with three decimals.

use std::fmt::{self, Write};

use super::super::event::{Event, Origin, Site, What};
use super::block::{Block, Quoted};
use super::fields::{self, Value};
use super::{FORMAT, Live};

/// The category of every record of ours.
pub const CATEGORY: &str = "syncedmem";

/// How many bytes of a name or a place are kept: what a record has room for.
pub const TEXT: usize = 320;

/// Nanoseconds as microseconds.
struct Micro(u64);

impl fmt::Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Whether an event is drawn as a slice.
pub fn is_slice(event: &Event) -> bool {
    let takes_time = matches!(
        event.what,
        What::Copied { .. }
            | What::Started { .. }
            | What::Completed { .. }
            | What::Filled { .. }
            | What::Registered { .. }
            | What::Synchronised
            | What::Allocated { origin: Origin::Fresh, .. }
    );
    takes_time || event.duration > 0
}

/// The event itself.
pub fn event(block: &mut Block, process: u32, event: &Event) -> fmt::Result {
    let slice = is_slice(event);
    begin(block, if slice { "X" } else { "i" }, process, event.thread)?;
    write!(block, ",\"ts\":{}", Micro(event.start))?;
    if slice {
        // A flow binds to a slice that takes time: the shortest one, where none was measured.
        let shortest = u64::from(flow_phase(event).is_some());
        write!(block, ",\"dur\":{}", Micro(event.duration.max(shortest)))?;
    } else {
        block.write_str(",\"s\":\"t\"")?;
    }
    let parts = fields::parts(&event.what);
    write!(block, ",\"name\":\"{}\",\"cat\":\"{CATEGORY}\"", fields::title(&event.what))?;
    write!(block, ",\"args\":{{\"what\":\"{}\"", parts.what)?;
    if event.object != 0 {
        write!(block, ",\"object\":\"{:#x}\"", event.object)?;
    }
    if event.site != Site::UNKNOWN {
        write!(block, ",\"site\":{}", event.site.0)?;
    }
    if slice && event.duration == 0 {
        block.write_str(",\"took\":0")?;
    }
    for (key, value) in parts.fields.into_iter().flatten() {
        match value {
            Value::Number(number) => write!(block, ",\"{key}\":{number}")?,
            Value::Address(address) => write!(block, ",\"{key}\":\"{address:#x}\"")?,
            Value::Word(word) => write!(block, ",\"{key}\":\"{word}\"")?,
            Value::Flag(flag) => write!(block, ",\"{key}\":{flag}")?,
        }
    }
    block.write_str("}")
}

/// Which end of a flow an event is, and the number of the copy.
pub fn flow_phase(event: &Event) -> Option<(&'static str, u64)> {
    match event.what {
        What::Started { copy, .. } => Some(("s", copy)),
        What::Completed { copy, .. } => Some(("f", copy)),
        _ => None,
    }
}

/// An end of a flow. Viewers tell flows apart by name and number alone, so the number has the process in it.
pub fn flow(block: &mut Block, process: u32, event: &Event, phase: &str, copy: u64) -> fmt::Result {
    begin(block, phase, process, event.thread)?;
    let number = u64::from(process) << 40 | copy & ((1 << 40) - 1);
    write!(
        block,
        ",\"ts\":{},\"name\":\"copy in flight\",\"cat\":\"{CATEGORY}\",\"id\":\"{number:#x}\"",
        Micro(event.start)
    )?;
    if phase == "f" { block.write_str(",\"bp\":\"e\"") } else { Ok(()) }
}

/// The bytes that are in use.
pub fn counters(block: &mut Block, process: u32, event: &Event, live: &Live) -> fmt::Result {
    let [pageable, pinned, device] = live.bytes;
    begin(block, "C", process, event.thread)?;
    write!(block, ",\"ts\":{},\"name\":\"memory\",\"cat\":\"{CATEGORY}\"", Micro(event.end()))?;
    write!(block, ",\"args\":{{\"pageable\":{pageable},\"pinned\":{pinned},\"device\":{device}}}")
}

/// The process, and the one that it was forked from.
pub fn process(block: &mut Block, process: u32, name: &str, parent: u32) -> fmt::Result {
    begin(block, "M", process, process)?;
    write!(block, ",\"name\":\"process_name\",\"cat\":\"{CATEGORY}\",\"args\":{{\"name\":\"{}\"", Quoted(name, TEXT))?;
    write!(block, ",\"syncedmem\":\"{}\",\"format\":{FORMAT}", env!("CARGO_PKG_VERSION"))?;
    if parent != 0 {
        write!(block, ",\"parent\":{parent}")?;
    }
    block.write_str("}")
}

/// A thread.
pub fn thread(block: &mut Block, process: u32, thread: u32, name: &str) -> fmt::Result {
    begin(block, "M", process, thread)?;
    write!(block, ",\"name\":\"thread_name\",\"cat\":\"{CATEGORY}\",\"args\":{{\"name\":\"{}\"}}", Quoted(name, TEXT))
}

/// What an object is called.
pub fn name(block: &mut Block, process: u32, thread: u32, now: u64, object: u64, name: &str) -> fmt::Result {
    begin(block, "i", process, thread)?;
    write!(block, ",\"ts\":{},\"s\":\"t\",\"name\":\"object named\",\"cat\":\"{CATEGORY}\"", Micro(now))?;
    write!(block, ",\"args\":{{\"what\":\"named\",\"object\":\"{object:#x}\",\"name\":\"{}\"}}", Quoted(name, TEXT))
}

/// Which place a number stands for.
pub fn site(block: &mut Block, process: u32, thread: u32, now: u64, site: Site, place: &str) -> fmt::Result {
    begin(block, "i", process, thread)?;
    write!(block, ",\"ts\":{},\"s\":\"t\",\"name\":\"call site\",\"cat\":\"{CATEGORY}\"", Micro(now))?;
    write!(block, ",\"args\":{{\"what\":\"site\",\"site\":{},\"place\":\"{}\"}}", site.0, Quoted(place, TEXT))
}

fn begin(block: &mut Block, phase: &str, process: u32, thread: u32) -> fmt::Result {
    write!(block, "{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread}")
}
