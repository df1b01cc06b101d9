//! What is recorded is in the file once, exactly, and in whole; what can be no trace is refused.

use crate::trace::*;
use syncedmem::observe::trace::{self as writer, FileError};
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Origin, What};
use syncedmem_trace::recording::Layout;
use syncedmem_trace::recording::header::VERSION;
use syncedmem_trace::recording::record::Record;
use syncedmem_trace::recording::text::Topic;

#[test(alone)]
fn every_event_is_in_the_file_as_it_was() {
    let events = events::all_events();
    let read = recorded(|| events.iter().for_each(|event| writer::record(event, 0)));
    let thread = this_thread();
    assert_eq!(read.events(), events.iter().map(|event| Event { thread, ..*event }).collect::<Vec<_>>());
    assert!(read.header.end.is_some() && read.header.cut.is_none() && read.unfinished.is_empty());
}

#[test(alone)]
fn names_places_and_threads_are_in_the_file_once() {
    let place = "caffe::Blob<float>::Reshape(std::vector<int> const&) \"quoted\\path\" (libcaffe.so.1)";
    let read = recorded(|| {
        writer::site(syncedmem_trace::event::Site(7), place);
        for _ in 0..1000 {
            writer::name(0x5000, 64, "data äöü");
            writer::name(0x6000, 65, "diff");
        }
    });
    let texts: Vec<_> = read.texts.iter().skip_while(|(kind, ..)| *kind != Topic::Site).cloned().collect();
    let [site, thread, names @ ..] = &texts[..] else { panic!("{:?}", read.texts) };
    assert_eq!(*site, (Topic::Site, 7, place.to_owned()));
    assert_eq!((thread.0, thread.1), (Topic::Thread, this_thread().into()));
    let name = |name: &str| (Topic::Name, 0, name.to_owned());
    assert_eq!(names, [name("data äöü"), name("diff")]);
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
}

/// Before anything else.
#[test(alone, ("SYNCEDMEM_POOL_BUDGET", "17M"))]
fn what_the_process_is_and_what_bounds_its_memory_is_in_the_file() {
    let limit = libc::rlimit { rlim_cur: 1 << 45, rlim_max: libc::RLIM_INFINITY };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let read = recorded(|| record(1));
    let of = |wanted: Topic| -> Vec<(u64, &str)> {
        let texts = read.texts.iter().filter(|(kind, ..)| *kind == wanted);
        texts.map(|(_, number, text)| (*number, text.as_str())).collect()
    };
    let command: String = std::env::args().map(|argument| argument + "\0").collect();
    assert_eq!(of(Topic::Command), [(0, command.as_str())]);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(of(Topic::Host), [(0, host.trim())]);
    assert!(of(Topic::Setting).contains(&(0, "SYNCEDMEM_POOL_BUDGET=17M")), "{:?}", read.texts);
    assert!(of(Topic::Limit).contains(&(1 << 45, "address space")), "{:?}", read.texts);
    let machine = of(Topic::Limit).into_iter().find(|(_, name)| *name == "machine").unwrap();
    assert!(machine.0 > 64 << 20, "{machine:?}");
    assert_eq!(of(Topic::Caffe), []);
}

#[test(alone, ("SYNCEDMEM_TRACE_SIZE", "64K"))]
fn more_names_than_have_room_lose_their_record_and_nothing_else() {
    let read = recorded(|| {
        (0..1000).for_each(|number| writer::name(0x5000, 64, &format!("{number}{}", "x".repeat(190))));
        record(1);
    });
    let names = read.texts.iter().filter(|(kind, ..)| *kind == Topic::Name).count();
    assert_eq!(names, read.records.len() - 1);
    assert!(names > 30 && read.header.cut.is_none());
    assert_eq!(read.starts(), [1]);
}

#[test(alone, ("SYNCEDMEM_TRACE_SIZE", "64K"))]
fn the_oldest_records_give_way_and_the_peak_is_exact() {
    let layout = Layout::within(64 << 10);
    let rounds = 3 * layout.most;
    let (kind, origin, bytes) = (Kind::Pinned, Origin::Fresh, 100);
    let Recorded { length, header, records, unfinished, .. } = recorded(|| {
        for round in 0..rounds {
            let allocated = What::Allocated { kind, bytes, block: round, origin };
            writer::record(&Event { what: allocated, ..event(round) }, 0);
            if round % 2 == 0 {
                writer::record(&Event { what: What::Freed { kind, bytes, block: round }, ..event(round) }, 0);
            }
        }
    });
    assert!((60 << 10..=64 << 10).contains(&length), "{length}");
    assert_eq!((records.len() as u64, unfinished.len()), (layout.most, 0));
    assert_eq!(header.indices(), header.next - layout.most..header.next);
    let last = records.last();
    assert!(matches!(last, Some(Record::Event { event, .. }) if event.start == rounds - 1), "{last:?}");
    let live = rounds / 2 * bytes;
    // The block of the last round but one raised it last: what it shares the memory with is freed in its own round.
    let (peak, peak_time) = (live, rounds - 1);
    assert_eq!(header.peaks[kind as usize], (peak, peak_time));
}

#[test(alone)]
fn a_trace_replaces_an_earlier_one_in_its_file() {
    let folder = Folder::new();
    let (one, two) = (folder.path("1"), folder.path("2"));
    writer::start(&c_path(&one)).unwrap();
    record(1);
    trace_to(&two, || record(2));
    record(3);
    assert_eq!((starts(&one), starts(&two)), (vec![1], vec![2]));
    trace_to(&one, || {});
    assert_eq!(starts(&one), [], "begun anew");
    assert_eq!(folder.names(), ["1", "2"]);
}

#[test(alone)]
fn a_header_that_its_process_was_killed_at_is_no_file_of_another_program() {
    let folder = Folder::new();
    let path = folder.path("t");
    let begun = |words: &[u64], bytes: usize| {
        let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.resize(bytes, 0);
        file
    };
    for words in [&[][..], &[0, VERSION], &[0, VERSION, 64, 4096]] {
        std::fs::write(&path, begun(words, 4096)).unwrap();
        trace_to(&path, || record(1));
        assert_eq!(starts(&path), [1], "{words:?}");
    }
    for other in [begun(&[], 8192), begun(&[], 100), begun(&[0, 0, 0, 1], 4096)] {
        std::fs::write(&path, &other).unwrap();
        assert_eq!(writer::start(&c_path(&path)), Err(FileError::NotATrace));
        assert!(std::fs::read(&path).unwrap() == other);
    }
}

#[test(alone)]
fn what_cannot_be_a_trace_is_refused() {
    let folder = Folder::new();
    let (pipe, other, link) = (folder.path("pipe"), folder.path("other"), folder.path("link"));
    assert_eq!(unsafe { libc::mkfifo(c_path(&pipe).as_ptr(), 0o600) }, 0);
    std::fs::write(&other, "mine").unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    for (path, error) in [
        (folder.path("no/such/folder"), FileError::System(libc::ENOENT)),
        (folder.path(""), FileError::System(libc::EISDIR)),
        (folder.path(&"x".repeat(5000)), FileError::NameTooLong),
        ("/dev/null".into(), FileError::NotAFile),
        (pipe, FileError::NotAFile),
        (folder.path("t.json"), FileError::Exported),
        (other.clone(), FileError::NotATrace),
        (link, FileError::System(libc::ELOOP)),
    ] {
        assert_eq!(writer::start(&c_path(&path)), Err(error), "{}", path.display());
    }
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "mine");
    assert_eq!(folder.names(), ["link", "other", "pipe"]);
}
