//! The reader gives what was recorded, in the order of time, whatever became of the file.
#![expect(clippy::unwrap_used, reason = "a test whose preparation fails has failed")]

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Noticed, Origin, Site, What};
use syncedmem_trace::recording::header::{About, End as EndMark};
use syncedmem_trace::recording::record::Record;
use syncedmem_trace::recording::sample::{LAYOUT, Recording, at, process};
use syncedmem_trace::recording::text;
use syncedmem_trace_reader::{Caffe, End, Item, Note, ReadError, Reader, Stream};
use tempfile::{TempDir, tempdir};

fn holding(recordings: &[(&str, &Recording)]) -> TempDir {
    let folder = tempdir().unwrap();
    recordings.iter().for_each(|(name, recording)| recording.write(&folder.path().join(name)));
    folder
}

fn all(path: &Path) -> Vec<Item> {
    Reader::open(path).unwrap().map(Result::unwrap).collect()
}

fn read(recording: &Recording) -> Vec<Item> {
    all(&holding(&[("t", recording)]).path().join("t"))
}

fn events(items: &[Item]) -> Vec<Event> {
    items.iter().filter_map(|item| if let Item::Event(event) = item { Some(*event) } else { None }).collect()
}

fn ends(items: &[Item]) -> Vec<&End> {
    items.iter().filter_map(|item| if let Item::End(end) = item { Some(end) } else { None }).collect()
}

fn made(bytes: u64) -> What {
    What::Made { bytes, noticed: Noticed::Construction }
}

fn allocated(block: u64) -> What {
    What::Allocated { kind: Kind::Pageable, bytes: 64, block, origin: Origin::Fresh }
}

fn freed(block: u64) -> What {
    What::Freed { kind: Kind::Pageable, bytes: 64, block }
}

#[test]
fn a_recording_is_read_in_the_order_of_ends_with_its_texts() {
    let recording = Recording::new(&process(7));
    recording.site(1, "caffe::Net::Init");
    recording.text(text::Topic::Thread, 1, b"main");
    recording.text(text::Topic::Net, 0, b"ReLU\trelu1\t1\tconv1\trelu1\n");
    recording.event(at(10, 0, made(64)));
    recording.event(at(30, 20, allocated(5)));
    recording.event(at(31, 5, What::Synchronised));
    recording.named(60, 0x1000, "conv1 weights");
    recording.put(Record::Items { time: 61, thread: 1, object: 0x1000, object_bytes: 64, items: 8 });
    recording.end(EndMark { time: 99, processor_time: 50, peak_resident: 4096, peak_address_space: 8192 });
    let items = read(&recording);
    let [Item::Process { process: 7, name, parent: None, monotonic: 100, realtime: 1_000_000_100 }, rest @ ..] =
        &items[..]
    else {
        panic!("{items:?}");
    };
    assert_eq!(name, "caffe");
    let (time, object) = (60, 0x1000);
    assert_eq!(
        rest[..8],
        [
            Item::Site { site: Site(1), place: "caffe::Net::Init".into() },
            Item::Thread { thread: 1, name: "main".into() },
            Item::Net("ReLU\trelu1\t1\tconv1\trelu1\n".into()),
            Item::Event(at(10, 0, made(64))),
            Item::Event(at(31, 5, What::Synchronised)),
            Item::Event(at(30, 20, allocated(5))),
            Item::Name { time, object, name: "conv1 weights".into() },
            Item::Items { object, items: 8 },
        ]
    );
    let [Item::End(end)] = &rest[8..] else { panic!("{rest:?}") };
    assert_eq!(end.header.end.map(|end| end.peak_resident), Some(4096));
    assert_eq!((end.gave_way, end.unfinished, end.unknown), (0, 0, 0));
}

#[test]
fn what_a_process_is_and_what_bounds_it_is_read_before_its_events() {
    let recording = Recording::new(&process(7));
    recording.text(text::Topic::Command, 0, b"caffe\0train\0--solver=a b\0\0");
    recording.text(text::Topic::Host, 0, b"node3");
    recording.text(text::Topic::Limit, 1 << 40, b"address space");
    recording.text(text::Topic::Setting, 0, b"SYNCEDMEM_POOL_BUDGET=0");
    recording.event(at(10, 0, made(64)));
    recording.text(text::Topic::Caffe, 0, b"/lib/libcaffe.so.1.0.0");
    let notes = read(&recording).into_iter().skip(1).map_while(|item| match item {
        Item::Note(note) => Some(note),
        _ => None,
    });
    let command = ["caffe", "train", "--solver=a b", ""].map(str::to_owned).into();
    let expected = [
        Note::Command(command),
        Note::Host("node3".into()),
        Note::Limit { name: "address space".into(), bytes: 1 << 40 },
        Note::Setting("SYNCEDMEM_POOL_BUDGET=0".into()),
        Note::Caffe(Caffe { file: "/lib/libcaffe.so.1.0.0".into(), reaches: false, taken_over: 0, for_names: 0 }),
    ];
    assert_eq!(notes.collect::<Vec<_>>(), expected);
}

#[test]
fn an_object_whose_construction_was_not_recorded_is_found_by_its_first_event() {
    let recording = Recording::new(&process(7));
    recording.event(at(10, 5, allocated(5)));
    recording.event(Event {
        site: Site(3),
        ..at(20, 5, What::Filled { side: syncedmem_core::head::Side::Host, bytes: 64 })
    });
    let what = What::Made { bytes: 64, noticed: Noticed::FirstAccess };
    let found = Event { site: Site(3), duration: 0, ..at(10, 0, what) };
    assert_eq!(events(&read(&recording))[0], found, "with the site of the first event that has one");
    // The next event with a site belongs to another object at the same address.
    let recording = Recording::new(&process(7));
    recording.event(at(10, 5, allocated(5)));
    recording.event(Event { site: Site(3), ..at(20, 0, made(32)) });
    let events = events(&read(&recording));
    assert_eq!((events[0].what, events[0].site, events[2].what), (what, Site::UNKNOWN, made(32)));
}

#[test]
fn blocks_and_objects_from_before_the_recording_end_without_a_trace() {
    let recording = Recording::new(&process(7));
    recording.event(at(10, 0, freed(5)));
    recording.event(at(11, 0, What::Ended));
    recording.event(at(12, 0, made(64)));
    recording.event(at(13, 0, allocated(6)));
    recording.event(at(14, 0, freed(5)));
    recording.event(at(15, 0, freed(6)));
    recording.event(at(16, 0, What::Ended));
    let whats: Vec<_> = events(&read(&recording)).iter().map(|event| event.what).collect();
    assert_eq!(whats, [made(64), allocated(6), freed(6), What::Ended]);
}

#[test]
fn what_gave_way_in_a_ring_that_wrapped_is_counted_and_the_rest_is_read() {
    let recording = Recording::new(&process(7));
    let total = 2 * LAYOUT.most + 5;
    (0..total).for_each(|time| recording.event(at(time, 0, What::Synchronised)));
    let items = read(&recording);
    let times: Vec<_> =
        events(&items).iter().filter(|event| event.what == What::Synchronised).map(|event| event.start).collect();
    assert_eq!(times, (total - LAYOUT.most..total).collect::<Vec<_>>());
    assert_eq!(ends(&items)[0].gave_way, total - LAYOUT.most);
}

#[test]
fn a_record_that_was_not_finished_is_passed_over_and_counted() {
    let recording = Recording::new(&process(7));
    recording.event(at(10, 0, What::Synchronised));
    recording.reserve();
    recording.event(at(12, 0, What::Synchronised));
    let items = read(&recording);
    let times: Vec<_> = events(&items).iter().skip(1).map(|event| event.start).collect();
    assert_eq!((times, ends(&items)[0].unfinished), (vec![10, 12], 1));
}

#[test]
fn a_file_that_ends_early_gives_what_it_holds() {
    let recording = Recording::new(&process(7));
    (0..100).for_each(|time| recording.event(at(time, 0, What::Synchronised)));
    recording.cut(28);
    let folder = tempdir().unwrap();
    let bytes = recording.bytes();
    fs::write(folder.path().join("t"), &bytes[..LAYOUT.record_at(60) as usize + 17]).unwrap();
    let items = all(&folder.path().join("t"));
    assert_eq!(events(&items).len(), 1 + 60, "the object that was found, and its events");
    assert_eq!(
        (ends(&items)[0].unfinished, ends(&items)[0].header.cut, ends(&items)[0].header.end),
        (40, Some(28), None)
    );
}

#[test]
fn the_recordings_of_a_run_belong_together_and_others_stay_out() {
    let first = Recording::new(&process(7));
    let of = |id, start, run| Recording::new(&About { process: id, start, run, ..process(7) });
    let (later, sooner, other) = (of(9, 300, 7), of(8, 200, 7), of(10, 250, 10));
    let executed = of(8, 400, 7);
    let folder = holding(&[
        ("t", &first),
        ("t.9", &later),
        ("t.8", &sooner),
        ("t.10", &other),
        ("t.x", &later),
        ("t.8.8", &executed),
        ("t.8.", &sooner),
    ]);
    fs::write(folder.path().join("t.11"), "no recording").unwrap();
    let numbers = |path: &Path| ends(&all(path)).iter().map(|end| end.process).collect::<Vec<_>>();
    assert_eq!(numbers(&folder.path().join("t")), [7, 8, 9, 8]);
    assert_eq!(numbers(&folder.path().join("t.10")), [10]);
    let mut reader = Reader::open(folder.path()).unwrap();
    assert_eq!(reader.by_ref().filter(|item| matches!(item, Ok(Item::End(_)))).count(), 7);
    assert_eq!(reader.unreadable().len(), 1, "{:?}", reader.unreadable());
}

#[test]
fn a_forked_process_knows_its_parents_names_and_call_sites() {
    let parent = Recording::new(&process(7));
    parent.site(1, "caffe::Net::Init");
    parent.event(at(110, 0, made(64)));
    parent.named(111, 0x1000, "conv1 weights");
    parent.named(300, 0x1000, "named after the fork");
    let child = Recording::new(&About { process: 8, parent: 7, start: 200, run: 7, ..process(8) });
    child.event(Event { site: Site(1), ..at(210, 5, allocated(5)) });
    let folder = holding(&[("t", &parent), ("t.8", &child)]);
    let items = all(&folder.path().join("t"));
    let begin =
        items.iter().position(|item| matches!(item, Item::Process { process: 8, parent: Some(7), .. })).unwrap();
    let object = 0x1000;
    assert_eq!(items[begin + 1], Item::Site { site: Site(1), place: "caffe::Net::Init".into() });
    assert!(matches!(items[begin + 2], Item::Event(Event { what: What::Made { bytes: 64, .. }, .. })));
    assert_eq!(items[begin + 3], Item::Name { time: 210, object, name: "conv1 weights".into() });
}

#[test]
fn a_running_process_is_followed() {
    let recording = Recording::new(&process(7));
    let folder = holding(&[("t", &recording)]);
    // The process changes the file in place.
    let file = File::options().write(true).open(folder.path().join("t")).unwrap();
    let mut stream = Stream::new(File::open(folder.path().join("t")).unwrap()).unwrap();
    let mut items = VecDeque::new();
    let mut look = || {
        file.write_all_at(&recording.bytes(), 0).unwrap();
        stream.follow(&mut items).unwrap();
    };
    recording.event(at(1, 0, What::Synchronised));
    recording.reserve();
    recording.event(at(3, 0, What::Synchronised));
    look();
    (0..3 * LAYOUT.most).for_each(|time| recording.event(at(10 + time, 0, What::Synchronised)));
    look();
    stream.finish(&mut items);
    let items: Vec<_> = items.into();
    let end = ends(&items)[0];
    // The first was read at the first look. The second was waited for, and then overtaken with the third.
    assert_eq!((end.gave_way, end.unfinished), (2 * LAYOUT.most + 2, 0));
    assert_eq!(events(&items).len() as u64, 1 + 1 + LAYOUT.most);
}

#[test]
fn other_files_are_refused_with_what_to_do() {
    let folder = tempdir().unwrap();
    let newer = Recording::new(&process(7)).bytes();
    let newer = [&newer[..8], &9u64.to_le_bytes(), &newer[16..]].concat();
    let damaged = [&Recording::new(&process(7)).bytes()[..100], b"rest"].concat();
    for (contents, what) in [
        (&b""[..], "it is empty"),
        // The process was killed before it wrote its header.
        (&[0; 4096], "it is empty"),
        (&[0; 5000], "it is not a recording of libsyncedmem"),
        (b"[\n{\"ph\":\"M\"},\n", "record again with syncedmem run --trace FILE"),
        (b"\x7fELF", "it is not a recording of libsyncedmem"),
        (&newer, "another version of libsyncedmem wrote it (format 9)"),
        (&damaged, "its header is damaged"),
    ] {
        fs::write(folder.path().join("t"), contents).unwrap();
        let error = Reader::open(&folder.path().join("t")).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    fs::remove_file(folder.path().join("t")).unwrap();
    assert!(matches!(Reader::open(folder.path()), Err(ReadError::NoRecordings)));
    assert!(matches!(Reader::open(&folder.path().join("none")), Err(ReadError::System(_))));
}

#[test]
fn a_header_that_claims_more_than_the_file_holds_costs_neither_memory_nor_time() {
    let recording = Recording::new(&process(7));
    recording.event(at(1, 0, What::Synchronised));
    let mut bytes = recording.bytes();
    let mut set = |word: usize, number: u64| bytes[8 * word..8 * word + 8].copy_from_slice(&number.to_le_bytes());
    // Bytes of text, records, the next record, and the used text: see the header's words.
    let claims = [(3, u64::from(u32::MAX)), (4, u64::MAX / 200), (128, u64::MAX - 1), (136, u64::from(u32::MAX))];
    claims.into_iter().for_each(|(word, number)| set(word, number));
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("t"), &bytes).unwrap();
    let items = all(&folder.path().join("t"));
    assert_eq!((events(&items).len(), ends(&items).len()), (0, 1));
}

#[test]
fn holes_are_not_read_whatever_the_header_claims() {
    let recording = Recording::new(&process(7));
    recording.event(at(1, 0, What::Synchronised));
    let mut bytes = recording.bytes();
    // A TiB of records: read at some GB/s, its zeros would take minutes.
    let most: u64 = 1 << 34;
    for (word, number) in [(4, most), (128, most)] {
        bytes[8 * word..8 * word + 8].copy_from_slice(&number.to_le_bytes());
    }
    let folder = tempdir().unwrap();
    let file = File::create(folder.path().join("t")).unwrap();
    file.write_all_at(&bytes[..LAYOUT.record_at(1) as usize], 0).unwrap();
    // One more record lies in the middle of a block, far from the others.
    let slot = (most / 2 + 5) * 64;
    let record = &bytes[LAYOUT.record_at(0) as usize..LAYOUT.record_at(1) as usize];
    file.write_all_at(record, LAYOUT.record_at(0) + slot).unwrap();
    file.set_len(LAYOUT.record_at(0) + most * 64).unwrap();
    let items = all(&folder.path().join("t"));
    assert_eq!(events(&items).len(), 1 + 2, "the object that was found, and both events");
    assert_eq!(ends(&items)[0].unfinished, most - 2);
    let mut stream = Stream::new(File::open(folder.path().join("t")).unwrap()).unwrap();
    stream.follow(&mut VecDeque::new()).unwrap();
}

#[test]
fn any_damage_is_read_without_a_panic() {
    let recording = Recording::new(&process(7));
    recording.site(1, "caffe::Net::Init");
    recording.text(text::Topic::Module, 0x7000, b"\x04abcd/lib/libcaffe.so");
    recording.text(text::Topic::Frames, 1, &[7; 16]);
    for time in 0..20 {
        recording.event(Event { site: Site(1), object: time % 3, ..at(time, 2, allocated(time)) });
        recording.named(time, time % 3, "conv1 weights");
    }
    let whole = recording.bytes();
    let folder = tempdir().unwrap();
    let file = File::create_new(folder.path().join("t")).unwrap();
    // The parts that hold something.
    let texts = LAYOUT.record_at(0) as usize;
    let parts = [0..144, 1024..1400, 4096..4096 + 900, texts..texts + 41 * 64];
    let mut random = 1u64;
    let mut next = |below: usize| {
        // The constants of Knuth's MMIX.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut readable = 0;
    for _ in 0..3000 {
        file.write_all_at(&whole, 0).unwrap();
        for _ in 0..=next(3) {
            let part = parts[next(parts.len())].clone();
            let at = part.start + next(part.len());
            let bytes = [[0; 8], [0xff; 8], (next(1 << 16) as u64).to_le_bytes(), (1u64 << next(64)).to_le_bytes()];
            file.write_all_at(&bytes[next(4)][..1 + next(8)], at as u64).unwrap();
        }
        file.set_len(if next(4) == 0 { next(whole.len()) } else { whole.len() } as u64).unwrap();
        if let Ok(reader) = Reader::open(&folder.path().join("t")) {
            readable += reader.filter(Result::is_ok).count();
        }
    }
    assert!(readable > 3000, "most damage leaves something to read: {readable}");
}
