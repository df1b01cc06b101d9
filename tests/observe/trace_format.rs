//! What is traced can be read back to the last nanosecond, and satisfies the rules of the format.

use std::path::Path;

use crate::support::alone;
use crate::trace::reader::Item;
use crate::trace::*;
use syncedmem::observe::trace::{self as writer, FileError};
use syncedmem_trace::event::{Event, Site, What};
use syncedmem_trace::format::Live;

fn me() -> u32 {
    std::process::id()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn every_event_is_read_back_as_it_was() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let mut events = events::all_events();
        write(&path, &events);
        let (items, notes) = read(&path);
        // Those that end at the same time keep the order in which they were written.
        events.sort_by_key(Event::end);
        let read = events_of(&items, me());
        assert_eq!(read.len(), events.len());
        for (read, written) in read.iter().zip(&events) {
            assert_eq!(read, written);
        }
        assert_eq!((notes.foreign, notes.damaged, notes.incomplete), (0, 0, false));
        assert!(text(&path).len() % 512 == 0, "the longest records fit into blocks, too");
    });
}

fn a_run_satisfies_the_rules_of_the_format() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let events = events::a_run(3, 20);
        writer::start(&c_path(&path)).unwrap();
        let mut bytes = [0u64; 3];
        for event in &events {
            match event.what {
                What::Allocated { kind, bytes: more, .. } => bytes[kind as usize] += more,
                What::Freed { kind, bytes: less, .. } => bytes[kind as usize] -= less,
                _ => {}
            }
            writer::record(event, &Live { bytes });
        }
        writer::stop();
        let found = rules::check(&text(&path));
        let count = |phase: &str| found.phases.get(phase).copied().unwrap_or(0);
        let rounds = 3 * 20;
        assert_eq!(count("X"), rounds * 7, "what takes time, and both ends of flows");
        assert_eq!(count("i"), rounds * 6);
        assert_eq!((count("s"), count("f"), found.flows), (rounds, rounds, rounds));
        assert_eq!(found.nested, rounds, "the copy inside the eviction");
        // Two allocations and two frees of each round, and the first event, which is none of them.
        assert_eq!(count("C"), rounds * 4 + 1);
        assert_eq!(count("M"), 2, "the process, and its end; these threads are not of this process");
        assert_eq!(events_of(&read(&path).0, me()), events);
    });
}

fn counters_show_what_is_live_when_it_changes() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let event = |start| Event { start, duration: 5, thread: 7, object: 1, site: Site(0), what: What::Synchronised };
        writer::start(&c_path(&path)).unwrap();
        for (start, bytes) in [(1000, [1, 0, 0]), (2000, [1, 0, 0]), (3000, [1, 0, 9]), (4000, [0, 2, 9])] {
            writer::record(&event(start), &Live { bytes });
        }
        writer::stop();
        let found = rules::check(&text(&path));
        let counters: Vec<String> = found
            .records
            .iter()
            .filter(|record| record["ph"] == "C")
            .map(|record| {
                let args = &record["args"];
                format!("{} {} {} {}", record["ts"], args["pageable"], args["pinned"], args["device"])
            })
            .collect();
        assert_eq!(counters, ["1.005 1 0 0", "3.005 1 0 9", "4.005 0 2 9"]);
    });
}

fn names_places_and_threads_are_read_back_before_the_events_that_use_them() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let place = "caffe::Blob<float>::Reshape(std::vector<int> const&) \"quoted\\path\" (libcaffe.so.1)";
        writer::start(&c_path(&path)).unwrap();
        writer::mode(true, false);
        writer::site(Site(7), place);
        writer::name(0x5000, "data äöü");
        let thread = unsafe { libc::gettid() } as u32;
        let event =
            Event { start: u64::MAX / 2, duration: 0, thread, object: 0x5000, site: Site(7), what: What::Ended };
        writer::record(&event, &Live::default());
        writer::stop();
        rules::check(&text(&path));
        let (items, _) = read(&path);
        let process = me();
        let [Item::Process { process: p, name, parent: None }, Item::Thread { thread: t, .. }, rest @ ..] = &items[..]
        else {
            panic!("{items:?}")
        };
        assert_eq!((*p, *t), (process, thread));
        assert!(std::env::current_exe().unwrap().to_str().unwrap().contains(name.as_str()), "{name}");
        assert_eq!(
            rest,
            [
                // Places have no time: they come as soon as they are read.
                Item::Site { process, site: Site(7), place: place.to_string() },
                Item::Mode { process, accesses: true, compares: false },
                Item::Name { process, object: 0x5000, name: "data äöü".to_string() },
                Item::Event { process, event },
            ]
        );
    });
}

fn a_place_that_is_too_long_loses_its_middle_and_fits_into_a_block() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let long = format!("caffe::{}(libcaffe.so.1)", "Layer<\"\\>".repeat(1000));
        writer::start(&c_path(&path)).unwrap();
        writer::site(Site(u32::MAX), &long);
        writer::name(u64::MAX, &long);
        writer::stop();
        rules::check(&text(&path));
        let (items, notes) = read(&path);
        assert_eq!(notes.ours, 5, "process, thread, place and name, and the end");
        let Some(Item::Site { place, .. }) = items.get(2) else { panic!("{items:?}") };
        assert!(place.starts_with("caffe::Layer<\"\\>") && place.ends_with("(libcaffe.so.1)"), "{place}");
        assert!(place.contains("...") && place.len() > 200, "{place}");
    });
}

fn rows_are_those_of_rmm() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.csv");
        let events = events::a_run(1, 1);
        write(&path, &events);
        let failure = What::Failed { side: syncedmem_trace::head::Side::Device, bytes: 77 };
        writer::start(&c_path(&path)).unwrap();
        for event in events.iter().chain([&Event { what: failure, ..events[0] }]) {
            writer::record(event, &Live::default());
        }
        writer::name(1, "no row");
        writer::site(Site(1), "no row");
        writer::stop();
        let text = text(&path);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("Thread,Time,Action,Pointer,Size,Stream"));
        let mut rows = Vec::new();
        for line in lines {
            let [thread, time, action, pointer, size, stream] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            assert_eq!((thread, stream), ("100", "0"));
            let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
            assert_eq!(shape, "99:99:99.999999");
            rows.push(format!("{action} {pointer} {size}"));
        }
        assert_eq!(
            rows,
            [
                "allocate 0x50000000000 4096",
                "allocate 0x50000000001 4096",
                "free 0x50000000001 4096",
                "free 0x50000000000 4096",
                "allocate failure (nil) 77",
            ]
        );
    });
}

fn a_second_trace_of_a_process_begins_anew() {
    alone(&[], || {
        let folder = Folder::new();
        let event = events::a_run(1, 1)[0];
        let (one, two) = (folder.path("1.json"), folder.path("2.json"));
        assert!(!writer::is_on());
        writer::start(&c_path(&one)).unwrap();
        assert!(writer::is_on());
        writer::record(&event, &Live { bytes: [5, 0, 0] });
        writer::start(&c_path(&two)).unwrap();
        writer::record(&event, &Live { bytes: [5, 0, 0] });
        writer::stop();
        assert!(!writer::is_on());
        writer::record(&event, &Live::default());
        assert_eq!(events_of(&read(&one).0, me()), [event]);
        assert_eq!(events_of(&read(&two).0, me()), [event]);
        assert_eq!(rules::check(&text(&two)).phases["C"], 1, "its counters do not begin with a change alone");
        write(&one, &[]);
        assert_eq!(events_of(&read(&one).0, me()), [], "no trace goes to it any more");
    });
}

fn what_cannot_be_a_trace_is_refused() {
    alone(&[], || {
        let folder = Folder::new();
        let start = |path: &Path| writer::start(&c_path(path));
        assert_eq!(start(&folder.path("no/such/folder.json")), Err(FileError::System(libc::ENOENT)));
        assert_eq!(start(&folder.path("")), Err(FileError::System(libc::EISDIR)));
        assert_eq!(start(&folder.path(&"x".repeat(5000))), Err(FileError::NameTooLong));
        let pipe = folder.path("pipe");
        assert_eq!(unsafe { libc::mkfifo(c_path(&pipe).as_ptr(), 0o600) }, 0);
        assert_eq!(start(&pipe), Err(FileError::NotAFile), "without a reader");
        let reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert_eq!(start(&pipe), Err(FileError::NotAFile));
        drop(reader);
        let (other, link) = (folder.path("other"), folder.path("link"));
        std::fs::write(&other, "mine").unwrap();
        assert_eq!(start(&other), Err(FileError::NotATrace));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert_eq!(start(&link), Err(FileError::System(libc::ELOOP)));
        assert_eq!(text(&other), "mine");
        assert!(!writer::is_on());
        assert_eq!(folder.names(), ["link", "other", "pipe"]);
    });
}

crate::support::harness::tests![
    every_event_is_read_back_as_it_was,
    a_run_satisfies_the_rules_of_the_format,
    counters_show_what_is_live_when_it_changes,
    names_places_and_threads_are_read_back_before_the_events_that_use_them,
    a_place_that_is_too_long_loses_its_middle_and_fits_into_a_block,
    rows_are_those_of_rmm,
    a_second_trace_of_a_process_begins_anew,
    what_cannot_be_a_trace_is_refused,
];
