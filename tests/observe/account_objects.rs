//! Objects in the account: their accesses, however they are made, their names, and who held memory at its peak.

use crate::support::figures::*;
use crate::support::plain::Plain;
use crate::support::pools::{KIB, MIB};
use crate::support::traced::{self, in_a_traced_process};
use crate::support::*;
use syncedmem::abi::c::account::syncedmem_accounting_t::*;
use syncedmem::abi::caffe;
use syncedmem::state::fast_path;
use syncedmem_core::head::{Access, Side};

/// Small enough for malloc's cache, large enough for the pool, and its own mapping.
const SMALL: usize = 100;
const MIDDLE: usize = 50_000;
const LARGE: usize = 4 << 20;

/// An object with a host block and a name.
fn named(bytes: usize, name: &str) -> Object {
    let mut object = Object::touched(Storage::overwrite_cpu_data, bytes);
    assert_eq!(set_name(object.mem(), name), SYNCEDMEM_SUCCESS);
    object
}

#[test]
fn the_trace_says_who_held_the_memory_at_its_peak() {
    in_a_traced_process(&[], || {
        let mut names = vec![named(3 * MIB, "weights"), named(2 * MIB, "data")];
        // A name that is given before the memory counts from the first byte, and the last one counts.
        let mut object = Object::new(MIB);
        for name in ["first", "weights"] {
            assert_eq!(set_name(object.mem(), name), SYNCEDMEM_SUCCESS);
        }
        object.overwrite_cpu_data().unwrap();
        names.push(object);
        drop(names);
        let _late = named(5 * MIB, "late");
        let mib = MIB as u64;
        let expected = [("data".to_owned(), (2 * mib, 1)), ("weights".to_owned(), (4 * mib, 2))];
        assert_eq!(traced::at_peak(&traced::file()), expected.into());
    });
}

#[test(alone, ON)]
fn names_are_refused_where_they_cannot_be_kept() {
    let mut object = Object::new(SMALL);
    for kept in ["größe 🦀", &"x".repeat(SYNCEDMEM_NAME_BYTES)] {
        assert_eq!(set_name(object.mem(), kept), SYNCEDMEM_SUCCESS);
    }
    for refused in ["", &"x".repeat(SYNCEDMEM_NAME_BYTES + 1)] {
        assert_eq!(set_name(object.mem(), refused), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    }
    let mut refuses = |name| unsafe { syncedmem_set_name(object.mem(), name) } == SYNCEDMEM_ERROR_INVALID_ARGUMENT;
    assert!(refuses(c"\xFF\xFE".as_ptr()) && refuses(std::ptr::null()));
    assert!(last_error().contains("name is NULL"), "{}", last_error());
}

#[test(alone, ON)]
fn an_object_whose_constructor_was_inlined_counts_its_memory_and_its_end() {
    let plain = Plain::unseen(MIDDLE);
    plain.cpu_data();
    plain.cpu_data();
    assert_eq!(counts().pageable.allocations, sum(1, MIDDLE));
    drop(plain);
    let stats = counts();
    assert_eq!((stats.objects_made, stats.objects_ended, stats.pageable.live), (0, 1, 0));
}

#[test(alone, ON)]
fn peaks_begin_anew_where_they_are_reset() {
    let _stays = named(MIB, "stays");
    drop(named(LARGE, "goes"));
    let mut expected = counts();
    assert_eq!(expected.pageable.peak, (MIB + LARGE) as u64);
    assert_eq!(syncedmem_reset_peaks(), SYNCEDMEM_SUCCESS);
    expected.pageable.peak = MIB as u64;
    assert_eq!(counts(), expected, "only the peak is another");
    drop(named(KIB, "more"));
    assert_eq!(figures().pageable.peak, (MIB + KIB) as u64);
}

#[test(alone, ON)]
fn every_access_that_needs_work_is_counted_through_either_abi_by_every_thread() {
    const THREADS: usize = 4;
    const TURNS: u64 = 500;
    at_once(THREADS, |_| {
        for _ in 0..TURNS {
            let (mut object, plain) = (Object::new(SMALL), Plain::new(MIDDLE));
            object.cpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
            plain.mutable_cpu_data();
            plain.cpu_data();
        }
    });
    let (stats, turns) = (counts(), THREADS as u64 * TURNS);
    assert_eq!((stats.host_reads, stats.host_writes, stats.objects_made), (turns, turns, 2 * turns));
    assert_eq!((stats.pageable.live, allocated(&stats)), (0, 2 * turns));
}

fn allocated(stats: &syncedmem_stats_t) -> u64 {
    stats.pageable.allocations.count + stats.pageable.pool_hits.count
}

/// An accessor of C++ returns the object's pointer, and the library sees no call.
#[test(alone, ON)]
fn accesses_that_need_nothing_are_served_at_once() {
    let plain = Plain::new(SMALL);
    let access = || {
        plain.mutable_cpu_data();
        plain.cpu_data();
        let open = [Access::Read, Access::Write].map(|access| fast_path::deciding(access, Side::Host) != 0);
        (open, counts().host_reads)
    };
    assert_eq!(access(), ([true; 2], 0));
    for accounting in [SYNCEDMEM_ACCOUNTING_OFF, SYNCEDMEM_ACCOUNTING_ON] {
        assert_eq!(syncedmem_set_accounting(accounting as i32), SYNCEDMEM_SUCCESS);
        assert_eq!(access(), ([true; 2], 0), "{accounting:?}");
    }
}

#[test(alone, ON)]
fn an_object_that_grows_gives_its_block_back() {
    let plain = Plain::new(SMALL);
    plain.cpu_data();
    unsafe { caffe::resize(plain.this(), MIDDLE) };
    assert_eq!((counts().pageable.live, counts().pageable.frees), (0, sum(1, SMALL)));
    plain.cpu_data();
    let stats = counts();
    assert_eq!((stats.pageable.live, stats.objects_made), (MIDDLE as u64, 1));
    assert_eq!(stats.pageable.allocations, sum(2, SMALL + MIDDLE));
}
