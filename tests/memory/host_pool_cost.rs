//! What a block that comes back costs: no page fault; and the thread that looks after idle ones.

use crate::clock;
use crate::support::pools::*;
use crate::support::*;

const SIZES: [usize; 5] = [64 * KIB, MIB, 2 * MIB, 7 * MIB + 4097, 64 * MIB];
const PAIRS: usize = 200;

/// Acquires and gives back a block of each size, time after time.
fn pairs() {
    for bytes in [SIZES; PAIRS].into_iter().flatten() {
        unsafe { Object::new(bytes).cpu_data().unwrap().write(1) };
    }
}

#[test(alone)]
fn a_block_that_comes_back_costs_no_page_fault() {
    // All of them were once in use together.
    drop(SIZES.map(|bytes| filled(bytes, 1)));
    pairs();
    let before = page_faults(libc::RUSAGE_THREAD);
    pairs();
    // A fresh block of the smallest size has sixteen. The system may take a page away by itself, where memory is scarce.
    let each = (page_faults(libc::RUSAGE_THREAD) - before) as f64 / PAIRS as f64;
    assert!(each < 1.0, "{each} for each block of every size");
}

#[test(alone, ("SYNCEDMEM_POOL_BUDGET", "0"))]
fn a_block_that_is_made_anew_costs_page_faults() {
    let before = page_faults(libc::RUSAGE_THREAD);
    give_back(7 * MIB, 1);
    assert!(page_faults(libc::RUSAGE_THREAD) - before > 0);
}

#[test(alone)]
fn nothing_is_started_before_something_is_kept() {
    let before = threads();
    drop([filled(100, 1), filled(32 * KIB, 1)]);
    let mut object = filled(5 * MIB, 1);
    assert!(object.cpu_data().is_ok());
    assert_eq!(threads(), before);
}

#[test(alone, ("SYNCEDMEM_POOL_AGE", "0.1"))]
fn the_thread_that_looks_after_idle_blocks_takes_no_signal_and_ends_when_there_is_none() {
    // No block is given back, and so the thread does not end, before it is looked at.
    clock::stop();
    let before = threads();
    for round in 0..3 {
        give_back(5 * MIB, 1);
        let new: Vec<_> = threads().into_iter().filter(|thread| !before.contains(thread)).collect();
        assert_eq!(new.len(), 1, "round {round}: one thread, whatever is kept");
        // All that can be blocked, but the two that the C library keeps for itself: proc_pid_status(5), SigBlk.
        let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", new[0])).unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
        let blocked = u64::from_str_radix(blocked, 16).unwrap();
        let all = !(1u64 << 31 | 1 << 32 | 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1));
        assert_eq!(blocked & all, all, "{blocked:x}");
        clock::pass(200);
        until(|| idle(PAGEABLE) == 0);
        until(|| threads() == before);
    }
}

#[test(alone, ("SYNCEDMEM_POOL_AGE", "3600"))]
fn a_long_age_that_is_made_short_holds_soon() {
    give_back(5 * MIB, 1);
    assert_eq!(idle(PAGEABLE), 5 * MIB);
    set_age(0.05);
    until(|| idle(PAGEABLE) == 0);
}
