//! `syncedmem export`: the Trace Event Format, as a JSON array with one record on each line.
//!
//! "Complete Events" (X) have a duration, "Instant Events" (i) have none, and "Counter Events" (C) are the bytes in use. "Flow
//! Events" (s and f, bound to the slice around it) lead from a push or pull to its completion. "Metadata Events" (M) name
//! processes and threads. Times are microseconds.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};
use serde_json::{Value, json};
use syncedmem_core::head::Access;
use syncedmem_trace::event::{Cause, Event, Noticed, Origin, Site, What};
use syncedmem_trace_reader::ledger::Ledger;
use syncedmem_trace_reader::{Caffe, End, Item, Note, ReadError, Reader};

use crate::output::{self, STANDARD, is_standard};
use crate::report::input::{self, Input};
use crate::say;

/// Write a recording as JSON, for Perfetto.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem export train.trace --to json
      writes train.json, for https://ui.perfetto.dev")]
pub struct Options {
    /// A trace of `syncedmem run --trace` or SYNCEDMEM_TRACE, a folder of such files, or a trace that gzip has compressed; `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// The Trace Event Format of Perfetto and chrome://tracing.
    #[arg(long = "to", value_name = "FORMAT", value_parser = ["json"], default_value = "json")]
    _format: String,
    /// The file to write; `-` is standard output [default: beside the trace].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

pub fn run(options: &Options) -> ExitCode {
    let Options { trace, output, .. } = options;
    let beside = || if is_standard(trace) { STANDARD.into() } else { trace.with_extension("json") };
    let output = output.clone().unwrap_or_else(beside);
    let exported = Input::open(trace).and_then(|input| {
        input.note().iter().for_each(|note| say::error(format_args!("{}: {note}", input::name(trace))));
        input.reader()
    });
    match exported.map_err(Error::from).and_then(|reader| file(reader, &output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Write(error)) => say::not_written(&output, &error),
        Err(Error::Read(error)) => say::failed(format_args!("{}: {error}", input::name(trace))),
    }
}

#[derive(Debug)]
enum Error {
    Read(ReadError),
    Write(io::Error),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Write(error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Error {
        Error::Read(error)
    }
}

fn file(reader: Reader, output: &Path) -> Result<(), Error> {
    output::to(output, |output| {
        let mut output = BufWriter::with_capacity(1 << 18, output);
        write(reader, &mut output)?;
        Ok(output.flush()?)
    })
}

fn write(items: impl Iterator<Item = Result<Item, ReadError>>, output: &mut impl Write) -> Result<(), Error> {
    let mut records =
        Records { output, separator: "[\n", process: 0, start: 0, memory: Ledger::default(), shown: NOTHING_SHOWN };
    for item in items {
        records.item(item?)?;
    }
    let Records { output, separator, .. } = records;
    // If there is no record, the array has not been opened.
    Ok(write!(output, "{}\n]\n", if separator == "[\n" { "[" } else { "" })?)
}

const NOTHING_SHOWN: [u64; 3] = [u64::MAX; 3];

struct Records<'o, W> {
    output: &'o mut W,
    separator: &'static str,
    /// The current process.
    process: u32,
    /// Start of the process in nanoseconds.
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

    /// Writes an instant of the process that explains other records.
    fn note(&mut self, time: u64, name: &str, arguments: Value) -> Result<(), Error> {
        self.record("i", self.process, Some(time), name, json!({ "s": "p", "args": arguments }))
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        let (flow, is_slice, thread) = (flow_phase(event), is_slice(event), event.thread);
        // A flow needs a slice with a duration: an unmeasured slice gets the shortest one.
        let duration = is_slice.then(|| microseconds(event.duration.max(flow.is_some().into())));
        let (phase, scope) = if is_slice { ("X", None) } else { ("i", Some("t")) };
        let arguments = arguments(event, is_slice);
        let title = title(&arguments);
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

    /// Writes a record without the fields that have no value. `time` is in nanoseconds; `None` for metadata.
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
    let mut all = fields(&event.what);
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

/// Whether an event begins or ends a flow, and the number of its copy.
fn flow_phase(event: &Event) -> Option<(&'static str, u64)> {
    match event.what {
        What::Started { copy, .. } => Some(("s", copy)),
        What::Completed { copy, .. } => Some(("f", copy)),
        _ => None,
    }
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Overwrite => "overwrite",
    }
}

/// The name of the event, and its fields.
fn fields(what: &What) -> Value {
    match *what {
        What::Made { bytes, noticed } => {
            let noticed = if noticed == Noticed::Construction { "construction" } else { "first access" };
            json!({ "what": "made", "bytes": bytes, "noticed": noticed })
        }
        What::Ended => json!({ "what": "ended" }),
        What::Resized { bytes } => json!({ "what": "resized", "bytes": bytes }),
        What::Accessed { side, access } => {
            json!({ "what": "accessed", "side": side.name(), "access": access_name(access) })
        }
        What::Allocated { kind, bytes, block, origin } => {
            let block = format!("{block:#x}");
            json!({ "what": "allocated", "kind": kind.name(), "bytes": bytes, "block": block, "origin": origin.name() })
        }
        What::Freed { kind, bytes, block } => {
            json!({ "what": "freed", "kind": kind.name(), "bytes": bytes, "block": format!("{block:#x}") })
        }
        What::Filled { side, bytes } => json!({ "what": "filled", "side": side.name(), "bytes": bytes }),
        What::Copied { to, bytes, path, cause } => {
            let cause = match cause {
                Cause::Access(access) => access_name(access),
                Cause::Stream => "stream",
            };
            json!({ "what": "copied", "to": to.name(), "bytes": bytes, "path": path.name(), "cause": cause })
        }
        What::Started { to, bytes, path, copy } => {
            json!({ "what": "started", "to": to.name(), "bytes": bytes, "path": path.name(), "copy": copy })
        }
        What::Completed { to, copy } => json!({ "what": "completed", "to": to.name(), "copy": copy }),
        What::Lent { side } => json!({ "what": "lent", "side": side.name() }),
        What::Released { side } => json!({ "what": "released", "side": side.name() }),
        What::Synchronised => json!({ "what": "synchronised" }),
        What::Failed { side, bytes, refusal, limit } => {
            let (side, refusal) = (side.name(), refusal.name());
            json!({ "what": "failed", "side": side, "bytes": bytes, "refused_by": refusal, "limit": limit })
        }
    }
}

/// The title of a record: `copied to host`, `allocated pageable, pool`
fn title(fields: &Value) -> String {
    let word = |name: &str| fields[name].as_str();
    let mut title = word("what").unwrap_or_default().to_string();
    for (before, name) in [(" to ", "to"), (" ", "side"), (" ", "kind"), (", ", "origin")] {
        title.extend(word(name).map(|word| format!("{before}{word}")));
    }
    title
}
