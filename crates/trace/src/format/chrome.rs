//! Records in the Trace Event Format, which chrome://tracing and Perfetto read.
//!
//! The file has the form "JSON Array Format", whose closing bracket may be missing. "Complete Events" (X) are events
//! with a duration, "Instant Events" (i) those without, "Counter Events" (C) the bytes in use. "Flow Events" (s and f,
//! the latter bound to the slice around it) lead from a push or pull to its completion. "Metadata Events" (M) name
//! processes and threads. Times are microseconds with three decimals.

use std::fmt::{self, Write};

use super::block::{Block, Quoted};
use super::fields::{self, Value};
use super::{FORMAT, Live};
use crate::event::{Event, Origin, Site, What};

/// The category of all records.
pub const CATEGORY: &str = "syncedmem";

/// The name of the record that marks a process's records as complete.
pub const END: &str = "syncedmem_end";

/// Bytes of a name or a place that are kept: a record has no room for more.
pub const TEXT: usize = 320;

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

/// The record of an event.
pub fn event(block: &mut Block, process: u32, event: &Event) -> fmt::Result {
    let slice = is_slice(event);
    begin(block, if slice { "X" } else { "i" }, process, event.thread)?;
    block.text(",\"ts\":")?.time(event.start)?;
    if slice {
        // A flow binds to a slice with a duration. An unmeasured slice gets the shortest one.
        let shortest = u64::from(flow_phase(event).is_some());
        block.text(",\"dur\":")?.time(event.duration.max(shortest))?;
    } else {
        block.text(",\"s\":\"t\"")?;
    }
    let parts = fields::parts(&event.what);
    head(block, fields::title(&event.what))?.text(",\"args\":{\"what\":\"")?.text(parts.what)?.text("\"")?;
    if event.object != 0 {
        block.text(",\"object\":")?.address(event.object)?;
    }
    if event.site != Site::UNKNOWN {
        block.text(",\"site\":")?.number(event.site.0.into())?;
    }
    if slice && event.duration == 0 {
        block.text(",\"took\":0")?;
    }
    for (key, value) in parts.fields.into_iter().flatten() {
        block.text(",\"")?.text(key)?.text("\":")?;
        match value {
            Value::Number(number) => block.number(number)?,
            Value::Address(address) => block.address(address)?,
            Value::Word(word) => block.text("\"")?.text(word)?.text("\"")?,
            Value::Flag(flag) => block.text(if flag { "true" } else { "false" })?,
        };
    }
    block.text("}").map(drop)
}

/// The end of a flow that an event is, and the number of its copy.
pub fn flow_phase(event: &Event) -> Option<(&'static str, u64)> {
    match event.what {
        What::Started { copy, .. } => Some(("s", copy)),
        What::Completed { copy, .. } => Some(("f", copy)),
        _ => None,
    }
}

/// The record of a flow's end. Viewers identify a flow by name and number alone, so the number includes the process.
pub fn flow(block: &mut Block, process: u32, event: &Event, phase: &str, copy: u64) -> fmt::Result {
    begin(block, phase, process, event.thread)?;
    let number = u64::from(process) << 40 | copy & ((1 << 40) - 1);
    head(block.text(",\"ts\":")?.time(event.start)?, "copy in flight")?.text(",\"id\":")?.address(number)?;
    if phase == "f" { block.write_str(",\"bp\":\"e\"") } else { Ok(()) }
}

/// The record of the bytes in use.
pub fn counters(block: &mut Block, process: u32, event: &Event, live: &Live) -> fmt::Result {
    let [pageable, pinned, device] = live.bytes;
    begin(block, "C", process, event.thread)?;
    head(block.text(",\"ts\":")?.time(event.end())?, "memory")?;
    block.text(",\"args\":{\"pageable\":")?.number(pageable)?.text(",\"pinned\":")?.number(pinned)?;
    block.text(",\"device\":")?.number(device)?.text("}").map(drop)
}

/// The record of the process, and of the process that forked it.
pub fn process(block: &mut Block, process: u32, name: &str, parent: u32) -> fmt::Result {
    begin(block, "M", process, process)?;
    head(block, "process_name")?;
    write!(block, ",\"args\":{{\"name\":\"{}\"", Quoted(name, TEXT))?;
    write!(block, ",\"syncedmem\":\"{}\",\"format\":{FORMAT}", env!("CARGO_PKG_VERSION"))?;
    if parent != 0 {
        write!(block, ",\"parent\":{parent}")?;
    }
    block.write_str("}")
}

/// The last record of a process, written when it exits or stops the trace. If it is missing, records may be.
pub fn end(block: &mut Block, process: u32) -> fmt::Result {
    begin(block, "M", process, process)?;
    head(block, END)?.text(",\"args\":{}").map(drop)
}

/// The record of a thread's name.
pub fn thread(block: &mut Block, process: u32, thread: u32, name: &str) -> fmt::Result {
    begin(block, "M", process, thread)?;
    head(block, "thread_name")?;
    write!(block, ",\"args\":{{\"name\":\"{}\"}}", Quoted(name, TEXT))
}

/// The record of an object's name.
pub fn name(block: &mut Block, process: u32, thread: u32, now: u64, object: u64, name: &str) -> fmt::Result {
    note(block, process, thread, now, "object named")?;
    block.text(",\"args\":{\"what\":\"named\",\"object\":")?.address(object)?;
    write!(block, ",\"name\":\"{}\"}}", Quoted(name, TEXT))
}

/// The record of how many items of the batch an object holds.
pub fn items(block: &mut Block, process: u32, thread: u32, now: u64, object: u64, items: u64) -> fmt::Result {
    note(block, process, thread, now, "items of a batch")?;
    block.text(",\"args\":{\"what\":\"items\",\"object\":")?.address(object)?;
    block.text(",\"items\":")?.number(items)?.text("}").map(drop)
}

/// The record of a call site's text.
pub fn site(block: &mut Block, process: u32, thread: u32, now: u64, site: Site, place: &str) -> fmt::Result {
    note(block, process, thread, now, "call site")?;
    write!(block, ",\"args\":{{\"what\":\"site\",\"site\":{},\"place\":\"{}\"}}", site.0, Quoted(place, TEXT))
}

/// The record of what the trace contains from now on: accesses that need nothing, results of comparisons.
pub fn mode(block: &mut Block, process: u32, thread: u32, now: u64, accesses: bool, compares: bool) -> fmt::Result {
    note(block, process, thread, now, "what is told")?;
    write!(block, ",\"args\":{{\"what\":\"mode\",\"accesses\":{accesses},\"compares\":{compares}}}")
}

fn note(block: &mut Block, process: u32, thread: u32, now: u64, title: &str) -> fmt::Result {
    begin(block, "i", process, thread)?;
    head(block.text(",\"ts\":")?.time(now)?.text(",\"s\":\"t\"")?, title).map(drop)
}

fn begin(block: &mut Block, phase: &str, process: u32, thread: u32) -> fmt::Result {
    block.text("{\"ph\":\"")?.text(phase)?.text("\",\"pid\":")?.number(process.into())?;
    block.text(",\"tid\":")?.number(thread.into()).map(drop)
}

fn head<'b>(block: &'b mut Block, title: &str) -> Result<&'b mut Block, fmt::Error> {
    block.text(",\"name\":\"")?.text(title)?.text("\",\"cat\":\"")?.text(CATEGORY)?.text("\"")
}
