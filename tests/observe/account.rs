//! The account of host memory: every figure after a known sequence of calls, and what is counted when.

use crate::support::figures::*;
use crate::support::plain::Plain;
use crate::support::pools::{MIB, PAGEABLE, budget, idle};
use crate::support::*;
use syncedmem::abi::c::account::syncedmem_accounting_t::*;

/// Small enough for malloc's cache, large enough for the pool, and its own mapping.
const SMALL: usize = 100;
const MIDDLE: usize = 50_000;
const LARGE: usize = 4 << 20;

#[test(alone, ON)]
fn every_figure_of_a_known_sequence_is_exact() {
    let mut small = Object::touched(Storage::cpu_data, SMALL);
    let mut middle = Object::touched(Storage::overwrite_cpu_data, MIDDLE);
    let large = Object::touched(Storage::mutable_cpu_data, LARGE);
    let mut expected = syncedmem_stats_t {
        pageable: syncedmem_memory_stats_t {
            live: (SMALL + MIDDLE + LARGE) as u64,
            peak: (SMALL + MIDDLE + LARGE) as u64,
            allocations: sum(3, SMALL + MIDDLE + LARGE),
            ..Default::default()
        },
        // The system gave LARGE as zeros.
        host_fills: sum(1, SMALL),
        host_reads: 1,
        host_writes: 1,
        host_overwrites: 1,
        objects_made: 3,
        ..Default::default()
    };
    assert_eq!(counts(), expected);

    // Data that is there already is not counted; the caller's memory is no allocation.
    let mut own = vec![0u8; MIDDLE];
    small.cpu_data().unwrap();
    assert_eq!(middle.set_cpu_data(own.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    middle.cpu_data().unwrap();
    drop(large);
    expected.pageable.live = SMALL as u64;
    expected.pageable.frees = sum(2, MIDDLE + LARGE);
    expected.objects_ended = 1;
    assert_eq!(counts(), expected);
    let kept = figures().pageable;
    assert_eq!((kept.idle, kept.budget), (idle(PAGEABLE) as u64, budget(PAGEABLE) as u64));
    assert!(kept.idle >= (MIDDLE + LARGE) as u64, "{kept:?}");

    let again = Object::touched(Storage::cpu_data, LARGE);
    drop((again, small, middle));
    expected.pageable.live = 0;
    expected.pageable.pool_hits = sum(1, LARGE);
    expected.pageable.frees = sum(4, SMALL + MIDDLE + 2 * LARGE);
    expected.host_fills = sum(2, SMALL + LARGE);
    expected.host_reads = 2;
    (expected.objects_made, expected.objects_ended) = (4, 4);
    assert_eq!(counts(), expected);
}

#[test(alone, ON, ("SYNCEDMEM_POOL_BUDGET", "0"))]
fn times_are_those_that_passed() {
    let start = std::time::Instant::now();
    for _ in 0..20 {
        Object::new(MIDDLE).cpu_data().unwrap();
    }
    let passed = start.elapsed().as_nanos() as u64;
    let stats = figures();
    let (made, filled) = (stats.pageable.allocations, stats.host_fills);
    assert_eq!((made.count, filled.count), (20, 20));
    assert!(made.nanoseconds > 0 && filled.nanoseconds > 0, "{made:?} {filled:?}");
    assert!(made.nanoseconds + filled.nanoseconds <= passed, "{made:?} {filled:?} in {passed} ns");
}

#[test(alone, ON)]
fn an_object_of_no_bytes_counts_as_one_and_has_no_memory() {
    let object = Object::touched(Storage::mutable_cpu_data, 0);
    drop(object);
    let expected = syncedmem_stats_t { objects_made: 1, objects_ended: 1, host_writes: 1, ..Default::default() };
    assert_eq!(syncedmem_stats_t { host_fills: Default::default(), ..counts() }, expected);
    assert_eq!(counts().host_fills.bytes, 0);
}

#[test(alone)]
fn without_accounting_there_is_what_lives_and_nothing_else() {
    let object = Object::touched(Storage::cpu_data, LARGE);
    assert_eq!(figures().pageable.live, LARGE as u64);
    let mut stats = counts();
    (stats.pageable.live, stats.pageable.peak) = (0, 0);
    assert_eq!(stats, syncedmem_stats_t::default());
    drop(object);
    assert_eq!(figures().pageable.live, 0);
}

#[test(alone, ON)]
fn as_much_is_written_as_the_caller_has_room_for() {
    let whole = size_of::<syncedmem_stats_t>();
    Object::new(SMALL).cpu_data().unwrap();
    let expected = counts();
    let mut larger = [0xA5A5_A5A5_A5A5_A5A5u64; size_of::<syncedmem_stats_t>() / 8 + 4];
    let ask = |words: &mut [u64], size: usize| {
        words[0] = size as u64;
        unsafe { syncedmem_stats(words.as_mut_ptr().cast()) }
    };
    assert_eq!(ask(&mut larger, whole + 32), SYNCEDMEM_SUCCESS);
    assert_eq!((larger[0], larger[whole / 8]), (whole as u64, 0xA5A5_A5A5_A5A5_A5A5), "it says how much it wrote");
    // Up to and with pageable memory's own members; the next member stays as it was.
    let first = std::mem::offset_of!(syncedmem_stats_t, pinned);
    let mut smaller = [0xA5A5_A5A5_A5A5_A5A5u64; size_of::<syncedmem_stats_t>() / 8];
    assert_eq!(ask(&mut smaller, first), SYNCEDMEM_SUCCESS);
    assert_eq!((smaller[0], smaller[first / 8]), (first as u64, 0xA5A5_A5A5_A5A5_A5A5));
    assert_eq!(smaller[2], expected.pageable.peak);
    for size in [0, 8, first - 1] {
        assert_eq!(ask(&mut smaller, size), SYNCEDMEM_ERROR_INVALID_ARGUMENT, "{size}");
    }
    assert_refused(unsafe { syncedmem_stats(std::ptr::null_mut()) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "NULL");
}

#[test(alone)]
fn accounting_that_begins_in_the_middle_counts_from_there() {
    let before = Object::touched(Storage::cpu_data, LARGE);
    let plain = Plain::new(MIDDLE);
    plain.cpu_data();
    plain.cpu_data();
    assert_eq!(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON as i32), SYNCEDMEM_SUCCESS);
    plain.cpu_data();
    let after = Object::touched(Storage::cpu_data, MIDDLE);
    let stats = counts();
    assert_eq!((stats.objects_made, stats.host_reads), (1, 1));
    assert_eq!(stats.pageable.allocations, sum(1, MIDDLE));
    // Blocks from before the account count as live.
    let live = (LARGE + 2 * MIDDLE) as u64;
    assert_eq!((stats.pageable.live, stats.pageable.peak), (live, live));
    drop((before, plain));
    let ended = counts();
    assert_eq!((ended.pageable.frees, ended.objects_ended), (sum(2, LARGE + MIDDLE), 2));
    assert_eq!((ended.pageable.live, ended.pageable.peak), (MIDDLE as u64, live));

    assert_eq!(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_OFF as i32), SYNCEDMEM_SUCCESS);
    Object::new(MIDDLE).cpu_data().unwrap();
    drop(after);
    let mut stopped = counts();
    assert_eq!(stopped.pageable.live, 0, "what is given back meanwhile does not live");
    stopped.pageable.live = ended.pageable.live;
    assert_eq!(stopped, ended, "what was counted stays, and nothing is added");
    assert_eq!(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON as i32), SYNCEDMEM_SUCCESS);
    assert_eq!(counts().pageable.live, 0);
}

#[test(alone, ON)]
fn what_is_accounted_for_is_asked_for_in_two_words() {
    let mut is = SYNCEDMEM_ACCOUNTING_OFF;
    let mut get = || {
        assert_eq!(unsafe { syncedmem_get_accounting(&mut is) }, SYNCEDMEM_SUCCESS);
        is
    };
    assert_eq!(get(), SYNCEDMEM_ACCOUNTING_ON);
    for what in [SYNCEDMEM_ACCOUNTING_OFF, SYNCEDMEM_ACCOUNTING_ON] {
        assert_eq!(syncedmem_set_accounting(what as i32), SYNCEDMEM_SUCCESS);
        assert_eq!(get(), what);
    }
    for other in [-1, 2] {
        assert_eq!(syncedmem_set_accounting(other), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    }
    assert_eq!(get(), SYNCEDMEM_ACCOUNTING_ON);
    assert_eq!(unsafe { syncedmem_get_accounting(std::ptr::null_mut()) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
}

#[test(alone, ON, ("SYNCEDMEM_HOST_LIMIT", "1M"))]
fn memory_that_runs_out_is_a_failure_of_so_many_bytes() {
    assert_eq!(syncedmem_set_error_policy(1), SYNCEDMEM_SUCCESS);
    let fits = Object::touched(Storage::cpu_data, MIB / 2);
    let mut too_large = Object::new(MIB);
    for _ in 0..3 {
        assert_eq!(too_large.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    }
    let mut absurd = Object::new(usize::MAX / 512);
    assert_eq!(absurd.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    let stats = counts();
    assert_eq!(stats.host_failures, sum(4, 3 * MIB + usize::MAX / 512));
    assert_eq!((stats.pageable.allocations, stats.pageable.live), (sum(1, MIB / 2), (MIB / 2) as u64));
    assert_eq!(stats.host_fills, sum(1, MIB / 2));
    drop(fits);
    too_large.cpu_data().unwrap();
    assert_eq!(counts().host_failures.count, 4);
}

#[test(alone, ON)]
fn a_forked_child_counts_its_own() {
    let mut object = Object::touched(Storage::cpu_data, LARGE);
    let before = counts();
    in_a_child(|| {
        assert_eq!(counts(), syncedmem_stats_t { pageable: counts().pageable, ..Default::default() });
        assert_eq!(counts().pageable.allocations, sum(0, 0));
        object.cpu_data().unwrap();
        Object::new(MIDDLE).cpu_data().unwrap();
        let stats = counts();
        assert_eq!((stats.objects_made, stats.objects_ended, stats.host_reads), (1, 1, 1));
        assert_eq!((stats.pageable.allocations, stats.pageable.frees), (sum(1, MIDDLE), sum(1, MIDDLE)));
        assert_eq!(stats.pageable.live, LARGE as u64);
    });
    assert_eq!(counts(), before, "the parent's are its own");
}
