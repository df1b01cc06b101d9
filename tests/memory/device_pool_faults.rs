//! Every driver call of a block that comes back fails in turn: no request gets a block that is in use or gone, nothing
//! leaks, and what fails says so or is found a way around.

use crate::support::pools::*;
use crate::support::*;

/// Statuses: a wrong call, no memory, an earlier kernel's failure, an unknown one.
const STATUSES: [i32; 4] = [1, 2, 719, 4242];

/// What a caller does with objects: its name, what makes the pools what they are before it, and the calls that fail in turn.
/// `true`: it was done.
type Deed = (&'static str, fn(&Gpu), fn(&Stream) -> bool);

const BYTES: usize = 5000;
const LARGE: usize = 2 * MIB;
/// Bytes of device memory.
const MEMORY: usize = 64 * MIB;

fn on_device(bytes: usize) -> Option<Object> {
    let mut object = Object::new(bytes);
    object.overwrite_gpu_data().is_ok().then_some(object)
}

fn on_host(bytes: usize) -> Option<Object> {
    Some(pools::on_host(bytes))
}

fn fill_pools(_: &Gpu) {
    drop([(); 2].map(|()| (on_device(BYTES), on_host(BYTES), on_host(LARGE))));
}

fn nothing(_: &Gpu) {
    trim(ALL);
}

const DEEDS: [Deed; 9] = [
    ("a device block comes back", fill_pools, |_| on_device(BYTES).is_some()),
    ("a page-locked block comes back", fill_pools, |_| on_host(BYTES).is_some()),
    ("a large page-locked block comes back", fill_pools, |_| on_host(LARGE).is_some()),
    ("a device block comes back as zeros", fill_pools, |_| Object::new(BYTES).gpu_data().is_ok()),
    ("a device block is made anew and kept", nothing, |_| on_device(BYTES).is_some()),
    ("a large page-locked block is made anew and kept", nothing, |_| on_host(LARGE).is_some()),
    ("everything is trimmed", fill_pools, |_| {
        trim(ALL);
        true
    }),
    ("a stream is declared, and its block comes back", fill_pools, |stream| {
        let Some(mut object) = on_device(BYTES) else { return false };
        let status = unsafe { syncedmem_record_stream(object.mem(), stream.handle().cast()) };
        drop(object);
        status == SYNCEDMEM_SUCCESS && on_device(BYTES).is_some()
    }),
    ("what lies idle makes room", fill_pools, |_| on_device(MEMORY - 2000).is_some()),
];

/// Afterwards the pools work: blocks are their objects' own, and what they hold stays.
fn works(gpu: &Gpu, what: &str) {
    let mut objects: Vec<_> = (0..3).map(|_| (on_device(BYTES), on_host(BYTES), on_host(LARGE))).collect();
    for (number, (device, host, large)) in objects.iter_mut().enumerate() {
        let (Some(device), Some(host), Some(large)) = (device, host, large) else { panic!("{what}: {}", last_error()) };
        gpu.write(device.device_address(), &pattern(number as u8 + 1, BYTES));
        host.fill_host(&pattern(number as u8 + 11, BYTES));
        unsafe { large.mutable_cpu_data().unwrap().write_bytes(number as u8 + 21, LARGE) };
    }
    for (number, objects) in objects.iter_mut().enumerate() {
        let (Some(device), Some(host), Some(large)) = objects else { panic!("{what}") };
        assert_bytes(&device.host_bytes(BYTES), &pattern(number as u8 + 1, BYTES), &what);
        assert_bytes(&host.host_bytes(BYTES), &pattern(number as u8 + 11, BYTES), &what);
        assert!(all_are(large.cpu_data().unwrap(), LARGE, number as u8 + 21), "{what}");
    }
}

/// With everything given back, nothing is left.
fn balances(gpu: &Gpu, what: &str) {
    // The library offers a block that the driver refused again when it frees another one.
    for _ in 0..3 {
        trim(ALL);
        let account = gpu.account();
        if account.device_blocks + account.pinned_blocks == 0 {
            break;
        }
        drop((on_device(BYTES), on_host(BYTES)));
    }
    let account = gpu.account();
    assert_eq!((account.device_blocks, account.pinned_blocks), (0, 0), "{what}");
    assert_eq!(idle(ALL), 0, "{what}");
    // After such memory is given back, the driver is asked for some again.
    let mut block = std::ptr::null_mut();
    gpu.within(0, || assert_eq!(gpu.cuMemHostAlloc(&mut block, 100, 0), 0));
    assert_eq!(unsafe { CaffeFreeHost(block, true) }, SYNCEDMEM_SUCCESS);
    set_pinned_limit(BYTES);
    assert!(on_host(BYTES).unwrap().is_pinned(), "{what}: something that is not page-locked any more is counted");
    trim(ALL);
    set_pinned_limit(usize::MAX);
    assert!(gpu.current().is_null(), "{what}: a context is left current");
}

fn every_fault(gpu: &Gpu, (name, prepare, work): Deed) -> usize {
    let (stream, mut count) = (gpu.stream(), 0);
    prepare(gpu);
    work(&stream);
    prepare(gpu);
    let (done, calls) = gpu.watch(|| work(&stream));
    assert!(done, "{name}: {}", last_error());
    balances(gpu, name);
    for fault in faults(&calls, &STATUSES).filter(|fault| !fault.is_unknown_block()) {
        let what = format!("{name}: {fault}");
        prepare(gpu);
        gpu.arm(&fault);
        let done = work(&stream);
        gpu.disarm(&fault);
        if !done {
            assert_ne!(last_error(), "", "{what}");
        }
        works(gpu, &what);
        balances(gpu, &what);
        count += 1;
    }
    count
}

/// A device that is soon full, and nothing that bounds what lies idle before.
const ROOM: [(&str, &str); 2] = [("SIMCUDA_MEMORY", "64M"), ("SYNCEDMEM_POOL_BUDGET", "1G")];

fn every_fault_of_every_deed(gpu: &Gpu) {
    let faults: usize = DEEDS.into_iter().map(|deed| every_fault(gpu, deed)).sum();
    println!("{faults} faults");
    assert!(faults > 200, "only {faults} faults");
}

#[test]
fn every_driver_call_around_a_block_that_comes_back_fails_in_turn() {
    alone_with_pools(&ROOM, every_fault_of_every_deed);
}

#[test(alone_with_driver, POOLS)]
fn a_synchronise_that_fails_clears_nothing() {
    let gpu = &simulated_gpu();
    for make in [on_device as fn(usize) -> Option<Object>, on_host] {
        // One of the two addresses is 0.
        let at = |object: &Object| object.device_address() + object.host_address();
        let address = at(&make(BYTES).unwrap());
        let others = STATUSES.map(|status| {
            gpu.fail("cuCtxSynchronize", 1, status);
            let other = make(BYTES).unwrap();
            assert!(gpu.has_failed("cuCtxSynchronize", status), "{status}: no context was synchronised");
            other
        });
        STATUSES.iter().zip(&others).for_each(|(status, other)| assert_ne!(at(other), address, "{status}"));
        gpu.control().simcuda_clear_faults();
        drop(others);
        trim(ALL);
    }
}
