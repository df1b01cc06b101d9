//! Objects in the account: their accesses, however they are made, their names, and who held memory at its peak.

use crate::support::figures::*;
use crate::support::plain::Plain;
use crate::support::pools::{KIB, MIB};
use crate::support::*;
use syncedmem::abi::c::account::syncedmem_accounting_t::*;
use syncedmem::abi::caffe;
use syncedmem::state::fast_path;
use syncedmem_trace::head::{Access, Side};

/// Small enough for malloc's cache, large enough for the pool, and a mapping of its own.
const SMALL: usize = 100;
const MIDDLE: usize = 50_000;
const LARGE: usize = 4 << 20;

/// An object with a host block and a name.
fn named(bytes: usize, name: &str) -> Object {
    let mut object = Object::touched(Storage::overwrite_cpu_data, bytes);
    assert_eq!(set_name(object.mem(), name), SYNCEDMEM_SUCCESS);
    object
}

/// The holders of pageable memory at its peak, as a report lists them.
fn at_peak(report: &str) -> Vec<String> {
    let lines = report.lines().skip_while(|line| !line.starts_with("pageable memory: ")).skip(1);
    let words = lines.take_while(|line| line.contains(" in ")).map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.map(|words| words.join(" ")).collect()
}

fn the_report_says_who_held_the_memory_at_its_peak() {
    let all = [named(3 * MIB, "weights"), named(2 * MIB, "data"), named(MIB, "weights")];
    // The peak is over, and another object holds memory now.
    drop(all);
    let _late = named(5 * MIB, "late");
    let report = report();
    assert_eq!(at_peak(&report), ["4.0 MiB in 2 blocks weights", "2.0 MiB in 1 block data"]);
    assert!(report.contains("\npageable memory: 6.0 MiB at its peak, 5.0 MiB now\n"), "{report}");
    assert!(report.contains("objects made: 4, ended: 3, alive: 1\n"), "{report}");
    assert_eq!(figures().pageable.peak, 6 << 20);
}

fn a_name_that_is_given_before_memory_counts_from_the_first_byte() {
    let mut object = Object::new(MIB);
    for name in ["first", "second"] {
        assert_eq!(set_name(object.mem(), name), SYNCEDMEM_SUCCESS);
    }
    object.overwrite_cpu_data().unwrap();
    assert_eq!(at_peak(&report()), ["1.0 MiB in 1 block second"]);
    assert_eq!(set_name(object.mem(), "third"), SYNCEDMEM_SUCCESS);
    assert_eq!(name(object.mem()), "third");
}

fn peaks_begin_anew_where_they_are_reset() {
    let _stays = named(MIB, "stays");
    drop(named(LARGE, "goes"));
    let mut expected = counts();
    assert_eq!(expected.pageable.peak, (MIB + LARGE) as u64);
    assert_eq!(syncedmem_reset_peaks(), SYNCEDMEM_SUCCESS);
    expected.pageable.peak = MIB as u64;
    assert_eq!(counts(), expected, "only the peak is another");
    assert_eq!(at_peak(&report()), ["1.0 MiB in 1 block stays"]);
    drop(named(KIB, "more"));
    assert_eq!(figures().pageable.peak, (MIB + KIB) as u64);
}

fn names_are_kept_as_given_and_refused_where_they_cannot_be() {
    let mut object = Object::new(SMALL);
    assert_eq!(name(object.mem()), "");
    assert_eq!(set_name(object.mem(), "größe 🦀"), SYNCEDMEM_SUCCESS);
    for refused in ["", &"x".repeat(SYNCEDMEM_NAME_BYTES + 1)] {
        assert_eq!(set_name(object.mem(), refused), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    }
    let mut refuses = |name| unsafe { syncedmem_set_name(object.mem(), name) } == SYNCEDMEM_ERROR_INVALID_ARGUMENT;
    assert!(refuses(c"\xFF\xFE".as_ptr()) && refuses(std::ptr::null()));
    assert!(last_error().contains("name is NULL"), "{}", last_error());
    assert_eq!(name(object.mem()), "größe 🦀", "what was refused changed nothing");
    let longest = "x".repeat(SYNCEDMEM_NAME_BYTES);
    assert_eq!(set_name(object.mem(), &longest), SYNCEDMEM_SUCCESS);
    assert_eq!(name(object.mem()), longest);
    let (mut text, mut length) = ([b'?'; 8], 0);
    let status = unsafe { syncedmem_get_name(object.mem(), text.as_mut_ptr().cast(), 4, &mut length) };
    assert_eq!((status, length, &text), (SYNCEDMEM_SUCCESS, SYNCEDMEM_NAME_BYTES, b"xxx\0????"));
}

fn without_accounting_no_name_is_kept() {
    let mut object = Object::new(SMALL);
    assert_eq!(set_name(object.mem(), "unheard"), SYNCEDMEM_SUCCESS);
    assert_eq!(name(object.mem()), "");
}

fn every_access_through_either_abi_is_counted_by_every_thread() {
    const THREADS: usize = 4;
    const TURNS: u64 = 500;
    at_once(THREADS, |_| {
        let (mut object, plain) = (Object::new(SMALL), Plain::new(MIDDLE));
        for _ in 0..TURNS {
            object.cpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
            object.overwrite_cpu_data().unwrap();
            plain.cpu_data();
            plain.cpu_data();
            plain.mutable_cpu_data();
        }
    });
    let (stats, turns, objects) = (counts(), THREADS as u64 * TURNS, 2 * THREADS as u64);
    let all = sum(objects, THREADS * (SMALL + MIDDLE));
    let expected = syncedmem_stats_t {
        host_reads: 3 * turns,
        host_writes: 2 * turns,
        host_overwrites: turns,
        objects_made: objects,
        objects_ended: objects,
        host_fills: all,
        // What came from a pool, and what lived at once, depends on when the threads run.
        pageable: syncedmem_memory_stats_t { frees: all, ..stats.pageable },
        ..Default::default()
    };
    assert_eq!(stats, expected);
    assert_eq!((stats.pageable.live, allocated(&stats)), (0, objects));
}

fn allocated(stats: &syncedmem_stats_t) -> u64 {
    stats.pageable.allocations.count + stats.pageable.pool_hits.count
}

fn many_readers_of_one_object_are_counted_each() {
    const THREADS: usize = 8;
    for bytes in [SMALL, MIDDLE, LARGE] {
        let (before, plain) = (counts(), Plain::new(bytes));
        at_once(THREADS, |_| plain.cpu_data());
        let after = counts();
        assert_eq!(after.host_reads - before.host_reads, THREADS as u64, "{bytes} bytes");
        assert_eq!(allocated(&after) - allocated(&before), 1, "{bytes} bytes");
    }
}

/// Served at once: an accessor of C++ hands out what the object says, and the library never learns of it.
fn accesses_that_need_nothing_are_served_at_once_unless_they_are_counted() {
    let plain = Plain::new(SMALL);
    let access = || {
        plain.mutable_cpu_data();
        plain.cpu_data();
        let open = [Access::Read, Access::Write].map(|access| fast_path::deciding(access, Side::Host) != 0);
        (open, counts().host_reads)
    };
    assert_eq!(access(), ([true; 2], 0));
    for (accounting, open, reads) in [
        (SYNCEDMEM_ACCOUNTING_ACCESSES, false, 1),
        (SYNCEDMEM_ACCOUNTING_ON, true, 1),
        (SYNCEDMEM_ACCOUNTING_OFF, true, 1),
    ] {
        assert_eq!(syncedmem_set_accounting(accounting as i32), SYNCEDMEM_SUCCESS);
        assert_eq!(access(), ([open; 2], reads), "{accounting:?}");
    }
}

fn an_object_whose_constructor_was_inlined_is_noticed_at_its_first_access() {
    let plain = Plain::unseen(MIDDLE);
    plain.cpu_data();
    plain.cpu_data();
    let stats = counts();
    assert_eq!((stats.objects_made, stats.objects_unseen), (1, 1));
    assert_eq!(stats.pageable.allocations, sum(1, MIDDLE));
    assert!(report().contains("objects made: 1 (1 were first seen at an access"), "{}", report());
    drop(plain);
    assert_eq!((counts().objects_ended, counts().pageable.live), (1, 0));
    // The library never knew an object without an access, so its end is not counted.
    drop(Plain::unseen(MIDDLE));
    assert_eq!((counts().objects_made, counts().objects_ended), (1, 1));
}

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

crate::support::harness::tests![
    alone(&[ACCESSES]):
    every_access_through_either_abi_is_counted_by_every_thread,
    many_readers_of_one_object_are_counted_each;
    alone(&[]): without_accounting_no_name_is_kept;
    alone(&[ON]):
    the_report_says_who_held_the_memory_at_its_peak,
    a_name_that_is_given_before_memory_counts_from_the_first_byte,
    peaks_begin_anew_where_they_are_reset,
    names_are_kept_as_given_and_refused_where_they_cannot_be,
    accesses_that_need_nothing_are_served_at_once_unless_they_are_counted,
    an_object_whose_constructor_was_inlined_is_noticed_at_its_first_access,
    an_object_that_grows_gives_its_block_back,
];
