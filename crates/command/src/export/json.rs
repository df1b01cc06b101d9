//! The Trace Event Format, as a JSON array with one record on each line.
//!
//! "Complete Events" (X) have a duration, "Instant Events" (i) have none, "Counter Events" (C) are the bytes in use. "Flow Events" (s, and
//! f, bound to the slice around it) lead from a push or pull to its completion. "Metadata Events" (M) name processes and threads. Times
//! are microseconds.

use std::io::Write;

use serde_json::{Value, json};
use syncedmem_trace::event::{Event, Origin, Site, What};
use syncedmem_trace_reader::ledger::Ledger;
use syncedmem_trace_reader::{Caffe, End, Item, Note, ReadError};

use super::{Error, fields};
use crate::say;

pub fn write(items: impl Iterator<Item = Result<Item, ReadError>>, output: &mut impl Write) -> Result<(), Error> {
    let mut records =
        Records { output, separator: "[\n", process: 0, start: 0, memory: Ledger::default(), shown: NOTHING_SHOWN };
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
    /// The current one, when it began, and its memory.
    process: u32,
    /// Nanoseconds.
    start: u64,
    memory: Ledger,
    /// The bytes that the last counter showed.
    shown: [u64; 3],
}

impl<W: Write> Records<'_, W> {
    fn item(&mut self, item: Item) -> Result<(), Error> {
        let (process, start) = (self.process, self.start);
        match item {
            Item::Process { process, name, parent, monotonic, .. } => {
                (self.process, self.start) = (process, monotonic);
                (self.memory, self.shown) = (Ledger::default(), NOTHING_SHOWN);
                self.metadata(process, "process_name", json!({ "name": name, "parent": parent }))
            }
            Item::Thread { thread, name } => self.metadata(thread, "thread_name", json!({ "name": name })),
            Item::Site { site, place } => {
                self.note(start, "call site", json!({ "what": "site", "site": site.0, "place": place }))
            }
            Item::Name { time, object, name } => {
                let arguments = json!({ "what": "named", "object": hexadecimal(object), "name": name });
                self.note(time, "object named", arguments)
            }
            Item::Event(event) => self.event(&event),
            Item::Pass(pass) => {
                let arguments = json!({ "what": "pass", "iteration": pass.iteration });
                let rest = json!({ "dur": microseconds(pass.duration), "args": arguments });
                self.record("X", pass.thread, Some(pass.start), pass.kind.name(), rest)
            }
            Item::Step { time, thread, step } => {
                let rest = json!({ "s": "t", "args": json!({ "what": "step", "step": step }) });
                self.record("i", thread, Some(time), "layer", rest)
            }
            Item::Items { object, items } => {
                let arguments = json!({ "what": "items", "object": hexadecimal(object), "items": items });
                self.note(start, "items of a batch", arguments)
            }
            Item::Net(layers) => self.note(start, "net made", json!({ "what": "net", "layers": layers })),
            Item::Note(note) => {
                let arguments = match note {
                    Note::Command(command) => json!({ "command": command }),
                    Note::Host(host) => json!({ "host": host }),
                    Note::Setting(setting) => json!({ "setting": setting }),
                    Note::Limit { name, bytes } => json!({ "limit": name, "bytes": bytes }),
                    Note::Caffe(Caffe { file, reaches, taken_over, for_names: _ }) => {
                        json!({ "caffe": file, "reaches_the_library": reaches, "functions_taken_over": taken_over })
                    }
                };
                self.metadata(process, "syncedmem_about", arguments)
            }
            Item::Frames { .. } | Item::Module { .. } => Ok(()),
            Item::End(End { header, gave_way, .. }) => {
                let is_whole = header.end.is_some() && header.cut.is_none();
                let peaks = kinds(header.peaks.map(|(peak, _)| peak));
                let arguments = json!({ "whole": is_whole, "gave_way": gave_way, "lost": header.lost, "peaks": peaks });
                self.metadata(process, "syncedmem_end", arguments)
            }
        }
    }

    fn metadata(&mut self, thread: u32, name: &str, arguments: Value) -> Result<(), Error> {
        self.record("M", thread, None, name, json!({ "args": arguments }))
    }

    /// An instant of the process that says what others mean.
    fn note(&mut self, time: u64, name: &str, arguments: Value) -> Result<(), Error> {
        self.record("i", self.process, Some(time), name, json!({ "s": "p", "args": arguments }))
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        let (flow, is_slice, thread) = (flow_phase(event), is_slice(event), event.thread);
        // A flow binds to a slice with a duration: an unmeasured slice gets the shortest one.
        let duration = is_slice.then(|| microseconds(event.duration.max(flow.is_some().into())));
        let (phase, scope) = if is_slice { ("X", None) } else { ("i", Some("t")) };
        let arguments = arguments(event, is_slice);
        let title = fields::title(&arguments);
        let rest = json!({ "dur": duration, "s": scope, "args": arguments });
        self.record(phase, thread, Some(event.start), &title, rest)?;
        if let Some((phase, copy)) = flow {
            // Viewers identify a flow by name and number alone.
            let number = u64::from(self.process) << 40 | copy & ((1 << 40) - 1);
            let bound = (phase == "f").then_some("e");
            let rest = json!({ "id": hexadecimal(number), "bp": bound });
            self.record(phase, thread, Some(event.start), "copy in flight", rest)?;
        }
        self.memory.take(event);
        let live = self.memory.live();
        if live == self.shown {
            return Ok(());
        }
        self.shown = live;
        self.record("C", thread, Some(event.end()), "memory", json!({ "args": kinds(live) }))
    }

    /// Fields without a value are left out. `time`: nanoseconds; `None` for metadata.
    fn record(&mut self, phase: &str, thread: u32, time: Option<u64>, name: &str, rest: Value) -> Result<(), Error> {
        let time = time.map(microseconds);
        let mut record =
            json!({ "ph": phase, "pid": self.process, "tid": thread, "ts": time, "name": name, "cat": "syncedmem" });
        if let (Value::Object(record), Value::Object(rest)) = (&mut record, rest) {
            record.extend(rest);
        }
        drop_missing(&mut record);
        write!(self.output, "{}{}", self.separator, say::plain(record))?;
        self.separator = ",\n";
        Ok(())
    }
}

fn drop_missing(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(drop_missing);
    }
}

fn arguments(event: &Event, is_slice: bool) -> Value {
    let mut all = fields::of(&event.what);
    if event.object != 0 {
        all["object"] = hexadecimal(event.object).into();
    }
    if event.site != Site::UNKNOWN {
        all["site"] = event.site.0.into();
    }
    if is_slice && event.duration == 0 {
        all["took"] = 0.into();
    }
    all
}

fn kinds([pageable, pinned, device]: [u64; 3]) -> Value {
    json!({ "pageable": pageable, "pinned": pinned, "device": device })
}

fn hexadecimal(number: u64) -> String {
    format!("{number:#x}")
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

fn is_slice(event: &Event) -> bool {
    let takes_time = matches!(
        event.what,
        What::Copied { .. }
            | What::Started { .. }
            | What::Completed { .. }
            | What::Filled { .. }
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
