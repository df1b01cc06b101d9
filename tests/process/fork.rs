//! Forks under eight allocating threads: the child finds every lock free, its objects whole, and goes on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::tensor::*;
use crate::support::*;

const THREADS: usize = 8;
/// How many forks; `SYNCEDMEM_TEST_FORKS` takes fewer, where the suite runs once more under other settings.
fn forks() -> usize {
    std::env::var("SYNCEDMEM_TEST_FORKS").map_or(1000, |number| number.parse().unwrap())
}
/// Large enough for a mapping and its record, small enough to be filled often.
const LARGE: usize = 2 << 20;

#[derive(Clone, Copy)]
struct Shared(*mut syncedmem_t);
unsafe impl Send for Shared {}

/// Exit statuses of a child, each for one thing that went wrong there.
fn in_child(old: &mut Storage, mid_fill: &mut [Box<Storage>]) -> i32 {
    // Old: touched before the fork, in this thread.
    match old.cpu_data() {
        Ok(data) if unsafe { data.read() } == 42 => {}
        _ => return 1,
    }
    // Fresh, small and large.
    for bytes in [100, 10_000, LARGE] {
        let mut fresh = Storage::new();
        if fresh.construct(bytes) != SYNCEDMEM_SUCCESS || !fresh.cpu_data().is_ok_and(|data| all_zero(data, 100)) {
            return 2;
        }
        if fresh.destruct() != SYNCEDMEM_SUCCESS {
            return 3;
        }
    }
    // Mid-fill: the parent's threads are at work on these, and do not exist here.
    for storage in mid_fill {
        match storage.cpu_data() {
            Ok(data) if all_zero(data, 100) => {}
            _ => return 4,
        }
        if storage.head() != 1 || storage.destruct() != SYNCEDMEM_SUCCESS {
            return 5;
        }
    }
    0
}

/// Waits for a child; one that hangs is killed and is a failure.
fn wait_for(child: libc::pid_t) -> Result<i32, &'static str> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut status = 0;
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > deadline {
            unsafe { libc::kill(child, libc::SIGKILL) };
            unsafe { libc::waitpid(child, &mut status, 0) };
            return Err("it hung");
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    if libc::WIFEXITED(status) { Ok(libc::WEXITSTATUS(status)) } else { Err("a signal ended it") }
}

fn a_thousand_forks_under_eight_allocating_threads_leave_every_object_usable() {
    let stop = AtomicBool::new(false);
    let touches = AtomicUsize::new(0);
    let mut old = Storage::new();
    old.construct(64);
    unsafe { old.mutable_cpu_data().unwrap().write(42) };

    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (stop, touches) = (&stop, &touches);
            threads.spawn(move || {
                let bytes = [100, 5000, 50_000, LARGE][thread % 4];
                while !stop.load(Ordering::Relaxed) {
                    let mut storage = Storage::new();
                    storage.construct(bytes);
                    assert!(storage.cpu_data().is_ok());
                    storage.destruct();
                    touches.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let result =
            (0..forks()).try_for_each(|number| fork_once(&mut old).map_err(|why| format!("fork {number}: {why}")));
        stop.store(true, Ordering::Relaxed);
        result.unwrap();
    });
    assert!(touches.into_inner() > THREADS, "the threads were at work");
    assert_eq!(unsafe { old.cpu_data().unwrap().read() }, 42);
    old.destruct();
}

/// Forks while other threads fill objects that the child then touches.
fn fork_once(old: &mut Storage) -> Result<(), String> {
    let mut mid_fill: Vec<Box<Storage>> = [200_000, LARGE]
        .map(|bytes| {
            let mut storage = Storage::new();
            storage.construct(bytes);
            storage
        })
        .into();
    let objects: Vec<Shared> = mid_fill.iter_mut().map(|storage| Shared(storage.mem())).collect();
    let child = std::thread::scope(|threads| {
        for object in objects {
            threads.spawn(move || {
                let object = object;
                let mut data = std::ptr::null();
                assert_eq!(unsafe { syncedmem_cpu_data(object.0, &mut data) }, SYNCEDMEM_SUCCESS);
            });
        }
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe { libc::_exit(in_child(old, &mut mid_fill)) };
        }
        child
    });
    let outcome = wait_for(child);
    mid_fill.iter_mut().for_each(|storage| assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS));
    match outcome {
        Ok(0) => Ok(()),
        Ok(code) => Err(format!("check {code} failed in the child")),
        Err(why) => Err(why.to_string()),
    }
}

fn a_forked_child_goes_on_with_evictable_objects_and_their_open_accesses() {
    let mut objects = [100, 50_000].map(Object::new);
    for object in &mut objects {
        assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_ALWAYS), SYNCEDMEM_SUCCESS);
        assert!(object.cpu_data().is_ok());
    }
    let child = unsafe { libc::fork() };
    if child == 0 {
        let good = objects.iter_mut().all(|object| {
            object.mutable_cpu_data().is_ok()
                && object.end_access() == SYNCEDMEM_SUCCESS
                && object.end_access() == SYNCEDMEM_SUCCESS
                && object.end_access() == SYNCEDMEM_ERROR_INVALID_STATE
                && object.set_evictable(SYNCEDMEM_EVICT_NEVER) == SYNCEDMEM_SUCCESS
        });
        unsafe { libc::_exit(i32::from(!good)) };
    }
    assert_eq!(wait_for(child), Ok(0));
    for object in &mut objects {
        assert_eq!((object.end_access(), object.end_access()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_ERROR_INVALID_STATE));
    }
}

fn a_forked_child_deletes_its_own_copies_of_tensors() {
    let mem = created(96);
    let tensor = export(mem, Ask { access: WRITE, ..FLOATS }).unwrap();
    unsafe { tensor.data::<f32>().write(42.0) };
    assert_eq!(destroy(mem), SYNCEDMEM_SUCCESS);
    let child = unsafe { libc::fork() };
    if child == 0 {
        let kept = unsafe { tensor.data::<f32>().read() } == 42.0;
        drop(tensor);
        unsafe { libc::_exit(i32::from(!kept)) };
    }
    assert_eq!(wait_for(child), Ok(0));
    assert_eq!(unsafe { tensor.data::<f32>().read() }, 42.0);
}

/// Makes a tensor of an object, lends it to another, and ends both.
fn exchange() -> bool {
    let (from, to) = (created(96), created(96));
    let first = export(from, FLOATS).unwrap();
    let lent = export(from, Ask { access: WRITE, ..FLOATS }).unwrap().into_raw();
    let is_lent = unsafe { syncedmem_set_dlpack(to, lent, true) } == SYNCEDMEM_SUCCESS;
    let counted = exports(from) == (2, 0);
    let ended = [from, to].map(destroy) == [SYNCEDMEM_SUCCESS; 2];
    drop(first);
    is_lent && counted && ended
}

fn forks_beside_threads_that_exchange_tensors_leave_every_tensor_usable() {
    let stop = AtomicBool::new(false);
    let old = created(96);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert!(exchange());
                }
            });
        }
        let tensor = export(old, Ask { access: WRITE, ..FLOATS }).unwrap();
        let outcomes: Vec<_> = (0..forks() / 10)
            .map(|_| {
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let whole = exports(old) == (1, 0) && exchange();
                    unsafe { (tensor.managed().deleter.unwrap())(tensor.address.cast()) };
                    let ended = exports(old) == (0, 0) && destroy(old) == SYNCEDMEM_SUCCESS;
                    unsafe { libc::_exit(i32::from(!(whole && ended))) };
                }
                wait_for(child)
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        assert!(outcomes.iter().all(|outcome| *outcome == Ok(0)), "{outcomes:?}");
    });
    assert_eq!(destroy(old), SYNCEDMEM_SUCCESS);
}

crate::support::harness::tests![
    a_thousand_forks_under_eight_allocating_threads_leave_every_object_usable,
    a_forked_child_goes_on_with_evictable_objects_and_their_open_accesses,
    a_forked_child_deletes_its_own_copies_of_tensors,
    forks_beside_threads_that_exchange_tensors_leave_every_tensor_usable,
];
