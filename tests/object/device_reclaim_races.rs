//! Evictions beside the users of what is evicted, and beside failures of the driver.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::evicting::*;
use crate::support::driver::Address;
use crate::support::pools::{ALL, trim};
use crate::support::states::*;
use crate::support::*;

const BYTES: usize = 16 << 10;
/// Blocks of `BYTES` that the device has room for.
const ROOM: usize = 4;

/// Lets the streams go on at the end of its scope, where a test has failed as well.
struct Release<'g>(&'g Gpu);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.control().simcuda_release_streams();
    }
}

impl Shared {
    fn end_access(self) {
        assert_eq!(unsafe { syncedmem_end_access(self.0) }, SYNCEDMEM_SUCCESS, "{}", last_error());
    }
}

/// What another thread does while an eviction of the first of two objects, which are all that the device has room for, waits
/// for the context: says whether the eviction comes to pass.
fn beside_an_eviction(act: impl FnOnce(&Gpu, &mut Object)) -> bool {
    let gpu = small_gpu(ROOM * BYTES);
    trim(ALL);
    let mut victim = evictable(&gpu, State::Synced, BYTES);
    let rest = gpu.block((ROOM - 1) * BYTES);
    let (stream, to) = (gpu.stream(), gpu.pinned(BYTES));
    // Something runs on that block until the streams are released.
    gpu.control().simcuda_hold_streams();
    let from = victim.device_address() as Address;
    gpu.within(0, || assert_eq!(gpu.cuMemcpyAsync(to.address as Address, from, BYTES, stream.handle()), 0));
    let waits = gpu.calls_of(c"cuCtxSynchronize");
    let outcome = std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            let mut other = Object::new(BYTES);
            other.overwrite_gpu_data().map(drop)
        });
        while gpu.calls_of(c"cuCtxSynchronize") == waits && !other.is_finished() {
            std::thread::yield_now();
        }
        {
            let _release = Release(&gpu);
            act(&gpu, &mut victim);
        }
        other.join().unwrap()
    });
    stream.synchronize();
    drop(rest);
    trim(ALL);
    if outcome.is_err() {
        assert_eq!(outcome, Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    }
    outcome.is_ok()
}

fn an_eviction_beside_which_nothing_is_done_comes_to_pass() {
    assert!(beside_an_eviction(|_, _| ()));
}

fn a_reader_that_comes_during_an_eviction_does_not_wait_and_keeps_the_object() {
    let evicted = beside_an_eviction(|gpu, victim| {
        let before = victim.device_address();
        let data = Shared(victim.mem()).read(true).unwrap();
        gpu.control().simcuda_release_streams();
        // The eviction is over when a writer has its turn.
        assert_eq!((victim.mutable_gpu_data(), victim.device_address()), (Ok(data), before));
        assert_bytes(&gpu.read(data.addr(), BYTES), &State::Synced.contents(BYTES), &"");
    });
    assert!(!evicted);
}

fn an_access_that_was_opened_and_ended_during_an_eviction_counts_for_its_work_on_the_device() {
    let evicted = beside_an_eviction(|_, victim| {
        // The eviction does not wait for work that this access has started.
        Shared(victim.mem()).read(true).unwrap();
        Shared(victim.mem()).end_access();
    });
    assert!(!evicted);
}

fn a_writer_that_comes_during_an_eviction_has_its_turn_afterwards() {
    beside_an_eviction(|gpu, victim| {
        gpu.control().simcuda_release_streams();
        let data = victim.mutable_cpu_data().unwrap();
        assert_bytes(unsafe { std::slice::from_raw_parts(data, BYTES) }, &State::Synced.contents(BYTES), &"");
        assert_eq!(victim.head(), 1);
    });
}

fn the_end_of_an_object_waits_for_its_eviction() {
    beside_an_eviction(|gpu, victim| {
        let (mem, ended) = (Shared(victim.mem()), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                assert_eq!(unsafe { syncedmem_destruct({ mem }.0) }, SYNCEDMEM_SUCCESS);
                ended.store(true, Ordering::SeqCst);
            });
            // Time enough for one who does not wait.
            (0..1000).for_each(|_| std::thread::yield_now());
            assert!(!ended.load(Ordering::SeqCst));
            gpu.control().simcuda_release_streams();
        });
        // For the end of the scope.
        assert_eq!(victim.construct(BYTES), SYNCEDMEM_SUCCESS);
    });
}

fn a_child_that_is_forked_during_an_eviction_has_the_object_as_it_was() {
    beside_an_eviction(|_, victim| {
        in_a_child(|| {
            assert!(victim.cpu_data().is_ok());
            // The eviction, which has the object in its hands, does not exist there.
            assert!(victim.head() == BOTH && victim.destruct() == SYNCEDMEM_SUCCESS);
        });
    });
}

fn readers_of_evictable_objects_always_read_what_was_written_while_others_make_room() {
    const OBJECTS: usize = 6;
    const READS: usize = 1000;
    const TAKES: usize = 200;
    let gpu = small_gpu(ROOM * BYTES);
    gpu.control().simcuda_set_lag(50);
    let mut objects: Vec<_> = (0..OBJECTS).map(|_| Object::new(BYTES)).collect();
    for (number, object) in objects.iter_mut().enumerate() {
        object.fill_host(&pattern(number as u8 + 1, BYTES));
        assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    }
    let shared: Vec<_> = objects.iter_mut().map(|object| Shared(object.mem())).collect();
    let (gpu, shared) = (&gpu, &shared);
    let check = |number: usize, device: bool| {
        let Ok(data) = shared[number].read(device) else { return false };
        let mut bytes = vec![0; BYTES];
        if device {
            // The block is there, whatever is evicted meanwhile. Copies from pageable memory lag.
            gpu.within(0, || assert_eq!(gpu.cuStreamSynchronize(std::ptr::null_mut()), 0));
            let read = gpu.control().simcuda_read(data.addr() as Address, bytes.as_mut_ptr().cast(), BYTES);
            assert_eq!(read, 0, "{number}");
        } else {
            bytes.copy_from_slice(unsafe { std::slice::from_raw_parts(data, BYTES) });
        }
        assert_bytes(&bytes, &pattern(number as u8 + 1, BYTES), &format_args!("{number} {device}"));
        shared[number].end_access();
        true
    };
    let take = |turn: usize| {
        let (mut object, contents) = (Object::new(BYTES), pattern(turn as u8 | 128, BYTES));
        object.mutable_gpu_data().is_ok_and(|data| {
            gpu.write(data.addr(), &contents);
            object.host_bytes(BYTES) == contents
        })
    };
    let counts = at_once(5, |thread| match thread {
        0..3 => (0..READS).filter(|turn| check((turn * 7 + thread) % OBJECTS, (turn + thread) % 3 != 0)).count(),
        _ => (0..TAKES).filter(|&turn| take(turn)).count(),
    });
    let (reads, takes): (usize, usize) = (counts[..3].iter().sum(), counts[3..].iter().sum());
    println!("{reads} reads, {takes} takes");
    // Some find everything in use. Most do not.
    assert!(reads > READS && takes > TAKES / 2, "{reads} reads, {takes} takes");
    gpu.control().simcuda_set_lag(0);
    drop(objects);
}

fn every_driver_call_of_an_eviction_fails_in_turn_and_every_object_stays_whole() {
    let gpu = small_gpu(ROOM * BYTES);
    let mut count = 0;
    for (pins, needs) in [(false, 2), (true, 2), (false, 4)] {
        let _pinning = pins.then(Pinning::always);
        let made = || [(); ROOM].map(|()| evictable(&gpu, State::Synced, BYTES));
        let takes = |other: &mut Object| other.gpu_data().map(drop);
        let prepared = || Object::holding(&pattern(3, needs * BYTES));
        let (objects, mut other) = (made(), prepared());
        let (outcome, calls) = gpu.watch(|| takes(&mut other));
        assert!(outcome.is_ok(), "{}", last_error());
        drop((objects, other));
        flush(&gpu);
        let before = blocks(&gpu);
        for fault in faults(&calls, &[1, 2, 700, 4242]).filter(|fault| !fault.is_unknown_block()) {
            let what = format!("pinned {pins}, {fault}");
            let (mut objects, mut other) = (made(), prepared());
            gpu.arm(&fault);
            let outcome = takes(&mut other);
            gpu.disarm(&fault);
            if outcome.is_ok() {
                let data = gpu.read(other.device_address(), needs * BYTES);
                assert_bytes(&data, &pattern(3, needs * BYTES), &format_args!("{what}"));
            } else {
                assert_eq!((other.head(), other.device_address()), (1, 0), "{what}");
            }
            for object in &mut objects {
                let is_evicted = object.device_address() == 0;
                assert_eq!(object.head(), if is_evicted { HOST } else { BOTH }, "{what}");
                assert_bytes(&object.host_bytes(BYTES), &State::Synced.contents(BYTES), &format_args!("{what}"));
            }
            drop((objects, other));
            flush(&gpu);
            assert_eq!(blocks(&gpu), before, "{what}: left over");
            count += 1;
        }
    }
    println!("{count} faults");
    assert!(count > 100, "only {count} faults");
}

crate::support::harness::tests![
    an_eviction_beside_which_nothing_is_done_comes_to_pass,
    a_reader_that_comes_during_an_eviction_does_not_wait_and_keeps_the_object,
    an_access_that_was_opened_and_ended_during_an_eviction_counts_for_its_work_on_the_device,
    a_writer_that_comes_during_an_eviction_has_its_turn_afterwards,
    the_end_of_an_object_waits_for_its_eviction,
    a_child_that_is_forked_during_an_eviction_has_the_object_as_it_was,
    readers_of_evictable_objects_always_read_what_was_written_while_others_make_room,
    every_driver_call_of_an_eviction_fails_in_turn_and_every_object_stays_whole,
];
