//! How much may lie idle, for how long, and who gets it before a request fails.

use crate::clock;
use crate::mappings::mappings;
use crate::support::pools::*;
use crate::support::*;

#[test(alone)]
fn the_default_budget_is_a_share_of_the_processs_memory() {
    let bytes = budget(PAGEABLE);
    let machine = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) * libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    assert!(bytes > 0 && bytes <= machine / 4, "{bytes} of {machine}");
    let pinned = budget(PINNED);
    assert!(pinned > 0 && pinned <= bytes / 4 + 1, "{pinned}");
}

#[test(alone, ("SYNCEDMEM_POOL_BUDGET", "64K"))]
fn a_budget_of_almost_nothing_keeps_what_it_has_room_for() {
    assert_eq!(budget(PAGEABLE), 64 * KIB);
    drop([filled(40 * KIB, 1), filled(40 * KIB, 1)]);
    assert!((40 * KIB..=64 * KIB).contains(&idle(PAGEABLE)), "one of two: {}", idle(PAGEABLE));
    let address = filled(40 * KIB, 1).host_address();
    drop([filled(100 * KIB, 1), filled(5 * MIB, 1)]);
    assert_eq!(filled(40 * KIB, 1).host_address(), address, "what has no room drives nothing out");
}

#[test(alone, ("SYNCEDMEM_POOL_BUDGET", "1G"))]
fn a_budget_may_be_changed_at_any_time_and_the_oldest_blocks_go_first() {
    let objects = [3, 5, 7].map(|size| filled(size * MIB, 1));
    let addresses = objects.each_ref().map(|object| object.host_address());
    for object in objects {
        drop(object);
    }
    assert_eq!(idle(PAGEABLE), 15 * MIB);
    set_budget(14 * MIB);
    assert_eq!((budget(PAGEABLE), idle(PAGEABLE)), (14 * MIB, 12 * MIB));
    let middle = filled(5 * MIB, 1);
    assert_eq!(middle.host_address(), addresses[1]);
    // Now it is the younger one.
    drop(middle);
    set_budget(6 * MIB);
    assert_eq!(idle(PAGEABLE), 5 * MIB);
    set_budget(0);
    assert_eq!(idle(PAGEABLE), 0);
    give_back(3 * MIB, 1);
    assert_eq!(idle(PAGEABLE), 0);
    set_budget(usize::MAX);
    give_back(3 * MIB, 1);
    assert_eq!(idle(PAGEABLE), 3 * MIB);
}

#[test(alone, ("SYNCEDMEM_POOL_AGE", "0.2"))]
fn blocks_that_grow_old_are_given_back_to_the_system() {
    clock::stop();
    drop([40, 24].map(|size| filled(size * MIB, 1)));
    let before = resident();
    clock::pass(200);
    clock::have_idle_blocks_looked_at();
    assert_eq!(idle(PAGEABLE), 64 * MIB, "they are as old as they may be");
    clock::pass(1);
    until(|| idle(PAGEABLE) == 0);
    until(|| before.saturating_sub(resident()) >= 60 * MIB);
}

#[test(alone, ("SYNCEDMEM_POOL_AGE", "0.2"))]
fn a_block_that_is_used_again_and_again_does_not_grow_old() {
    clock::stop();
    give_back(3 * MIB, 1);
    mappings();
    for _ in 0..10 {
        clock::pass(150);
        clock::have_idle_blocks_looked_at();
        give_back(3 * MIB, 1);
    }
    assert_eq!(mappings(), (0, 0));
}

#[test(alone)]
fn trim_gives_everything_idle_back_to_the_system() {
    // Mapped, and of malloc's.
    for (count, bytes) in [(4, 16 * MIB), (64, MIB)] {
        for memory in [PAGEABLE, ALL] {
            let before = resident();
            drop((0..count).map(|_| filled(bytes, 1)).collect::<Vec<_>>());
            assert!(idle(memory) >= count * bytes && resident() >= before + 60 * MIB);
            trim(PINNED);
            trim(DEVICE);
            assert!(idle(PAGEABLE) >= count * bytes, "of another kind");
            trim(memory);
            assert_eq!(idle(ALL), 0);
            assert!(resident() <= before + 4 * MIB, "{} bytes stay of {bytes}", resident() - before);
        }
    }
}

/// Every block is made and given back as the originals were.
fn nothing_is_kept() {
    let threads_before = threads().len();
    for _ in 0..10 {
        mappings();
        let object = filled(4 * MIB, 1);
        let (made, _) = mappings();
        assert!(made >= 1);
        drop(object);
        assert_eq!(mappings(), (0, 1));
        for bytes in [100, 100_000] {
            give_back(bytes, 1);
        }
        assert_eq!(idle(ALL), 0);
    }
    assert!(threads().len() <= threads_before);
}

#[test(alone, ("SYNCEDMEM_POOL_BUDGET", "0"))]
fn without_pools_nothing_is_kept() {
    nothing_is_kept();
    set_budget(64 * MIB);
    give_back(5 * MIB, 1);
    assert_eq!(idle(PAGEABLE), 5 * MIB);
}

#[test(alone)]
fn pools_that_are_turned_off_give_back_what_they_kept() {
    drop([filled(5 * MIB, 1), filled(100_000, 1)]);
    set_pools(false);
    assert_eq!(idle(ALL), 0);
    nothing_is_kept();
}

#[test(alone, ("SYNCEDMEM_HOST_LIMIT", "8M"))]
fn idle_blocks_count_under_the_host_limit_and_go_before_a_request_fails() {
    // All of it was once in use: what is idle need not make room by itself.
    give_back(8 * MIB, 1);
    trim(ALL);
    drop([filled(4 * MIB, 1), filled(3 * MIB, 1)]);
    assert_eq!(idle(PAGEABLE), 7 * MIB);
    let six = filled(6 * MIB, 1);
    assert!(idle(PAGEABLE) <= 2 * MIB, "{} idle, 6 MiB in use, 8 allowed", idle(PAGEABLE));
    let mut more = Object::new(3 * MIB);
    assert_eq!(more.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert_has(&last_error(), &["SYNCEDMEM_HOST_LIMIT is 8388608 bytes (8.0 MiB)", "holds 6291456 bytes (6.0 MiB)"]);
    drop(six);
    assert!(more.cpu_data().is_ok());
}

/// Gives back a block of which nothing was written.
fn touched(bytes: usize) {
    Object::new(bytes).overwrite_cpu_data().unwrap();
}

#[test(alone)]
fn idle_blocks_go_before_the_address_space_is_exhausted() {
    // So much was once in use: what is idle need not make room by itself.
    touched(4096 * MIB);
    trim(PAGEABLE);
    touched(512 * MIB);
    assert_eq!(idle(PAGEABLE), 512 * MIB);
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let now = statm.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096;
    let limit = libc::rlimit { rlim_cur: now + (100 << 20), rlim_max: now + (100 << 20) };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    let mut larger = Object::new(400 * MIB);
    assert!(larger.overwrite_cpu_data().is_ok(), "{}", last_error());
    assert_eq!(idle(PAGEABLE), 0);
    let mut too_large = Object::new(4096 * MIB);
    assert_eq!(too_large.overwrite_cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
}

#[test]
fn a_value_without_meaning_or_effect_is_reported_once_and_the_default_holds() {
    for (variable, value, told) in [
        ("SYNCEDMEM_HOST_LIMIT", "lots", "SYNCEDMEM_HOST_LIMIT=lots is not a number of bytes"),
        ("SYNCEDMEM_PIN", "maybe", "SYNCEDMEM_PIN=maybe is not one of auto always never; using auto"),
        ("SYNCEDMEM_POOL_BUDGET", "some", "SYNCEDMEM_POOL_BUDGET=some is not a number of bytes"),
        ("SYNCEDMEM_POOL_AGE", "-3", "SYNCEDMEM_POOL_AGE=-3 is not a number of seconds; using 10"),
        ("SYNCEDMEM_POOL_AGE", "soon", "SYNCEDMEM_POOL_AGE=soon is not a number of seconds; using 10"),
        ("SYNCEDMEM_POOL_BUDGET", "1.5G", "SYNCEDMEM_POOL_BUDGET=1.5G is not a number of bytes"),
        ("SYNCEDMEM_TAKE_OVER", "yes", "SYNCEDMEM_TAKE_OVER=yes is not one of 0 1; using 0"),
        ("SYNCEDMEM_SHARE", "all", "SYNCEDMEM_SHARE=all has no effect without libsyncedmem_net.so"),
        ("SYNCEDMEM_PINNED_LIMIT", "-1", "SYNCEDMEM_PINNED_LIMIT=-1 is not a number of bytes"),
    ] {
        let errors = alone(&[("SYNCEDMEM_POOL_AGE", ""), (variable, value)], || {
            for _ in 0..3 {
                let address = give_back(3 * MIB, 1);
                assert_eq!(filled(3 * MIB, 1).host_address(), address);
            }
            let mut age = 0.0;
            assert_eq!(unsafe { syncedmem_get_pool_age(&mut age) }, SYNCEDMEM_SUCCESS);
            assert_eq!(age, 10.0);
        });
        if !inside() {
            assert_eq!(errors.matches(told).count(), 1, "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}

#[test]
fn a_budget_of_all_kinds_and_ages_that_are_none_are_refused() {
    let mut bytes = 7usize;
    assert_eq!(unsafe { syncedmem_get_pool_budget(ALL, &mut bytes) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    for seconds in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(syncedmem_set_pool_age(seconds), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
    }
}
