//! The account that a process gives of itself against the sums of its trace: they tell of the same, to the nanosecond.

use std::collections::BTreeMap;

use crate::support::figures::*;
use crate::support::pools::*;
use crate::support::traced::{accounts, in_a_traced_process};
use crate::support::*;
use syncedmem::observe::recorder;
use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Account, Sum};

/// What was counted: work, freed blocks, accesses, objects made and ended. Objects that the reader of a trace found at an
/// access are none.
#[derive(Debug, PartialEq)]
struct Counted {
    work: Vec<(String, Sum)>,
    freed: [Sum; 3],
    accesses: [[u64; 3]; 2],
    objects: [u64; 2],
}

fn counted(account: &Account) -> Counted {
    let accesses = |side| [Access::Read, Access::Write, Access::Overwrite].map(|access| account.accesses(side, access));
    Counted {
        work: account.work().map(|(work, sum)| (work.to_string(), sum)).collect(),
        freed: Kind::ALL.map(|kind| account.memory(kind).freed),
        accesses: [Side::Host, Side::Device].map(accesses),
        objects: [account.made() - account.made_unseen(), account.ended()],
    }
}

/// What each process counted by the events of the trace, and this one by its own counters.
fn both() -> (BTreeMap<u32, Counted>, Counted) {
    let traced = accounts().into_iter().map(|(process, account)| (process, counted(&account)));
    (traced.collect(), counted(&recorder::account()))
}

/// Host work of several kinds, with blocks that come and go.
fn host_work(turns: usize) {
    let mut own = vec![0u8; 60_000];
    for turn in 0..turns {
        let mut objects = [100, 5_000, 60_000, 3 << 20].map(Object::new);
        for (at, object) in objects.iter_mut().enumerate() {
            let access =
                [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data][((turn + at) % 4).min(2)];
            access(object).unwrap();
            object.cpu_data().unwrap();
        }
        assert_eq!(objects[2].set_cpu_data(own.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    }
}

#[test]
fn the_sums_of_a_trace_are_the_account() {
    in_a_traced_process(&[ON, POOLS], || {
        let gpu = simulated_gpu();
        let stream = gpu.stream();
        for turn in 0..40 {
            let _pinning = (turn % 2 == 0).then(Pinning::always);
            for bytes in [100, 60_000, 3 << 20] {
                let mut object = Object::touched(Storage::mutable_cpu_data, bytes);
                assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
                object.mutable_gpu_data().unwrap();
                assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
                object.mutable_cpu_data().unwrap();
                object.gpu_data().unwrap();
                let mut other = Object::touched(Storage::gpu_data, bytes);
                other.cpu_data().unwrap();
            }
        }
        host_work(20);
        gpu.set_memory(1 << 20);
        assert_eq!(Object::new(2 << 20).gpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        let is = figures();
        assert!(is.to_device_pageable.count > 0 && is.to_device_pinned.count > 0 && is.waits.count > 0, "{is:?}");
        assert!(is.device.pool_hits.count > 0 && is.synchronises.count > 0 && is.device_failures.count == 1, "{is:?}");
        let (traced, account) = both();
        assert_eq!(traced, [(std::process::id(), account)].into());
    });
}
