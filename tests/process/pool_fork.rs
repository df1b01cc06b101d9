//! Forks of a process whose pools are full. The child reuses pageable blocks and does not touch the others; the parent is not
//! affected.

use crate::support::pools::*;
use crate::support::*;

/// Makes idle blocks and returns their addresses: pageable, small and large page-locked ones, and one on the device.
fn fill_pools() -> [usize; 4] {
    let pinned = |bytes| {
        let _pinning = Pinning::always();
        filled(bytes, 2)
    };
    let on_device = Object::touched(Storage::overwrite_gpu_data, 5000);
    let objects = [filled(MIB, 1), pinned(5000), pinned(3 * MIB)];
    let addresses = [0, 1, 2].map(|at| objects[at].host_address());
    [addresses[0], addresses[1], addresses[2], on_device.device_address()]
}

#[test(alone)]
fn a_child_goes_on_with_what_is_idle_and_pageable() {
    let address = give_back(5 * MIB, 1);
    in_a_child(|| {
        assert_eq!(idle(PAGEABLE), 5 * MIB);
        let mut object = Object::new(5 * MIB);
        let data = object.cpu_data().unwrap();
        assert_eq!(data.addr(), address);
        assert!(all_zero(data, 5 * MIB));
        drop(object);
        trim(ALL);
        assert_eq!(idle(ALL), 0);
        give_back(5 * MIB, 3);
    });
    let mut object = Object::new(5 * MIB);
    let data = object.overwrite_cpu_data().unwrap();
    assert_eq!(data.addr(), address);
    assert!(all_are(data, 5 * MIB, 1), "what the child did there is its own");
}

#[test(alone, ("SYNCEDMEM_POOL_AGE", "0.1"))]
fn a_childs_idle_blocks_grow_old_as_its_parents_do() {
    give_back(5 * MIB, 1);
    in_a_child(|| {
        // Fork does not copy the thread that frees idle blocks: the next kept block starts another one.
        give_back(MIB, 1);
        until(|| idle(PAGEABLE) == 0);
    });
    until(|| idle(PAGEABLE) == 0);
}

#[test(alone_with_driver, POOLS)]
fn a_child_calls_no_driver_whatever_lies_idle() {
    let _gpu = simulated_gpu();
    let addresses = fill_pools();
    let before = (idle(PAGEABLE), idle(PINNED), idle(DEVICE));
    assert!(before.0 > 0 && before.1 > 0 && before.2 > 0);
    in_a_child(|| {
        let _pinning = Pinning::always();
        for bytes in [5000, MIB, 3 * MIB] {
            let mut object = filled(bytes, 4);
            assert!(!object.is_pinned(), "what is page-locked is the parent's");
            assert!(!addresses[1..].contains(&object.host_address()));
            assert_eq!(object.gpu_data(), Err(SYNCEDMEM_ERROR_NO_GPU));
        }
        for memory in [PAGEABLE, PINNED, DEVICE, ALL] {
            trim(memory);
        }
        set_pools(false);
        set_pools(true);
        set_age(0.01);
        give_back(MIB, 1);
    });
    assert_eq!((idle(PAGEABLE), idle(PINNED), idle(DEVICE)), before);
    assert_eq!(fill_pools(), addresses, "the parent goes on with its own");
}

#[test]
fn forks_while_threads_empty_and_fill_the_pools_leave_every_lock_free() {
    const FORKS: usize = 200;
    alone(&[("SYNCEDMEM_POOL_AGE", "0.01")], || {
        let empty_and_fill = |thread, _| match thread {
            0 => trim(ALL),
            1 => set_budget(if idle(PAGEABLE) > MIB { 0 } else { 64 * MIB }),
            _ => drop([filled(100_000, 1), filled(2 * MIB, 1)]),
        };
        let child = || {
            for bytes in [100_000, 2 * MIB] {
                let mut object = Object::new(bytes);
                assert!(all_zero(object.cpu_data().unwrap(), bytes));
            }
            trim(ALL);
        };
        beside(4, empty_and_fill, || (0..FORKS).for_each(|_| in_a_child(child)));
    });
}
