//! Reads one recording as items in the order of time.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io;

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Noticed, Site, What};
use syncedmem_trace::recording::record::Record;
use syncedmem_trace::recording::text::{self, Entry, Topic};

use crate::recording::Recording;
use crate::{Caffe, End, Item, Note, ReadError};

#[derive(Debug)]
pub struct Stream {
    recording: Recording,
    order: Order,
    objects: Objects,
    /// Names, by their place in the text area.
    texts: HashMap<u32, String>,
    read_texts: HashSet<u32>,
    has_begun: bool,
    /// Starts and ids of the processes that this one forks.
    forks: Vec<(u64, u32)>,
    passed_on: Vec<(u32, ObjectNames)>,
    /// Call sites, also of the processes that it was forked from.
    sites: HashMap<Site, String>,
    records: Vec<Record>,
}

#[derive(Clone, Debug, Default)]
pub struct Inherited {
    names: ObjectNames,
    sites: HashMap<Site, String>,
}

impl Stream {
    pub fn new(file: File) -> Result<Stream, ReadError> {
        Ok(Stream {
            recording: Recording::new(file)?,
            order: Order::default(),
            objects: Objects::default(),
            texts: HashMap::new(),
            read_texts: HashSet::new(),
            sites: HashMap::new(),
            has_begun: false,
            forks: Vec::new(),
            passed_on: Vec::new(),
            records: Vec::new(),
        })
    }

    pub(crate) fn among(mut self, inherited: Inherited, forks: Vec<(u64, u32)>) -> Stream {
        (self.objects.names, self.sites, self.forks) = (inherited.names, inherited.sites, forks);
        self
    }

    /// Whether the oldest records will be overwritten soon.
    pub fn is_filling(&self) -> bool {
        let header = self.recording.header();
        header.next > header.layout.most / 2
    }

    fn process(&self) -> u32 {
        self.recording.header().about.process
    }

    /// Returns `false` at the end.
    pub fn read(&mut self, items: &mut VecDeque<Item>) -> io::Result<bool> {
        self.read_records(false, items)
    }

    /// Reads what the process has written since the last call.
    pub fn follow(&mut self, items: &mut VecDeque<Item>) -> io::Result<()> {
        self.recording.update()?;
        while self.read_records(true, items)? {}
        Ok(())
    }

    fn read_records(&mut self, is_running: bool, items: &mut VecDeque<Item>) -> io::Result<bool> {
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        let goes_on = self.recording.read(is_running, &mut records)?;
        // A record's text is complete before the record is.
        self.begin(items);
        if let Some(area) = self.recording.new_texts()? {
            self.take_texts(&area, items);
        }
        for record in records.drain(..) {
            let number = self.order.put(record);
            if let Record::Event { event, .. } = &record {
                self.objects.expect(number, event);
            }
            while self.order.is_full() {
                self.give_next(items);
            }
        }
        self.records = records;
        Ok(goes_on)
    }

    /// Gives the remaining items after the last record. Returns what forked processes inherit.
    pub fn finish(&mut self, items: &mut VecDeque<Item>) -> Vec<(u32, Inherited)> {
        if let Ok(area) = self.recording.texts() {
            self.take_texts(&area, items);
        }
        while self.give_next(items) {}
        self.pass_on(u64::MAX);
        let Recording { gave_way, unfinished, unknown, .. } = self.recording;
        let header = Box::new(self.recording.header().clone());
        items.push_back(Item::End(End { process: self.process(), header, gave_way, unfinished, unknown }));
        let passed_on = std::mem::take(&mut self.passed_on).into_iter();
        passed_on.map(|(child, names)| (child, Inherited { names, sites: self.sites.clone() })).collect()
    }

    fn begin(&mut self, items: &mut VecDeque<Item>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let (process, about) = (self.process(), &self.recording.header().about);
        items.push_back(Item::Process {
            process,
            name: about.program.clone(),
            parent: Some(about.parent).filter(|&parent| parent != 0),
            monotonic: about.start,
            realtime: about.start_of_day,
        });
        let mut sites: Vec<_> = self.sites.iter().map(|(&site, place)| (site, place.clone())).collect();
        sites.sort();
        items.extend(sites.into_iter().map(|(site, place)| Item::Site { site, place }));
    }

    fn take_texts(&mut self, area: &[u8], items: &mut VecDeque<Item>) {
        for Entry { place, topic, number, text } in text::entries(area) {
            if !self.read_texts.insert(place) {
                continue;
            }
            let site = Site(number as u32);
            let words = || String::from_utf8_lossy(text).into_owned();
            match topic {
                Topic::Site => {
                    self.sites.insert(site, words());
                    items.push_back(Item::Site { site, place: words() });
                }
                Topic::Name => drop(self.texts.insert(place, words())),
                Topic::Net => items.push_back(Item::Net(words())),
                Topic::Thread => items.push_back(Item::Thread { thread: number as u32, name: words() }),
                Topic::Frames => {
                    let addresses = text.chunks_exact(8).filter_map(<[u8]>::first_chunk);
                    let addresses = addresses.map(|bytes| u64::from_le_bytes(*bytes)).collect();
                    items.push_back(Item::Frames { site, addresses });
                }
                Topic::Module => {
                    let parts = text.split_first().and_then(|(&length, rest)| rest.split_at_checked(length.into()));
                    let Some((build_id, path)) = parts else { continue };
                    let path = String::from_utf8_lossy(path).into_owned();
                    items.push_back(Item::Module { start: number, build_id: build_id.to_vec(), path });
                }
                Topic::Command => {
                    let text = String::from_utf8_lossy(text.strip_suffix(b"\0").unwrap_or(text));
                    items.push_back(Item::Note(Note::Command(text.split('\0').map(str::to_owned).collect())));
                }
                Topic::Host => items.push_back(Item::Note(Note::Host(words()))),
                Topic::Setting => items.push_back(Item::Note(Note::Setting(words()))),
                Topic::Limit => items.push_back(Item::Note(Note::Limit { name: words(), bytes: number })),
                Topic::Caffe => {
                    let taken_over = if number > 1 { number & u64::from(u32::MAX) } else { 0 };
                    let caffe = Caffe { file: words(), reaches: number != 0, taken_over, for_names: number >> 32 };
                    items.push_back(Item::Note(Note::Caffe(caffe)));
                }
            }
        }
    }

    /// Gives the next record of the window. Returns `false` if there is none.
    fn give_next(&mut self, items: &mut VecDeque<Item>) -> bool {
        let Some((number, record)) = self.order.next() else { return false };
        match record {
            Record::Event { event, object_bytes } => {
                self.pass_on(event.end());
                let (found, event) = self.objects.take(number, event, object_bytes);
                give_found(found, items);
                items.extend(event.map(Item::Event));
            }
            Record::Named { time, thread, object, object_bytes, text } => {
                self.pass_on(time);
                let Some(name) = self.texts.get(&text).cloned() else {
                    self.recording.unknown += 1;
                    return true;
                };
                let found = self.objects.note(time, thread, object, object_bytes);
                give_found(found, items);
                self.objects.names.insert(object, name.clone());
                items.push_back(Item::Name { time, object, name });
            }
            Record::Items { time, thread, object, object_bytes, items: number } => {
                let found = self.objects.note(time, thread, object, object_bytes);
                give_found(found, items);
                items.push_back(Item::Items { object, items: number });
            }
            Record::Pass(pass) => items.push_back(Item::Pass(pass)),
            Record::Step { time, thread, step } => items.push_back(Item::Step { time, thread, step }),
        }
        true
    }

    /// Keeps the current names for processes that were forked before `time`.
    fn pass_on(&mut self, time: u64) {
        let (passed_on, names) = (&mut self.passed_on, &self.objects.names);
        self.forks.retain(|&(start, child)| {
            let is_later = start >= time;
            if !is_later {
                passed_on.push((child, names.clone()));
            }
            is_later
        });
    }
}

fn give_found(found: Option<Revealed>, items: &mut VecDeque<Item>) {
    let Some(Revealed { made, name }) = found else { return };
    items.push_back(Item::Event(made));
    items.extend(name.map(|name| Item::Name { time: made.start, object: made.object, name }));
}

/// Number of records that are held back.
const WINDOW: usize = 1 << 14;

/// Sorts records by their ends. The file is nearly sorted: a record is late only if its thread was interrupted between the
/// end of the event and the record. So a window of records is held back.
#[derive(Debug, Default)]
struct Order {
    /// Records by end, then by position in the file, which is the order within a thread.
    waiting: BTreeMap<(u64, u64), Record>,
    sequence: u64,
}

impl Order {
    /// Returns the record's number.
    fn put(&mut self, record: Record) -> u64 {
        let end = match record {
            Record::Event { event, .. } => event.end(),
            Record::Pass(pass) => pass.start.saturating_add(pass.duration),
            Record::Named { time, .. } | Record::Items { time, .. } | Record::Step { time, .. } => time,
        };
        self.sequence += 1;
        self.waiting.insert((end, self.sequence), record);
        self.sequence
    }

    fn is_full(&self) -> bool {
        self.waiting.len() > WINDOW
    }

    /// Returns the oldest record with its number.
    fn next(&mut self) -> Option<(u64, Record)> {
        let ((_, sequence), record) = self.waiting.pop_first()?;
        Some((sequence, record))
    }
}

/// Names by the object's address.
type ObjectNames = HashMap<u64, String>;

/// The objects of a process, as its events show them: the writer does not keep them.
#[derive(Debug, Default)]
struct Objects {
    /// The blocks on the host and on the device, by the object's address.
    known: HashMap<u64, [Option<Block>; 2]>,
    /// The names, also of objects from before the recording.
    names: ObjectNames,
    /// Events with a call site that wait in the window: number, site, and whether the event begins an object.
    sites: HashMap<u64, VecDeque<(u64, Site, bool)>>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    kind: Kind,
    bytes: u64,
    address: u64,
}

/// An object that its first event revealed: its constructor was not recorded.
#[derive(Debug)]
struct Revealed {
    made: Event,
    /// The name that it had before.
    name: Option<String>,
}

impl Objects {
    /// Notes the call site of an event that waits in the window.
    fn expect(&mut self, number: u64, event: &Event) {
        if event.object != 0 && event.site != Site::UNKNOWN {
            let is_made = matches!(event.what, What::Made { .. });
            self.sites.entry(event.object).or_default().push_back((number, event.site, is_made));
        }
    }

    /// Takes the next event. Returns it unless it ends a block or an object from before the recording.
    fn take(&mut self, number: u64, event: Event, bytes: u64) -> (Option<Revealed>, Option<Event>) {
        self.pass(number, &event);
        let Event { object, what, .. } = event;
        if object == 0 {
            return (None, Some(event));
        }
        match what {
            What::Made { .. } => {
                self.names.remove(&object);
                self.known.insert(object, [None; 2]);
                (None, Some(event))
            }
            What::Ended => {
                self.names.remove(&object);
                (None, self.known.remove(&object).map(|_| event))
            }
            What::Freed { kind, block: address, .. } => {
                let blocks = self.known.get_mut(&object);
                let block =
                    blocks.and_then(|blocks| blocks[kind.side() as usize].take_if(|block| block.address == address));
                let freed =
                    |Block { kind, bytes, .. }| Event { what: What::Freed { kind, bytes, block: address }, ..event };
                (None, block.map(freed))
            }
            _ => {
                let found = self.notice(object, bytes, &event);
                if let (What::Allocated { kind, bytes, block: address, .. }, Some(blocks)) =
                    (what, self.known.get_mut(&object))
                {
                    blocks[kind.side() as usize] = Some(Block { kind, bytes, address });
                }
                (found, Some(event))
            }
        }
    }

    /// Takes a note about an object. Returns the object if it was unknown.
    fn note(&mut self, time: u64, thread: u32, object: u64, bytes: u64) -> Option<Revealed> {
        let what = What::Made { bytes, noticed: Noticed::FirstAccess };
        self.notice(object, bytes, &Event { start: time, duration: 0, thread, object, site: Site::UNKNOWN, what })
    }

    fn notice(&mut self, object: u64, bytes: u64, first: &Event) -> Option<Revealed> {
        if self.known.contains_key(&object) {
            return None;
        }
        self.known.insert(object, [None; 2]);
        let site = match self.sites.get(&object).and_then(VecDeque::front) {
            _ if first.site != Site::UNKNOWN => first.site,
            Some(&(_, site, false)) => site,
            // Another object begins there.
            _ => Site::UNKNOWN,
        };
        let what = What::Made { bytes, noticed: Noticed::FirstAccess };
        let made = Event { duration: 0, site, what, ..*first };
        Some(Revealed { made, name: self.names.get(&object).cloned() })
    }

    /// Forgets the call site of an event that leaves the window.
    fn pass(&mut self, number: u64, event: &Event) {
        let Some(sites) = self.sites.get_mut(&event.object) else { return };
        if let Some(at) = sites.iter().position(|&(other, ..)| other == number) {
            sites.remove(at);
        }
        if sites.is_empty() {
            self.sites.remove(&event.object);
        }
    }
}
