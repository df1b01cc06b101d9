//! The Trace Event Format, as a JSON array with one record on each line.
//!
//! "Complete Events" (X) have a duration, "Instant Events" (i) have none, "Counter Events" (C) are the bytes in use. "Flow Events" (s, and
//! f, bound to the slice around it) lead from a push or pull to its completion. "Metadata Events" (M) name processes and threads. Times
//! are microseconds with three decimals.

use std::fmt::{self, Write as _};
use std::io::Write;

use serde_json::{Value, json};
use syncedmem_analysis::ledger::Ledger;
use syncedmem_trace::event::{Event, Origin, Pass, Site, What};
use syncedmem_trace::kind::Kind;
use syncedmem_trace_reader::{Caffe, End, Item, Note, ReadError};

use super::Error;
use super::fields::{Fields, Title};

pub fn write(items: impl Iterator<Item = Result<Item, ReadError>>, output: &mut impl Write) -> Result<(), Error> {
    let mut records = Records { output, separator: "[\n", start: 0, memory: Ledger::default(), shown: NOTHING_SHOWN };
    for item in items {
        records.item(item?)?;
    }
    let Records { output, separator, .. } = records;
    // Without a record, the array is still to be opened.
    Ok(write!(output, "{}\n]\n", if separator == "[\n" { "[" } else { "" })?)
}

const NOTHING_SHOWN: [u64; 3] = [u64::MAX; 3];

struct Records<'o, W> {
    output: &'o mut W,
    separator: &'static str,
    /// Nanoseconds. This and `memory` are the current process's.
    start: u64,
    memory: Ledger,
    /// The bytes that the last counter showed.
    shown: [u64; 3],
}

struct Head<N> {
    phase: &'static str,
    process: u32,
    thread: u32,
    /// Nanoseconds; `None` for metadata.
    time: Option<u64>,
    name: N,
}

impl<W: Write> Records<'_, W> {
    fn item(&mut self, item: Item) -> Result<(), Error> {
        let metadata = |process, thread, name| Head { phase: "M", process, thread, time: None, name };
        match item {
            Item::Process { process, name, parent, monotonic, .. } => {
                (self.start, self.memory, self.shown) = (monotonic, Ledger::default(), NOTHING_SHOWN);
                let name = Quoted(&name);
                let parent = parent.map(|parent| format!(",\"parent\":{parent}")).unwrap_or_default();
                self.record(
                    metadata(process, process, "process_name"),
                    format_args!(",\"args\":{{\"name\":{name}{parent}}}"),
                )
            }
            Item::Thread { process, thread, name } => {
                let name = Quoted(&name);
                self.record(metadata(process, thread, "thread_name"), format_args!(",\"args\":{{\"name\":{name}}}"))
            }
            Item::Site { process, site, place } => {
                let place = Quoted(&place);
                let arguments = format_args!("\"site\",\"site\":{},\"place\":{place}", site.0);
                self.note(process, self.start, "call site", arguments)
            }
            Item::Name { process, time, object, name } => {
                let name = Quoted(&name);
                let arguments = format_args!("\"named\",\"object\":\"{object:#x}\",\"name\":{name}");
                self.note(process, time, "object named", arguments)
            }
            Item::Mode { process, time, accesses, compares } => {
                let arguments = format_args!("\"mode\",\"accesses\":{accesses},\"compares\":{compares}");
                self.note(process, time, "recording mode", arguments)
            }
            Item::Event { process, event } => self.event(process, &event),
            Item::Pass { process, pass: Pass { start, duration, thread, kind, iteration } } => {
                let head = Head { phase: "X", process, thread, time: Some(start), name: kind.name() };
                let iteration = iteration.map(|iteration| format!(",\"iteration\":{iteration}")).unwrap_or_default();
                let duration = Time(duration);
                self.record(head, format_args!(",\"dur\":{duration},\"args\":{{\"what\":\"pass\"{iteration}}}"))
            }
            Item::Items { process, object, items } => {
                let arguments = format_args!("\"items\",\"object\":\"{object:#x}\",\"items\":{items}");
                self.note(process, self.start, "items of a batch", arguments)
            }
            Item::Net { process, layers } => {
                self.note(process, self.start, "net made", format_args!("\"net\",\"layers\":{}", Quoted(&layers)))
            }
            Item::Note { process, note } => {
                let arguments = note_arguments(note);
                self.record(metadata(process, process, "syncedmem_about"), format_args!(",\"args\":{arguments}"))
            }
            Item::Frames { .. } | Item::Module { .. } => Ok(()),
            Item::End(End { process, header, gave_way, .. }) => {
                let (is_whole, lost) = (header.end.is_some() && header.cut.is_none(), header.lost);
                let [pageable, pinned, device] = Kind::ALL.map(|kind| header.account.memory(kind).peak);
                let peaks = format_args!("{{\"pageable\":{pageable},\"pinned\":{pinned},\"device\":{device}}}");
                let arguments =
                    format_args!("{{\"whole\":{is_whole},\"gave_way\":{gave_way},\"lost\":{lost},\"peaks\":{peaks}}}");
                self.record(metadata(process, process, "syncedmem_end"), format_args!(",\"args\":{arguments}"))
            }
        }
    }

    /// An instant of the process that says what others mean.
    fn note(&mut self, process: u32, time: u64, name: &'static str, arguments: fmt::Arguments) -> Result<(), Error> {
        let head = Head { phase: "i", process, thread: process, time: Some(time), name };
        self.record(head, format_args!(",\"s\":\"p\",\"args\":{{\"what\":{arguments}}}"))
    }

    fn event(&mut self, process: u32, event: &Event) -> Result<(), Error> {
        let flow = flow_phase(event);
        let is_slice = is_slice(event);
        let (phase, thread) = (if is_slice { "X" } else { "i" }, event.thread);
        let head = Head { phase, process, thread, time: Some(event.start), name: Title(&event.what) };
        // A flow binds to a slice with a duration: an unmeasured slice gets the shortest one.
        let duration = Time(event.duration.max(flow.is_some().into()));
        let arguments = Arguments { event, is_slice };
        match is_slice {
            true => self.record(head, format_args!(",\"dur\":{duration},\"args\":{arguments}"))?,
            false => self.record(head, format_args!(",\"s\":\"t\",\"args\":{arguments}"))?,
        }
        if let Some((phase, copy)) = flow {
            // Viewers identify a flow by name and number alone.
            let number = u64::from(process) << 40 | copy & ((1 << 40) - 1);
            let bound = if phase == "f" { ",\"bp\":\"e\"" } else { "" };
            let head = Head { phase, process, thread, time: Some(event.start), name: "copy in flight" };
            self.record(head, format_args!(",\"id\":\"{number:#x}\"{bound}"))?;
        }
        self.memory.take(event);
        let live = self.memory.live();
        if live == self.shown {
            return Ok(());
        }
        self.shown = live;
        let [pageable, pinned, device] = live;
        self.record(
            Head { phase: "C", process, thread, time: Some(event.end()), name: "memory" },
            format_args!(",\"args\":{{\"pageable\":{pageable},\"pinned\":{pinned},\"device\":{device}}}"),
        )
    }

    fn record(&mut self, head: Head<impl fmt::Display>, rest: fmt::Arguments) -> Result<(), Error> {
        let Head { phase, process, thread, time, name } = head;
        write!(self.output, "{}{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},", self.separator)?;
        if let Some(time) = time {
            write!(self.output, "\"ts\":{},", Time(time))?;
        }
        self.separator = ",\n";
        Ok(write!(self.output, "\"name\":\"{name}\",\"cat\":\"syncedmem\"{rest}}}")?)
    }
}

fn note_arguments(note: Note) -> Value {
    match note {
        Note::Command(command) => json!({ "command": command }),
        Note::Host(host) => json!({ "host": host }),
        Note::Setting(setting) => json!({ "setting": setting }),
        Note::Limit { name, bytes } => json!({ "limit": name, "bytes": bytes }),
        Note::Caffe(Caffe { file, reaches, taken_over }) => {
            json!({ "caffe": file, "reaches_the_library": reaches, "functions_taken_over": taken_over })
        }
    }
}

fn is_slice(event: &Event) -> bool {
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

/// The end of a flow that an event is, and the number of its copy.
fn flow_phase(event: &Event) -> Option<(&'static str, u64)> {
    match event.what {
        What::Started { copy, .. } => Some(("s", copy)),
        What::Completed { copy, .. } => Some(("f", copy)),
        _ => None,
    }
}

struct Arguments<'e> {
    event: &'e Event,
    is_slice: bool,
}

impl fmt::Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event { object, site, duration, what, .. } = self.event;
        let mut common = String::new();
        if *object != 0 {
            write!(common, ",\"object\":\"{object:#x}\"")?;
        }
        if *site != Site::UNKNOWN {
            write!(common, ",\"site\":{}", site.0)?;
        }
        if self.is_slice && *duration == 0 {
            common.push_str(",\"took\":0");
        }
        write!(f, "{{\"what\":{}}}", Fields { what, common: &common })
    }
}

/// From nanoseconds to microseconds.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self.0).map_err(|_| fmt::Error)?)
    }
}
