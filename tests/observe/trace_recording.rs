//! What is recorded is in the file once, exactly, and in whole; what can be no trace is refused.

use std::path::Path;

use crate::support::alone;
use crate::trace::*;
use syncedmem::observe::trace::{self as writer, FileError};
use syncedmem_trace::event::{Event, Origin, What};
use syncedmem_trace::kind::Kind as Memory;
use syncedmem_trace::recording::Layout;
use syncedmem_trace::recording::header;
use syncedmem_trace::recording::record::Record;
use syncedmem_trace::recording::text::Kind;

fn every_event_is_in_the_file_as_it_was() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        let events = events::all_events();
        write(&path, &events);
        let read = Recorded::of(&path);
        let thread = this_thread();
        assert_eq!(read.events(), events.iter().map(|event| Event { thread, ..*event }).collect::<Vec<_>>());
        assert!(read.header.end.is_some() && read.header.cut.is_none() && read.unfinished.is_empty());
    });
}

fn names_places_threads_and_the_mode_are_in_the_file_once() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        let place = "caffe::Blob<float>::Reshape(std::vector<int> const&) \"quoted\\path\" (libcaffe.so.1)";
        writer::start(&c_path(&path)).unwrap();
        writer::mode(true, false);
        writer::site(syncedmem_trace::event::Site(7), place);
        for _ in 0..1000 {
            writer::name(0x5000, 64, "data äöü");
            writer::name(0x6000, 65, "diff");
        }
        writer::stop();
        let read = Recorded::of(&path);
        let [thread, rest @ ..] = &read.texts[..] else { panic!("{:?}", read.texts) };
        assert_eq!((thread.0, thread.1), (Kind::Thread, this_thread().into()));
        let name = |name: &str| (Kind::Name, 0, name.to_owned());
        assert_eq!(rest, [(Kind::Site, 7, place.to_owned()), name("data äöü"), name("diff")]);
        assert!(matches!(read.records[0], Record::Mode { accesses: true, compares: false, .. }));
        let named = read.records.iter().filter_map(|record| match *record {
            Record::Named { object, object_bytes, text, .. } => Some((object, object_bytes, text)),
            _ => None,
        });
        let named: Vec<_> = named.collect();
        assert_eq!(named.len(), 2000);
        assert!(named.chunks(2).all(|both| both == &named[..2]), "each has one place");
        assert_eq!([named[0].0, named[0].1, named[1].0, named[1].1], [0x5000, 64, 0x6000, 65]);
        let program = std::env::current_exe().unwrap();
        assert_eq!(read.header.about.program, program.file_name().unwrap().to_str().unwrap());
        assert_eq!(read.header.about.process, std::process::id());
    });
}

fn more_names_than_have_room_lose_their_record_and_nothing_else() {
    alone(&[("SYNCEDMEM_TRACE_SIZE", "64K")], || {
        let folder = Folder::new();
        let path = folder.path("t");
        writer::start(&c_path(&path)).unwrap();
        for number in 0..1000u64 {
            writer::name(0x5000, 64, &format!("{number}{}", "x".repeat(190)));
        }
        record(1);
        writer::stop();
        let read = Recorded::of(&path);
        let names = read.texts.iter().filter(|(kind, ..)| *kind == Kind::Name).count();
        assert_eq!(names, read.records.len() - 1);
        assert!(names > 30 && read.header.cut.is_none());
        assert_eq!(read.starts(), [1]);
    });
}

fn the_oldest_records_give_way_and_the_account_is_exact() {
    alone(&[("SYNCEDMEM_TRACE_SIZE", "64K")], || {
        let folder = Folder::new();
        let path = folder.path("t");
        let layout = Layout::within(64 << 10);
        let rounds = 3 * layout.most;
        let (kind, origin, bytes) = (Memory::Pinned, Origin::Fresh, 100);
        writer::start(&c_path(&path)).unwrap();
        for round in 0..rounds {
            let allocated = What::Allocated { kind, bytes, block: round, origin };
            writer::record(&Event { what: allocated, ..event(round) }, 0);
            if round % 2 == 0 {
                writer::record(&Event { what: What::Freed { kind, bytes, block: round }, ..event(round) }, 0);
            }
        }
        writer::stop();
        assert!(std::fs::metadata(&path).unwrap().len() <= 64 << 10);
        let Recorded { header, records, unfinished, .. } = Recorded::of(&path);
        assert_eq!((records.len() as u64, unfinished.len()), (layout.most, 0));
        assert_eq!(header.indices(), header.next - layout.most..header.next);
        let last = records.last();
        assert!(matches!(last, Some(Record::Event { event, .. }) if event.start == rounds - 1), "{last:?}");
        let live = (rounds / 2 * bytes) as i64;
        // The block of the last round but one raised it last: what it shares the memory with is freed in its own round.
        let (peak, peak_time) = (live as u64, rounds - 1);
        assert_eq!(header.memory[kind as usize], header::Memory { live, peak, peak_time });
        assert_eq!(header.count(&What::Allocated { kind, bytes, block: 0, origin }), rounds);
        assert_eq!(header.count(&What::Freed { kind, bytes, block: 0 }), rounds / 2);
    });
}

fn every_event_of_eight_threads_is_there_once() {
    const THREADS: u64 = 8;
    const EVENTS: u64 = 20_000;
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        writer::start(&c_path(&path)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || (0..EVENTS).for_each(|number| record(thread * EVENTS + number)));
            }
        });
        writer::stop();
        let read = Recorded::of(&path);
        let mut starts = read.starts();
        starts.sort_unstable();
        assert_eq!(starts, (0..THREADS * EVENTS).collect::<Vec<u64>>());
        let mut threads: Vec<u32> = read.events().iter().map(|event| event.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        assert_eq!(threads.len() as u64, THREADS);
        let named = read.texts.iter().filter(|(kind, ..)| *kind == Kind::Thread).count() as u64;
        assert_eq!(named, THREADS);
    });
}

fn a_stack_of_24_kib_suffices() {
    /// The least that glibc's threads have beside what is asked for is their thread-local storage.
    const STACK: usize = 24 << 10;
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        extern "C" fn on_it(path: *mut libc::c_void) -> *mut libc::c_void {
            let path = unsafe { std::ffi::CStr::from_ptr(path.cast()) };
            writer::start(path).unwrap();
            (1..=3000).for_each(record);
            writer::name(1, 1, "conv1");
            writer::stop();
            std::ptr::null_mut()
        }
        let name = c_path(&path);
        unsafe {
            let mut attributes = std::mem::zeroed();
            assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
            assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, STACK), 0);
            let mut thread = std::mem::zeroed();
            let argument = name.as_ptr().cast_mut().cast();
            assert_eq!(libc::pthread_create(&mut thread, &attributes, on_it, argument), 0);
            assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
        }
        assert_eq!(starts(&path), (1..=3000).collect::<Vec<u64>>());
    });
}

fn a_trace_replaces_an_earlier_one_in_its_file() {
    alone(&[], || {
        let folder = Folder::new();
        let (one, two) = (folder.path("1"), folder.path("2"));
        writer::start(&c_path(&one)).unwrap();
        record(1);
        writer::start(&c_path(&two)).unwrap();
        record(2);
        writer::stop();
        record(3);
        assert_eq!((starts(&one), starts(&two)), (vec![1], vec![2]));
        write(&one, &[]);
        assert_eq!(starts(&one), [], "begun anew");
        assert_eq!(folder.names(), ["1", "2"]);
    });
}

fn a_header_that_its_process_was_killed_at_is_no_file_of_another_program() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        let begun = |words: &[u64], bytes: usize| {
            let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            file.resize(bytes, 0);
            file
        };
        for words in [&[][..], &[0, 1], &[0, 1, 64, 4096]] {
            std::fs::write(&path, begun(words, 4096)).unwrap();
            write(&path, &[event(1)]);
            assert_eq!(starts(&path), [1], "{words:?}");
        }
        for other in [begun(&[], 8192), begun(&[], 100), begun(&[0, 0, 0, 1], 4096)] {
            std::fs::write(&path, &other).unwrap();
            assert_eq!(writer::start(&c_path(&path)), Err(FileError::NotATrace));
            assert!(std::fs::read(&path).unwrap() == other);
        }
    });
}

fn what_cannot_be_a_trace_is_refused() {
    alone(&[], || {
        let folder = Folder::new();
        let start = |path: &Path| writer::start(&c_path(path));
        assert_eq!(start(&folder.path("no/such/folder")), Err(FileError::System(libc::ENOENT)));
        assert_eq!(start(&folder.path("")), Err(FileError::System(libc::EISDIR)));
        assert_eq!(start(&folder.path(&"x".repeat(5000))), Err(FileError::NameTooLong));
        assert_eq!(start(Path::new("/dev/null")), Err(FileError::NotAFile));
        assert_eq!(start(&folder.path("t.json")), Err(FileError::Exported));
        assert_eq!(start(&folder.path("t.csv")), Err(FileError::Exported));
        let pipe = folder.path("pipe");
        assert_eq!(unsafe { libc::mkfifo(c_path(&pipe).as_ptr(), 0o600) }, 0);
        assert_eq!(start(&pipe), Err(FileError::NotAFile));
        let (other, link) = (folder.path("other"), folder.path("link"));
        std::fs::write(&other, "mine").unwrap();
        assert_eq!(start(&other), Err(FileError::NotATrace));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        assert_eq!(start(&link), Err(FileError::System(libc::ELOOP)));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(folder.names(), ["link", "other", "pipe"]);
    });
}

crate::support::harness::tests![
    every_event_is_in_the_file_as_it_was,
    names_places_threads_and_the_mode_are_in_the_file_once,
    more_names_than_have_room_lose_their_record_and_nothing_else,
    the_oldest_records_give_way_and_the_account_is_exact,
    every_event_of_eight_threads_is_there_once,
    a_stack_of_24_kib_suffices,
    a_trace_replaces_an_earlier_one_in_its_file,
    a_header_that_its_process_was_killed_at_is_no_file_of_another_program,
    what_cannot_be_a_trace_is_refused,
];
