//! Reads recordings into the facts of each of their processes.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::Site;

use super::about::About;
use super::facts::{Ending, How, Process, Trace};
use super::functions::{Module, Stacks};
use super::gather::Gathering;
use super::input::Input;
use super::sentences::Counted;
use syncedmem_trace_reader::{End, Item, ReadError, Reader};

#[derive(Default)]
pub struct Open {
    id: u32,
    name: String,
    /// The start, in nanoseconds of CLOCK_MONOTONIC.
    start: u64,
    gathering: Gathering,
    places: HashMap<Site, String>,
    stacks: Stacks,
    ending: Ending,
    about: About,
    notes: Vec<String>,
}

impl Open {
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Process { process, name, monotonic, realtime, .. } => {
                (self.id, self.name, self.start) = (process, name, monotonic);
                self.about.started = realtime;
            }
            Item::Note(note) => self.about.take(note),
            Item::Site { site, place } => drop(self.places.insert(site, place)),
            Item::Name { object, name, .. } => self.gathering.name(object, &name),
            Item::Net(layers) => self.gathering.net(&layers),
            Item::Event(event) => self.gathering.take(&event),
            Item::Pass(pass) => self.gathering.pass(&pass),
            Item::Step { thread, step, .. } => self.gathering.step(thread, step),
            Item::End(end) => self.end(&end),
            Item::Items { object, items } => self.gathering.items(object, items),
            Item::Frames { site, addresses } => drop(self.stacks.addresses.insert(site, addresses)),
            Item::Module { start: bias, build_id, path } => {
                self.stacks.modules.push(Module { bias, build_id, path: path.into() });
            }
            Item::Thread { .. } => {}
        }
    }

    fn end(&mut self, end: &End) {
        let how = match (end.header.cut, end.header.end) {
            (Some(errno), _) => How::Cut(io::Error::from_raw_os_error(errno).to_string()),
            (None, Some(_)) => How::Whole,
            (None, None) => How::Unknown,
        };
        if end.gave_way > 0 {
            for kind in Kind::ALL {
                let (peak, time) = end.header.peaks[kind as usize];
                self.gathering.raise_peak(kind, peak, time);
            }
        }
        self.about.library.clone_from(&end.header.about.library);
        let known = end.header.end;
        self.ending = Ending {
            how,
            resident_peak: known.map(|end| end.peak_resident),
            address_space_peak: known.map(|end| end.peak_address_space),
            elapsed: known.map(|end| end.time.saturating_sub(self.start)),
            processor_time: known.map(|end| end.processor_time),
            ..Ending::default()
        };
        self.notes = sentences(&self.name, end);
    }

    fn finish(self) -> (Process, Vec<String>) {
        let Open { id, name, gathering, mut places, stacks, ending, about, notes, .. } = self;
        stacks.name(&mut places);
        let process = gathering.finish(id, name, places);
        let growing = process.ending.growing.clone();
        (Process { ending: Ending { growing, ..ending }, about, ..process }, notes)
    }
}

/// Reads a recording with its family, a folder of recordings, or standard input.
pub fn file(path: &Path) -> Result<Trace, ReadError> {
    read(Input::open(path)?)
}

pub fn read(input: Input) -> Result<Trace, ReadError> {
    let (name, note) = (input.name(), input.note());
    let mut trace = of(input.reader()?, Vec::new(), name)?;
    trace.notes.splice(..0, note);
    Ok(trace)
}

/// Reads the recordings in a folder. Those that were followed have been read already.
pub fn folder(folder: &Path, followed: Vec<(PathBuf, Open)>) -> Result<Trace, ReadError> {
    let (files, followed): (Vec<_>, Vec<_>) = followed.into_iter().unzip();
    of(Reader::open(folder)?.without(&files), followed, String::new())
}

fn of(mut reader: Reader, mut processes: Vec<Open>, name: String) -> Result<Trace, ReadError> {
    let mut open = Open::default();
    for item in reader.by_ref() {
        let item = item?;
        let is_last = matches!(item, Item::End(_));
        open.take(item);
        if is_last {
            processes.push(std::mem::take(&mut open));
        }
    }
    processes.sort_by_key(|process| (process.start, process.id));
    let mut trace = Trace { name, ..Trace::default() };
    processes.into_iter().for_each(|process| trace.add(process));
    trace.notes.extend(reader.unreadable().iter().map(|(path, error)| format!("{}: {error}", path.display())));
    Ok(trace)
}

impl Trace {
    /// Adds a process that has events, or whose Caffe cannot call the library.
    fn add(&mut self, open: Open) {
        let (process, notes) = open.finish();
        if process.events > 0 || process.is_unseen() {
            self.processes.push(process);
        } else if let How::Cut(why) = process.ending.how {
            self.notes.push(format!(
                "{} (process {}): nothing was recorded: {why}; make room, or record elsewhere",
                process.name, process.id
            ));
        }
        self.notes.extend(notes);
    }
}

fn sentences(program: &str, end: &End) -> Vec<String> {
    let End { process, header, gave_way, unfinished, unknown } = end;
    let mut sentences = Vec::new();
    if *gave_way > 0 {
        let gave_way =
            Counted(*gave_way, "record was overwritten by a newer one", "records were overwritten by newer ones");
        sentences.push(format!(
            "the oldest {gave_way} (SYNCEDMEM_TRACE_SIZE, --trace-size): the peaks are those of the whole; holders and sums \
             are those of the rest."
        ));
    }
    if header.lost > 0 {
        let lost = Counted(header.lost, "event was not recorded", "events were not recorded");
        sentences
            .push(format!("{lost}: there was no space for it, or it was in a signal handler that could not wait."));
    }
    // If the disk was full, every later record is unfinished.
    if *unfinished > 0 && header.cut.is_none() {
        let unfinished =
            Counted(*unfinished, "record was begun and not finished", "records were begun and not finished");
        sentences.push(format!("{unfinished}: the process ended meanwhile."));
    }
    if *unknown > 0 {
        let unknown = Counted(*unknown, "record is", "records are");
        sentences.push(format!("{unknown} damaged, or of another version of libsyncedmem: use its command."));
    }
    sentences.iter().map(|sentence| format!("{program} (process {process}): {sentence}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use syncedmem_trace::event::{Origin, What};
    use syncedmem_trace::recording::header;
    use syncedmem_trace::recording::record::Record;
    use syncedmem_trace::recording::sample::{LAYOUT, Recording, at, process};
    use syncedmem_trace::recording::text::Topic;

    use super::super::facts::NO_PLACE;
    use super::*;

    fn allocated(bytes: u64) -> What {
        What::Allocated { kind: Kind::Device, bytes, block: 16, origin: Origin::Fresh }
    }

    fn read(recording: &Recording) -> Trace {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&recording.bytes()).unwrap();
        of(Reader::of(file).unwrap(), Vec::new(), "a".to_string()).unwrap()
    }

    #[test]
    fn a_process_has_its_events_and_places_and_what_it_used() {
        let recording = Recording::new(&process(7));
        recording.site(3, "here");
        recording.event(syncedmem_trace::event::Event { site: Site(3), ..at(110, 5, allocated(128)) });
        recording.end(header::End { time: 400, processor_time: 250, peak_resident: 4096, peak_address_space: 8192 });
        let trace = read(&recording);
        let [process] = &trace.processes[..] else { panic!("{:?}", trace.processes) };
        assert_eq!((process.id, &*process.name, &*process.callers[0].who), (7, "caffe", "here"));
        assert_eq!(process.account.memory(Kind::Device).peak, 128);
        let (resident_peak, elapsed, processor_time) = (Some(4096), Some(300), Some(250));
        let growing = Some("here".to_string());
        let address_space_peak = Some(8192);
        let expected =
            Ending { resident_peak, address_space_peak, elapsed, processor_time, growing, ..Ending::default() };
        assert_eq!(process.ending, expected);
        assert!(trace.notes.is_empty() && process.first_lines().is_empty(), "{:?}", trace.notes);
    }

    #[test]
    fn a_place_that_was_not_recorded_is_called_so_and_a_process_without_events_is_left_out() {
        let recording = Recording::new(&process(7));
        assert!(read(&recording).processes.is_empty());
        recording.event(at(1, 5, allocated(64)));
        assert_eq!(read(&recording).processes[0].callers[0].who, NO_PLACE);
    }

    #[test]
    fn a_recording_for_which_there_was_no_space_says_so() {
        let recording = Recording::new(&process(7));
        recording.cut(libc::EFBIG);
        let trace = read(&recording);
        assert!(trace.processes.is_empty());
        assert!(
            trace.notes[0].starts_with("caffe (process 7): nothing was recorded: File too large"),
            "{:?}",
            trace.notes
        );
        recording.event(at(1, 5, allocated(3 << 20)));
        let first = read(&recording).processes[0].first_lines().concat();
        assert!(first.starts_with("the recording of caffe ends early (File too large"), "{first}");
    }

    #[test]
    fn what_a_recording_lacks_is_said() {
        let recording = Recording::new(&process(7));
        recording.event(at(1, 5, allocated(1 << 20)));
        (0..LAYOUT.most).for_each(|time| recording.event(at(10 + time, 0, What::Synchronised)));
        recording.lose();
        let trace = read(&recording);
        let peak = trace.processes[0].account.memory(Kind::Device).peak;
        assert_eq!(peak, 1 << 20, "the process counted it");
        let notes = trace.notes;
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(
            notes[0].starts_with("caffe (process 7): the oldest 1 record was overwritten by a newer one"),
            "{notes:?}"
        );
        assert!(notes[1].contains("1 event was not recorded"), "{notes:?}");
        let recording = Recording::new(&process(7));
        recording.event(at(1, 5, allocated(64)));
        recording.reserve();
        assert!(read(&recording).notes[0].contains("1 record was begun and not finished"));
    }

    #[test]
    fn an_encoded_block_is_in_use_until_the_whole_one_is_back() {
        let recording = Recording::new(&process(7));
        recording.text(Topic::Net, 0, b"\tsteps\t-\t100\ttrain\tconv\trelu\tloss");
        let kind = Kind::Pageable;
        let held = |(bytes, block)| What::Allocated { kind, bytes, block, origin: Origin::Arena };
        let left = |(bytes, block)| What::Freed { kind, bytes, block };
        let (whole, encoded, again) = ((64, 0x1000), (16, 0x2000), (64, 0x3000));
        // Each block is allocated before the former one is freed.
        let steps = [
            (100, vec![held(whole), held(encoded), left(whole)]),
            (101, vec![]),
            (105, vec![held(again), left(encoded), left(again)]),
        ];
        for ((step, events), time) in steps.into_iter().zip((10..).step_by(10)) {
            recording.put(Record::Step { time, thread: 1, step });
            events.into_iter().zip(time + 1..).for_each(|(what, time)| recording.event(at(time, 0, what)));
        }
        let process = &read(&recording).processes[0];
        let shown: Vec<_> = process.arena.iter().map(|step| (step.pass, &*step.layer, step.bytes(kind))).collect();
        assert_eq!(shown, [("forward", "conv", 64), ("forward", "relu", 16), ("backward", "conv", 64)]);
        assert_eq!(process.account.memory(kind).live, 0);
    }
}
