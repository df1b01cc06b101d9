//! What the library itself traces, on the simulated driver: the trace obeys the format, and has the copies and
//! allocations that the driver's own log has.

use std::collections::{HashMap, HashSet};

use crate::support::traced::{self, in_a_traced_process};
use crate::support::*;
use crate::trace::reader::Item;
use crate::trace::*;
use syncedmem::state::flags;
use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, What};

const BYTES: usize = 100_000;

/// A few objects that cross in every way: by accessors, by streams, with a name and items.
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
    let mut other = Object::touched(Storage::mutable_gpu_data, 3 << 20);
    other.cpu_data().unwrap();
    other.release_gpu();
}

fn copied(events: &[Event], to: Side) -> Vec<u64> {
    let copied = events.iter().filter_map(|event| match event.what {
        What::Copied { to: side, bytes, .. } | What::Started { to: side, bytes, .. } if side == to => Some(bytes),
        _ => None,
    });
    copied.collect()
}

#[test]
fn a_trace_by_the_environment_tells_what_the_drivers_log_tells() {
    in_a_traced_process(&[], || {
        let gpu = simulated_gpu();
        let (_, calls) = gpu.watch(|| work(&gpu));
        let (items, events) = (traced::items().collect::<Vec<_>>(), traced::events());
        let logged = |kind: &str| -> Vec<u64> {
            let copies = calls.iter().filter(|call| call.field("kind") == Some(kind));
            copies.map(|call| call.field("bytes").expect("a copy has bytes").parse().unwrap()).collect()
        };
        assert_eq!(copied(&events, Side::Device), logged("HtoD"));
        assert_eq!(copied(&events, Side::Host), logged("DtoH"));
        let account = traced::accounts()[&std::process::id()];
        let allocations = calls.iter().filter(|call| call.function == "cuMemAlloc_v2").count() as u64;
        assert_eq!(account.memory(Kind::Device).fresh.count, allocations);
        assert_eq!(account.memory(Kind::Device).live, 0, "every object is gone");
        assert_eq!((account.made(), account.ended()), (2, 2));
        let has = |of: &dyn Fn(&Item) -> bool| items.iter().any(of);
        assert!(has(&|item| matches!(item, Item::Name { name, .. } if name == "data \"1\"")), "{items:?}");
        assert!(has(&|item| matches!(item, Item::Items { items: 25, .. })), "{items:?}");
    });
}

#[test(alone, ("SYNCEDMEM_ACCOUNT", "on"))]
fn a_trace_by_the_api_begins_with_the_places_that_are_known_already() {
    let (gpu, folder) = (simulated_gpu(), Folder::new());
    work(&gpu);
    let path = folder.path("t");
    assert_eq!(unsafe { syncedmem_trace_start(c_path(&path).as_ptr()) }, SYNCEDMEM_SUCCESS);
    work(&gpu);
    assert_eq!(syncedmem_trace_stop(), SYNCEDMEM_SUCCESS);
    let whole = std::fs::read(&path).unwrap();
    work(&gpu);
    assert!(std::fs::read(&path).unwrap() == whole, "nothing is recorded after the end");
    let mut known = HashSet::new();
    for item in read(&path) {
        match item {
            Item::Site { place, .. } if place.is_empty() => panic!("a place without a name"),
            Item::Site { site, .. } => _ = known.insert(site),
            Item::Event(event) if event.site.0 != 0 => assert!(known.contains(&event.site), "{event:?}"),
            _ => {}
        }
    }
    assert!(!known.is_empty());
}

#[test]
fn threads_of_the_library_and_of_the_program_leave_a_trace_whose_slices_nest() {
    in_a_traced_process(&[("SYNCEDMEM_ACCOUNT", "on")], || {
        let gpu = &simulated_gpu();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| gpu.within(0, || work(gpu))));
            }
        });
        let events = traced::events();
        let mut slices: HashMap<u32, Vec<_>> = HashMap::new();
        for event in events.iter().filter(|event| event.duration > 0) {
            slices.entry(event.thread).or_default().push((event.start, event.end()));
        }
        events::nested(slices);
        let copies = events.iter().filter(|event| matches!(event.what, What::Completed { .. })).count();
        assert_eq!(copies, 4 * 20 * 2);
        let account = traced::accounts()[&std::process::id()];
        assert_eq!((account.made(), account.ended()), (160, 160));
        for kind in Kind::ALL {
            assert_eq!(account.memory(kind).live, 0, "{kind:?}");
        }
    });
}

#[test(alone)]
fn a_trace_that_cannot_begin_leaves_nothing_traced() {
    let folder = Folder::new();
    let [path, no_path] = ["t", "no/t"].map(|name| c_path(&folder.path(name)));
    assert_eq!(unsafe { syncedmem_trace_start(path.as_ptr()) }, SYNCEDMEM_SUCCESS);
    assert!(flags::has(flags::TRACE));
    assert_eq!(unsafe { syncedmem_trace_start(no_path.as_ptr()) }, SYNCEDMEM_ERROR_FILE);
    assert!(!flags::is_observed(), "nothing records");
}

#[test]
fn a_file_that_cannot_be_is_said_once_and_the_program_goes_on() {
    let said = alone(&[("SYNCEDMEM_TRACE", "/no/such/folder/t")], || {
        let gpu = simulated_gpu();
        work(&gpu);
        work(&gpu);
    });
    assert!(inside() || said.matches("libsyncedmem: SYNCEDMEM_TRACE=/no/such/folder/t").count() == 1, "{said}");
}
