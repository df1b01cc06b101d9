//! Many readers of one object: one of them allocates and fills, and all get the same address.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::allocator::{ALLOCATED, AWAITED, FOLLOWED, MADE, WATCHED, live};
use crate::support::plain::Plain;
use crate::support::*;
use syncedmem::abi::caffe;

const THREADS: usize = 8;

impl Shared {
    fn create(bytes: usize) -> Shared {
        let mut mem = std::ptr::null_mut();
        assert_eq!(unsafe { syncedmem_create(bytes, &mut mem) }, SYNCEDMEM_SUCCESS);
        Shared(mem)
    }

    fn destroy(self) {
        assert_eq!(unsafe { syncedmem_destroy(self.0) }, SYNCEDMEM_SUCCESS);
    }
}

#[test]
fn exactly_one_of_many_readers_allocates_and_all_get_the_same_address() {
    const ROUNDS: usize = 200;
    // Every round allocates: no block comes from the round before.
    assert_eq!(syncedmem_set_pool_budget(0), SYNCEDMEM_SUCCESS);
    for round in 1..=ROUNDS {
        let shared = Shared::create(WATCHED);
        let addresses = at_once(THREADS, |_| {
            let data = { shared }.read(false).unwrap();
            assert!(all_zero(data, WATCHED));
            data.addr()
        });
        assert!(addresses.iter().all(|&address| address == addresses[0]));
        assert_eq!(ALLOCATED.load(Ordering::Relaxed), round);
        shared.destroy();
    }
}

/// Touches one object on all threads at once; returns how many blocks were made for it.
fn race(bytes: usize, touch: &(dyn Fn(&Plain) -> *const c_void + Sync)) -> usize {
    let object = Plain::new(bytes);
    let before = MADE.load(Ordering::Relaxed);
    AWAITED.store(before + 2, Ordering::Relaxed);
    let addresses = at_once(THREADS, |_| touch(&object).expose_provenance());
    assert!(addresses.iter().all(|&address| address == addresses[0]), "{addresses:x?}");
    assert_eq!(live(), 1, "{bytes}: the others are freed");
    assert!(all_zero(std::ptr::with_exposed_provenance(addresses[0]), bytes));
    drop(object);
    assert_eq!(live(), 0, "{bytes}");
    MADE.load(Ordering::Relaxed) - before
}

#[test]
fn of_many_first_touches_of_a_small_object_one_block_stays_and_the_others_are_freed() {
    const ROUNDS: usize = 20;
    let touches: [&(dyn Fn(&Plain) -> *const c_void + Sync); 3] = [
        &|object| unsafe { caffe::cpu_data(object.this()) },
        &|object| unsafe { caffe::mutable_cpu_data(object.this()) },
        &|object| {
            let mut data = std::ptr::null();
            let mem = object.this().cast_mut().cast();
            assert_eq!(unsafe { syncedmem_cpu_data(mem, &mut data) }, SYNCEDMEM_SUCCESS);
            data
        },
    ];
    alone(&[("SYNCEDMEM_POOL_BUDGET", "0")], || {
        // The settings have been read, so the short path is open.
        Plain::new(8).cpu_data();
        for bytes in FOLLOWED {
            for touch in touches {
                (0..ROUNDS).for_each(|_| assert!(race(bytes, touch) > 1, "{bytes}: no two threads came at once"));
            }
        }
    });
}
