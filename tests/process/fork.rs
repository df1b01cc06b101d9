//! Forks while eight threads allocate: the child finds every lock free and its objects intact, and goes on.

use crate::support::tensor::*;
use crate::support::*;

const THREADS: usize = 8;
/// How many forks. `SYNCEDMEM_TEST_FORKS` sets fewer, for a run of the suite under other settings.
fn forks() -> usize {
    std::env::var("SYNCEDMEM_TEST_FORKS").map_or(400, |number| number.parse().unwrap())
}
/// Large enough for a mapping and its record, small enough to be filled often.
const LARGE: usize = 2 << 20;

fn touch(storage: &mut Storage, bytes: usize) {
    assert_eq!(storage.construct(bytes), SYNCEDMEM_SUCCESS);
    assert!(all_zero(storage.cpu_data().unwrap(), 100.min(bytes)));
}

#[test]
fn forks_under_eight_allocating_threads_leave_every_object_usable() {
    let mut old = Storage::new();
    old.construct(64);
    unsafe { old.mutable_cpu_data().unwrap().write(42) };
    let allocate = |thread, _| {
        let mut storage = Storage::new();
        touch(&mut storage, [100, 5000, 50_000, LARGE][thread % 4]);
        storage.destruct();
    };
    let touches = beside(THREADS, allocate, || (0..forks()).for_each(|_| fork_once(&mut old)));
    assert!(touches >= THREADS, "the threads were at work");
    assert_eq!(unsafe { old.cpu_data().unwrap().read() }, 42);
    old.destruct();
}

/// Forks while other threads fill objects that the child then touches. `old` was touched in this thread.
fn fork_once(old: &mut Storage) {
    let mut mid_fill = [200_000, LARGE].map(|bytes| {
        let mut storage = Storage::new();
        storage.construct(bytes);
        storage
    });
    let shared = mid_fill.each_mut().map(|storage| Shared(storage.mem()));
    std::thread::scope(|threads| {
        for object in shared {
            threads.spawn(move || assert!({ object }.read(false).is_ok()));
        }
        in_a_child(|| {
            assert_eq!(unsafe { old.cpu_data().unwrap().read() }, 42);
            for bytes in [100, 10_000, LARGE] {
                let mut fresh = Storage::new();
                touch(&mut fresh, bytes);
                assert_eq!(fresh.destruct(), SYNCEDMEM_SUCCESS);
            }
            // The parent's threads work on these objects, and do not exist here.
            for storage in &mut mid_fill {
                assert!(all_zero(storage.cpu_data().unwrap(), 100));
                assert_eq!((storage.head(), storage.destruct()), (1, SYNCEDMEM_SUCCESS));
            }
        });
    });
    mid_fill.iter_mut().for_each(|storage| assert_eq!(storage.destruct(), SYNCEDMEM_SUCCESS));
}

/// Makes a tensor of an object, passes it to another, and ends both.
fn exchange() {
    let (from, to) = (created(96), created(96));
    let first = export(from, FLOATS).unwrap();
    let lent = export(from, Ask { access: WRITE, ..FLOATS }).unwrap().into_raw();
    assert_eq!(unsafe { syncedmem_set_dlpack(to, lent, true) }, SYNCEDMEM_SUCCESS);
    assert_eq!(exports(from), (2, 0));
    assert_eq!([from, to].map(destroy), [SYNCEDMEM_SUCCESS; 2]);
    drop(first);
}

#[test]
fn forks_beside_threads_that_exchange_tensors_leave_every_tensor_usable() {
    let old = created(96);
    let tensor = export(old, Ask { access: WRITE, ..FLOATS }).unwrap();
    let child = || {
        assert_eq!(exports(old), (1, 0));
        exchange();
        unsafe { (tensor.managed().deleter.unwrap())(tensor.address.cast()) };
        assert_eq!((exports(old), destroy(old)), ((0, 0), SYNCEDMEM_SUCCESS));
    };
    beside(4, |_, _| exchange(), || (0..forks() / 10).for_each(|_| in_a_child(child)));
    drop(tensor);
    assert_eq!(destroy(old), SYNCEDMEM_SUCCESS);
}
