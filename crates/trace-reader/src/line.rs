//! Parses one line of a trace.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use syncedmem_trace::event::{Event, Site};
use syncedmem_trace::format::fields::{self, Fields};
use syncedmem_trace::format::{
    chrome::{CATEGORY, END},
    rmm::COLUMNS,
};

use crate::ReadError;

/// The contents of a line.
pub enum Record {
    /// A record of another tool.
    Foreign,
    /// A counter or the end of a flow: for viewers only, the events contain it.
    Drawn,
    /// A process starts.
    Process { process: u32, name: String, parent: Option<u32>, format: u64 },
    /// The end of a process's records.
    End { process: u32 },
    /// A thread's name.
    Thread { process: u32, thread: u32, name: String },
    /// A call site's text.
    Site { process: u32, site: Site, place: String },
    /// An object's name.
    Name { process: u32, time: u64, object: u64, name: String },
    /// How many items of the batch an object holds.
    Items { process: u32, time: u64, object: u64, items: u64 },
    /// The recording mode from then on.
    Mode { process: u32, time: u64, accesses: bool, compares: bool },
    /// An event.
    Event { process: u32, event: Event },
}

/// A record as JSON. Other tools may use any types, so a value is parsed only in the library's own records.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow)]
    ph: Option<&'l RawValue>,
    #[serde(borrow)]
    cat: Option<&'l RawValue>,
    #[serde(borrow)]
    name: Option<&'l RawValue>,
    #[serde(borrow)]
    pid: Option<&'l RawValue>,
    #[serde(borrow)]
    tid: Option<&'l RawValue>,
    #[serde(borrow)]
    ts: Option<&'l RawValue>,
    #[serde(borrow)]
    dur: Option<&'l RawValue>,
    #[serde(borrow)]
    args: Option<&'l RawValue>,
}

/// `args` of the library's records.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Args<'l> {
    #[serde(borrow)]
    what: Cow<'l, str>,
    #[serde(borrow)]
    object: Option<Cow<'l, str>>,
    site: u32,
    took: Option<u64>,
    bytes: Option<u64>,
    copy: Option<u64>,
    items: Option<u64>,
    #[serde(borrow)]
    block: Option<Cow<'l, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'l, str>>,
    #[serde(borrow)]
    origin: Option<Cow<'l, str>>,
    #[serde(borrow)]
    side: Option<Cow<'l, str>>,
    #[serde(borrow)]
    to: Option<Cow<'l, str>>,
    #[serde(borrow)]
    access: Option<Cow<'l, str>>,
    #[serde(borrow)]
    path: Option<Cow<'l, str>>,
    #[serde(borrow)]
    cause: Option<Cow<'l, str>>,
    #[serde(borrow)]
    since: Option<Cow<'l, str>>,
    #[serde(borrow)]
    changed: Option<Cow<'l, str>>,
    #[serde(borrow)]
    noticed: Option<Cow<'l, str>>,
    ready: Option<bool>,
    newest: Option<bool>,
    accesses: Option<bool>,
    compares: Option<bool>,
    #[serde(borrow)]
    name: Option<Cow<'l, str>>,
    #[serde(borrow)]
    place: Option<Cow<'l, str>>,
    format: u64,
    parent: Option<u32>,
}

impl Fields for Args<'_> {
    fn number(&self, key: &str) -> Option<u64> {
        match key {
            "bytes" => self.bytes,
            "copy" => self.copy,
            _ => None,
        }
    }

    fn address(&self, key: &str) -> Option<u64> {
        if key == "block" { address(self.block.as_deref()?) } else { None }
    }

    fn word(&self, key: &str) -> Option<&str> {
        let word = match key {
            "kind" => &self.kind,
            "origin" => &self.origin,
            "side" => &self.side,
            "to" => &self.to,
            "access" => &self.access,
            "path" => &self.path,
            "cause" => &self.cause,
            "since" => &self.since,
            "changed" => &self.changed,
            "noticed" => &self.noticed,
            _ => &None,
        };
        word.as_deref()
    }

    fn flag(&self, key: &str) -> Option<bool> {
        match key {
            "ready" => self.ready,
            "newest" => self.newest,
            _ => None,
        }
    }
}

/// The part of the first line after the bracket.
pub fn after_bracket(line: &[u8]) -> Result<&[u8], ReadError> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.starts_with(COLUMNS.trim_ascii_end().as_bytes()) {
        return Err(ReadError::Csv);
    }
    line.strip_prefix(b"[").ok_or(ReadError::Line(1, "it does not begin with the bracket of a JSON array"))
}

/// Parses a record; `None` for a line without one.
pub fn parse(line: &[u8]) -> Result<Option<Record>, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let line = line.trim_ascii_end().trim_end_matches(',').trim_ascii();
    if matches!(line, "" | "]") {
        return Ok(None);
    }
    // Another tool may have closed the array after its last record.
    let closed = || serde_json::from_str(line.strip_suffix(']')?.trim_ascii_end()).ok();
    let line: Line = serde_json::from_str(line).ok().or_else(closed).ok_or("it is no JSON record")?;
    if text(line.cat).as_deref() != Some(CATEGORY) {
        return Ok(Some(Record::Foreign));
    }
    ours(&line).map(Some).ok_or("a record of libsyncedmem with unknown contents")
}

fn ours(line: &Line) -> Option<Record> {
    let process = number(line.pid)?;
    let phase = text(line.ph)?;
    if !matches!(&*phase, "M" | "X" | "i") {
        return Some(Record::Drawn);
    }
    let thread = number(line.tid)?;
    let args: Args = serde_json::from_str(line.args?.get()).ok()?;
    let name = || args.name.as_deref().map(str::to_owned);
    if phase == "M" {
        return Some(match &*text(line.name)? {
            "process_name" => Record::Process { process, name: name()?, parent: args.parent, format: args.format },
            END => Record::End { process },
            "thread_name" => Record::Thread { process, thread, name: name()? },
            _ => Record::Drawn,
        });
    }
    let start = nanoseconds(line.ts?.get())?;
    let object = match &args.object {
        Some(object) => address(object)?,
        None => 0,
    };
    let site = Site(args.site);
    match &*args.what {
        "named" => return Some(Record::Name { process, time: start, object, name: name()? }),
        "items" => return Some(Record::Items { process, time: start, object, items: args.items? }),
        "mode" => {
            let (accesses, compares) = (args.accesses?, args.compares?);
            return Some(Record::Mode { process, time: start, accesses, compares });
        }
        "site" => return Some(Record::Site { process, site, place: args.place?.into_owned() }),
        _ => {}
    }
    let duration = match (args.took, line.dur) {
        (Some(took), _) => took,
        (None, Some(duration)) => nanoseconds(duration.get())?,
        (None, None) => 0,
    };
    let what = fields::what(&args.what, &args)?;
    Some(Record::Event { process, event: Event { start, duration, thread, object, site, what } })
}

fn text(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let value = value?.get();
    // Without an escape, the text is the part between the quotes.
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str(value).ok().map(Cow::Owned),
    }
}

fn number(value: Option<&RawValue>) -> Option<u32> {
    value?.get().parse().ok()
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Parses microseconds with up to three decimals exactly. A floating-point number would lose nanoseconds on a machine
/// that has been up for some months.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().ok()?;
    if decimals.len() > 3 || !decimals.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let decimals = decimals.bytes().chain(std::iter::repeat(b'0')).take(3);
    let nanoseconds = decimals.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    whole.checked_mul(1000)?.checked_add(nanoseconds)
}
