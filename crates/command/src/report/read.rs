//! Reads a trace into the facts of each of its processes.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use syncedmem_trace::event::Site;

use super::amount::Counted;
use super::facts::{Process, Trace};
use super::gather::Gathering;
use super::input;
use syncedmem_trace_reader::{Item, Notes, ReadError, Reader};

/// A process that is being read.
struct Open {
    id: u32,
    name: String,
    gathering: Gathering,
    places: HashMap<Site, String>,
}

impl Open {
    fn new(id: u32, name: String) -> Open {
        Open { id, name, gathering: Gathering::new(), places: HashMap::new() }
    }

    fn finish(self) -> Process {
        let Open { id, name, gathering, places } = self;
        gathering.finish(id, name, places)
    }
}

/// Reads a file, or standard input.
pub fn file(path: &Path) -> Result<Trace, ReadError> {
    let name = input::name(path.file_name().map_or(path, Path::new));
    all(Reader::new(input::open(path).map_err(ReadError::System)?), name)
}

fn all<R: BufRead>(mut reader: Reader<R>, name: String) -> Result<Trace, ReadError> {
    // All processes in the order of their starts, and the running ones by id.
    let (mut all, mut going_on): (Vec<Open>, HashMap<u32, usize>) = (Vec::new(), HashMap::new());
    for item in reader.by_ref() {
        match item? {
            Item::Process { process, name, .. } => {
                going_on.insert(process, all.len());
                all.push(Open::new(process, name));
            }
            Item::Site { process, site, place } => {
                of(&mut all, &mut going_on, process).places.insert(site, place);
            }
            Item::Name { process, object, name } => of(&mut all, &mut going_on, process).gathering.name(object, &name),
            Item::Event { process, event } => of(&mut all, &mut going_on, process).gathering.take(&event),
            Item::Mode { process, accesses, compares } => {
                of(&mut all, &mut going_on, process).gathering.watches(accesses, compares);
            }
            Item::Thread { .. } => {}
        }
    }
    let notes = sentences(&reader.notes());
    // A process without events has nothing to report.
    let processes = all.into_iter().map(Open::finish).filter(|process| process.events > 0).collect();
    Ok(Trace { name, processes, notes })
}

/// The process with that id; creates one without a name if the trace lacks its start.
fn of<'a>(all: &'a mut Vec<Open>, going_on: &mut HashMap<u32, usize>, process: u32) -> &'a mut Open {
    let place = *going_on.entry(process).or_insert_with(|| {
        all.push(Open::new(process, String::new()));
        all.len() - 1
    });
    &mut all[place]
}

/// The trace's faults as sentences.
fn sentences(notes: &Notes) -> Vec<String> {
    let mut sentences = Vec::new();
    if notes.incomplete {
        sentences.push(
            "The last record is incomplete: its process ended, or the disk was full, while it was written.".to_string(),
        );
    }
    if let (count @ 1.., first) = notes.unended {
        let processes = Counted(count, "process has no end", "processes have no end");
        let first = if count == 1 { format!("process {first}") } else { format!("process {first} first") };
        sentences.push(format!(
            "{processes} in the trace ({first}), so events after the last record may be missing: it was killed, ended by \
             _exit or exec, still runs, or the disk was full."
        ));
    }
    if notes.damaged > 0 {
        let damaged = Counted(notes.damaged, "line is no record and was", "lines are no records and were");
        sentences.push(format!("{damaged} passed over, line {} first.", notes.first_damaged));
    }
    if notes.late > 0 {
        let late = Counted(notes.late, "event stands", "events stand");
        sentences.push(format!("{late} too late in the trace: peaks and advice near them may be slightly wrong."));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::super::facts::NO_PLACE;
    use super::*;

    const BEGIN: &str = "[\n";

    fn process(id: u32, name: &str) -> String {
        format!(
            "{{\"ph\":\"M\",\"pid\":{id},\"tid\":{id},\"name\":\"process_name\",\"cat\":\"syncedmem\",\
             \"args\":{{\"name\":\"{name}\",\"syncedmem\":\"0.1.0\",\"format\":1}}}},\n"
        )
    }

    fn allocated(id: u32, object: u64, bytes: u64) -> String {
        format!(
            "{{\"ph\":\"X\",\"pid\":{id},\"tid\":{id},\"ts\":5.000,\"dur\":1.500,\"name\":\"allocate device\",\"cat\":\"syncedmem\",\
             \"args\":{{\"what\":\"allocated\",\"object\":\"{object:#x}\",\"site\":7,\"kind\":\"device\",\"bytes\":{bytes},\
             \"block\":\"0x10\",\"origin\":\"fresh\"}}}},\n"
        )
    }

    fn place(id: u32, text: &str) -> String {
        format!(
            "{{\"ph\":\"i\",\"pid\":{id},\"tid\":{id},\"ts\":4.000,\"s\":\"t\",\"name\":\"call site\",\"cat\":\"syncedmem\",\
             \"args\":{{\"what\":\"site\",\"site\":7,\"place\":\"{text}\"}}}},\n"
        )
    }

    fn end(id: u32) -> String {
        format!(
            "{{\"ph\":\"M\",\"pid\":{id},\"tid\":{id},\"name\":\"syncedmem_end\",\"cat\":\"syncedmem\",\"args\":{{}}}},\n"
        )
    }

    fn read(lines: &[String]) -> Trace {
        let text = format!("{BEGIN}{}", lines.concat());
        all(Reader::new(text.as_bytes()), "a".to_string()).expect("a trace")
    }

    #[test]
    fn each_process_has_its_own_events_and_places() {
        let lines = [
            process(1, "one"),
            process(2, "two"),
            process(3, "idle"),
            place(1, "here"),
            allocated(1, 0x100, 64),
            place(2, "there"),
            allocated(2, 0x100, 128),
            end(3),
            end(1),
            end(2),
        ];
        let trace = read(&lines);
        let told: Vec<_> = trace.processes.iter().map(|p| (p.id, &*p.name, p.events, &*p.callers[0].who)).collect();
        assert_eq!(told, [(1, "one", 1, "here"), (2, "two", 1, "there")]);
        assert_eq!(trace.processes[1].summary.account.memory(syncedmem_trace::kind::Kind::Device).peak, 128);
        assert!(trace.notes.is_empty());
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let trace = read(&[process(1, "one"), allocated(1, 0x100, 64), process(1, "again"), allocated(1, 0x100, 32)]);
        let told: Vec<_> = trace.processes.iter().map(|p| (p.id, &*p.name, p.events)).collect();
        assert_eq!(told, [(1, "one", 1), (1, "again", 1)]);
    }

    #[test]
    fn places_that_were_not_taken_down_are_called_so() {
        let trace = read(&[process(1, "one"), allocated(1, 0x100, 64)]);
        assert_eq!(trace.processes[0].callers[0].who, NO_PLACE);
    }

    #[test]
    fn what_is_wrong_with_a_trace_is_said() {
        let cut = allocated(1, 0x100, 64)[..40].to_string();
        let trace = read(&[process(1, "one"), allocated(1, 0x100, 64), "{\"ph\":\n".to_string(), end(1), cut]);
        assert_eq!(trace.notes.len(), 2);
        assert!(trace.notes[0].contains("incomplete"), "{:?}", trace.notes);
        assert!(trace.notes[1].contains("1 line is no record and was passed over, line 4 first"), "{:?}", trace.notes);
    }

    #[test]
    fn a_process_without_an_end_is_said_to_have_been_cut() {
        let lines = [process(1, "one"), process(2, "two"), allocated(1, 0x100, 64), end(2)];
        let notes = read(&lines).notes;
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].starts_with("1 process has no end in the trace (process 1), "), "{notes:?}");
        let again = [process(1, "one"), end(1), process(1, "again"), process(2, "two")];
        let notes = read(&again).notes;
        assert!(notes[0].starts_with("2 processes have no end in the trace (process 1 first), "), "{notes:?}");
    }
}
