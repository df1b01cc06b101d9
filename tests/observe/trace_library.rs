//! What the library itself traces, on the simulated driver: the trace obeys the format, and has the copies and
//! allocations that the driver's own log has.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::support::gpu::*;
use crate::support::object::*;
use crate::support::*;
use crate::trace::reader::Item;
use crate::trace::*;
use syncedmem::abi::c::account::{syncedmem_set_items, syncedmem_set_name};
use syncedmem::abi::c::trace::{syncedmem_trace_start, syncedmem_trace_stop};
use syncedmem::state::flags;
use syncedmem_analysis::ledger::Ledger;
use syncedmem_trace::event::{Event, What};
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind as Memory;
use syncedmem_trace::recording::text::Kind;

const BYTES: usize = 100_000;

/// A few objects that cross in every way: by accessors, by streams, with a name and items, with an eviction of nothing.
fn work(gpu: &Gpu) {
    let stream = gpu.stream();
    let mut object = Object::new(BYTES);
    assert_eq!(unsafe { syncedmem_set_name(object.mem(), c"data \"1\"".as_ptr()) }, SYNCEDMEM_SUCCESS);
    assert_eq!(unsafe { syncedmem_set_items(object.mem(), 25) }, SYNCEDMEM_SUCCESS);
    object.fill_host(&pattern(1, BYTES));
    object.gpu_data().unwrap();
    object.mutable_gpu_data().unwrap();
    object.cpu_data().unwrap();
    object.fill_host(&pattern(2, BYTES));
    assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
    object.mutable_gpu_data().unwrap();
    assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
    object.cpu_data().unwrap();
    let mut other = Object::new(3 << 20);
    other.mutable_gpu_data().unwrap();
    other.cpu_data().unwrap();
    other.release_gpu();
}

/// The folder in which the outer process reads what the inner one traced.
fn traced_to(name: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let path = folder.path(name);
    (folder, path)
}

fn copied(events: &[Event], to: Side) -> Vec<u64> {
    let copied = events.iter().filter_map(|event| match event.what {
        What::Copied { to: side, bytes, .. } | What::Started { to: side, bytes, .. } if side == to => Some(bytes),
        _ => None,
    });
    copied.collect()
}

fn a_trace_by_the_environment_tells_what_the_drivers_log_tells() {
    let (_folder, path) = traced_to("t");
    alone(&[("SYNCEDMEM_TRACE", path.to_str().unwrap())], || {
        let gpu = simulated_gpu();
        let (_, calls) = gpu.watch(|| work(&gpu));
        let items = read(Path::new(&std::env::var("SYNCEDMEM_TRACE").unwrap()));
        let events = events_of(&items, std::process::id());
        let logged = |kind: &str| -> Vec<u64> {
            let copies = calls.iter().filter(|call| call.field("kind") == Some(kind));
            copies.map(|call| call.field("bytes").expect("a copy has bytes").parse().unwrap()).collect()
        };
        assert_eq!(copied(&events, Side::Device), logged("HtoD"));
        assert_eq!(copied(&events, Side::Host), logged("DtoH"));
        let mut ledger = Ledger::new();
        events.iter().for_each(|event| _ = ledger.take(event));
        let account = ledger.account();
        let allocations = calls.iter().filter(|call| call.function == "cuMemAlloc_v2").count() as u64;
        assert_eq!(account.memory(Memory::Device).fresh.count, allocations);
        assert_eq!(account.memory(Memory::Device).live, 0, "every object is gone");
        assert_eq!((account.made, account.ended), (2, 2));
        let named = items.iter().any(|item| matches!(item, Item::Name { name, .. } if name == "data \"1\""));
        assert!(named, "{items:?}");
        let has_items = items.iter().any(|item| matches!(item, Item::Items { items: 25, .. }));
        assert!(has_items, "{items:?}");
        let Some(Item::End(end)) = items.last() else { panic!("{items:?}") };
        assert_eq!(end.header.memory[Memory::Device as usize].live, 0, "the account ends with what is left");
    });
}

fn a_trace_by_the_api_begins_with_the_places_that_are_known_already() {
    let (_folder, path) = traced_to("t");
    alone(&[("SYNCEDMEM_ACCOUNT", "on"), ("TRACE_TO", path.to_str().unwrap())], || {
        let gpu = simulated_gpu();
        work(&gpu);
        let path = PathBuf::from(std::env::var("TRACE_TO").unwrap());
        assert_eq!(unsafe { syncedmem_trace_start(c_path(&path).as_ptr()) }, SYNCEDMEM_SUCCESS);
        work(&gpu);
        assert_eq!(syncedmem_trace_stop(), SYNCEDMEM_SUCCESS);
        let whole = std::fs::read(&path).unwrap();
        work(&gpu);
        assert!(std::fs::read(&path).unwrap() == whole, "nothing is recorded after the end");
        let items = read(&path);
        let mut known = HashSet::new();
        for item in &items {
            match item {
                Item::Site { site, place, .. } => {
                    assert!(!place.is_empty());
                    known.insert(*site);
                }
                Item::Event { event, .. } if event.site.0 != 0 => assert!(known.contains(&event.site), "{event:?}"),
                _ => {}
            }
        }
        assert!(!known.is_empty());
    });
}

fn a_call_site_has_its_frames_and_the_files_that_they_lie_in() {
    let (_folder, path) = traced_to("t");
    alone(&[("SYNCEDMEM_TRACE", path.to_str().unwrap())], || {
        Object::new(100).cpu_data().unwrap();
        let texts = Recorded::bytes_of_texts(Path::new(&std::env::var("SYNCEDMEM_TRACE").unwrap()));
        let of = |kind: Kind| texts.iter().filter(move |text| text.0 == kind);
        let (_, site, _) = of(Kind::Site).next().unwrap();
        let (_, number, frames) = of(Kind::Frames).next().unwrap();
        assert_eq!(number, site);
        assert!(!frames.is_empty() && frames.len() % 8 == 0);
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let is_program = |file: &&(Kind, u64, Vec<u8>)| file.2.ends_with(program.to_str().unwrap().as_bytes());
        let (_, base, file) = of(Kind::Module).find(is_program).unwrap();
        assert_eq!(usize::from(file[0]) + 1 + program.as_os_str().len(), file.len());
        let first = u64::from_le_bytes(*frames.first_chunk().unwrap());
        let own = a_call_site_has_its_frames_and_the_files_that_they_lie_in as *const () as usize as u64;
        assert!(first.abs_diff(own) < 1 << 30 && *base < own, "{first:x} {own:x} {base:x}");
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.lines().any(|line| line.starts_with(&format!("{base:x}-"))), "{base:x} is no mapping's start");
    });
}

fn threads_of_the_library_and_of_the_program_leave_a_trace_whose_slices_nest() {
    let (_folder, path) = traced_to("t");
    alone(&[("SYNCEDMEM_TRACE", path.to_str().unwrap()), ("SYNCEDMEM_ACCOUNT", "accesses")], || {
        let gpu = simulated_gpu();
        let gpu = &gpu;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| gpu.within(0, || work(gpu))));
            }
        });
        let path = PathBuf::from(std::env::var("SYNCEDMEM_TRACE").unwrap());
        let events = events_of(&read(&path), std::process::id());
        slices_nest(&events);
        let copies = events.iter().filter(|event| matches!(event.what, What::Completed { .. })).count();
        assert_eq!(copies, 4 * 20 * 2);
        let mut ledger = Ledger::new();
        events.iter().for_each(|event| _ = ledger.take(event));
        let account = ledger.account();
        assert_eq!((account.made, account.ended), (160, 160));
        for kind in Memory::ALL {
            assert_eq!(account.memory(kind).live, 0, "{kind:?}");
        }
    });
}

/// On each thread, what takes time is apart or one is inside the other: viewers demand it.
fn slices_nest(events: &[Event]) {
    let mut threads: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for event in events.iter().filter(|event| event.duration > 0) {
        threads.entry(event.thread).or_default().push((event.start, event.end()));
    }
    for (thread, mut slices) in threads {
        slices.sort_by_key(|&(begin, end)| (begin, std::cmp::Reverse(end)));
        let mut open: Vec<(u64, u64)> = Vec::new();
        for slice in slices {
            while open.last().is_some_and(|outer| outer.1 <= slice.0) {
                open.pop();
            }
            assert!(open.last().is_none_or(|outer| slice.1 <= outer.1), "on {thread} {slice:?} sticks out of {open:?}");
            open.push(slice);
        }
    }
}

fn a_trace_that_cannot_begin_leaves_nothing_traced() {
    alone(&[], || {
        let folder = Folder::new();
        let [path, no_path] = ["t", "no/t"].map(|name| c_path(&folder.path(name)));
        assert_eq!(unsafe { syncedmem_trace_start(path.as_ptr()) }, SYNCEDMEM_SUCCESS);
        assert!(flags::has(flags::TRACE));
        assert_eq!(unsafe { syncedmem_trace_start(no_path.as_ptr()) }, SYNCEDMEM_ERROR_FILE);
        assert!(flags::off(), "nothing records");
    });
}

fn a_file_that_cannot_be_is_said_once_and_the_program_goes_on() {
    let said = alone(&[("SYNCEDMEM_TRACE", "/no/such/folder/t")], || {
        let gpu = simulated_gpu();
        work(&gpu);
        work(&gpu);
    });
    assert!(inside() || said.matches("libsyncedmem: SYNCEDMEM_TRACE=/no/such/folder/t").count() == 1, "{said}");
}

fn a_profiler_sees_ranges_around_what_takes_time() {
    let folder = Folder::new();
    let (tool, log) = (folder.path("libfake.so"), folder.path("log"));
    if !inside() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp_tests/fake_profiler/fake.c");
        folder.compile("libfake.so", &[Path::new("-shared"), Path::new("-fPIC"), &source]);
    }
    let environment = [("NVTX_INJECTION64_PATH", tool.to_str().unwrap()), ("FAKE_PROFILER", log.to_str().unwrap())];
    alone(&environment, || {
        let gpu = simulated_gpu();
        work(&gpu);
        let log = std::fs::read_to_string(std::env::var("FAKE_PROFILER").unwrap()).unwrap();
        let mut open = 0;
        for line in log.lines() {
            open += i32::from(line.starts_with("push")) - i32::from(line.starts_with("pop"));
            assert!((0..=2).contains(&open), "{log}");
        }
        assert_eq!(open, 0, "each range ends: {log}");
        let count = |title: &str, bytes: usize| log.matches(&format!("ours 3 48 {title} {bytes} at")).count();
        assert_eq!(count("copy to device", BYTES), 1, "{log}");
        assert_eq!(count("copy to host", BYTES), 1, "{log}");
        assert_eq!(count("copy to host", 3 << 20), 1, "{log}");
        assert_eq!(count("start copy to device", BYTES) + count("start copy to host", BYTES), 2, "{log}");
        assert!(count("wait for copy", 0) >= 2, "{log}");
        assert_eq!(count("allocate device", BYTES) + count("allocate device", 3 << 20), 2, "{log}");
    });
}

crate::support::harness::tests![
    a_trace_by_the_environment_tells_what_the_drivers_log_tells,
    a_trace_by_the_api_begins_with_the_places_that_are_known_already,
    a_call_site_has_its_frames_and_the_files_that_they_lie_in,
    threads_of_the_library_and_of_the_program_leave_a_trace_whose_slices_nest,
    a_trace_that_cannot_begin_leaves_nothing_traced,
    a_file_that_cannot_be_is_said_once_and_the_program_goes_on,
    a_profiler_sees_ranges_around_what_takes_time,
];
