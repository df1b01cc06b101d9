//! Reads recordings into the facts of each of their processes.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use syncedmem_trace::event::Site;
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::Size;

use super::amount::Counted;
use super::facts::{Ending, How, Process, Trace};
use super::gather::Gathering;
use super::input;
use syncedmem_trace_reader::{End, Item, ReadError, Reader};

/// A process that is being read.
pub struct Open {
    id: u32,
    name: String,
    /// Nanoseconds of CLOCK_MONOTONIC.
    start: u64,
    gathering: Gathering,
    places: HashMap<Site, String>,
    ending: Ending,
    notes: Vec<String>,
}

impl Open {
    pub fn new() -> Open {
        let (name, gathering, places) = (String::new(), Gathering::new(), HashMap::new());
        Open { id: 0, name, start: 0, gathering, places, ending: Ending::default(), notes: Vec::new() }
    }

    /// Takes the next item of this process.
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Process { process, name, monotonic, .. } => (self.id, self.name, self.start) = (process, name, monotonic),
            Item::Site { site, place, .. } => drop(self.places.insert(site, place)),
            Item::Name { object, name, .. } => self.gathering.name(object, &name),
            Item::Event { event, .. } => self.gathering.take(&event),
            Item::Mode { accesses, compares, .. } => self.gathering.watches(accesses, compares),
            Item::End(end) => self.end(&end),
            Item::Thread { .. } | Item::Items { .. } | Item::Frames { .. } | Item::Module { .. } => {}
        }
    }

    fn end(&mut self, end: &End) {
        let how = match (end.header.cut, end.header.end) {
            (Some(errno), _) => How::Cut(io::Error::from_raw_os_error(errno).to_string()),
            (None, Some(_)) => How::Whole,
            (None, None) => How::Unknown,
        };
        let known = end.header.end;
        self.ending = Ending {
            how,
            resident_peak: known.map(|end| end.peak_resident),
            elapsed: known.map(|end| end.time.saturating_sub(self.start)),
            processor_time: known.map(|end| end.processor_time),
            growing: None,
        };
        self.notes = sentences(&self.name, end);
    }

    fn finish(self) -> (Process, Vec<String>) {
        let Open { id, name, gathering, places, ending, notes, .. } = self;
        let process = gathering.finish(id, name, places);
        let growing = process.ending.growing.clone();
        (Process { ending: Ending { growing, ..ending }, ..process }, notes)
    }
}

/// Reads a recording with its family, the recordings in a folder, or standard input.
pub fn file(path: &Path) -> Result<Trace, ReadError> {
    let name = input::name(path.file_name().map_or(path, Path::new));
    all(input::open(path)?, name)
}

fn all(mut reader: Reader, name: String) -> Result<Trace, ReadError> {
    let mut trace = Trace { name, ..Trace::default() };
    let mut open = Open::new();
    while let Some(item) = reader.next() {
        let item = item?;
        let is_last = matches!(item, Item::End(_));
        open.take(item);
        if is_last {
            trace.add(std::mem::replace(&mut open, Open::new()));
        }
    }
    trace.notes.extend(reader.unreadable().iter().map(|(path, error)| format!("{}: {error}", path.display())));
    Ok(trace)
}

impl Trace {
    /// Adds a process that was read to its end. One without events has nothing to report.
    pub fn add(&mut self, open: Open) {
        let (process, notes) = open.finish();
        if process.events > 0 {
            self.processes.push(process);
        }
        self.notes.extend(notes);
    }
}

/// What a recording of `program` lacks, as sentences.
fn sentences(program: &str, end: &End) -> Vec<String> {
    let End { process, header, gave_way, unfinished, unknown } = end;
    let mut sentences = Vec::new();
    if *gave_way > 0 {
        let gave_way = Counted(*gave_way, "record gave way to a newer one", "records gave way to newer ones");
        let peaks = Kind::ALL.map(|kind| format!("{} {}", Size(header.memory[kind as usize].peak), kind.name()));
        sentences.push(format!(
            "the oldest {gave_way} (SYNCEDMEM_TRACE_SIZE, --trace-size): holders and sums are those of the rest. The peaks of the whole \
             were {}.",
            peaks.join(", ")
        ));
    }
    if header.lost > 0 {
        let lost = Counted(header.lost, "event was not recorded", "events were not recorded");
        sentences.push(format!("{lost}: there was no space for it, or it was in a signal handler that could not wait."));
    }
    // Without space, every later record is one that was begun.
    if *unfinished > 0 && header.cut.is_none() {
        let unfinished = Counted(*unfinished, "record was begun and not finished", "records were begun and not finished");
        sentences.push(format!("{unfinished}: the process ended meanwhile."));
    }
    if *unknown > 0 {
        let unknown = Counted(*unknown, "record is", "records are");
        sentences.push(format!("{unknown} damaged, or of a newer libsyncedmem: use the command that belongs to it."));
    }
    sentences.iter().map(|sentence| format!("{program} (process {process}): {sentence}")).collect()
}
