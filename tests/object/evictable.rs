//! Objects that may be evicted: the mark, the accesses that are open, and that both belong to this very object.

use crate::support::states::*;
use crate::support::*;
use syncedmem::abi::caffe;

/// Filled under the table's lock, and under a claim.
const SIZES: [usize; 2] = [100, 50_000];
const SLOW: u8 = 0x80;

fn marked(bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    object
}

/// Ends as many accesses as are open, and says how many there were.
fn end_all(object: &mut Storage) -> usize {
    (0..1000).find(|_| object.end_access() == SYNCEDMEM_ERROR_INVALID_STATE).unwrap()
}

fn is_slow(object: &Storage) -> bool {
    object.flags()[3] & SLOW != 0
}

fn an_object_is_not_evictable_until_it_is_marked_and_any_other_number_is_refused() {
    let mut object = Object::new(100);
    assert_eq!(object.evictable(), SYNCEDMEM_EVICT_NEVER);
    for how in [SYNCEDMEM_EVICT_REDUNDANT, SYNCEDMEM_EVICT_NEVER] {
        assert_eq!(object.set_evictable(how), SYNCEDMEM_SUCCESS);
        assert_eq!(object.evictable(), how);
        for number in [-1, 2, i32::MAX, i32::MIN] {
            let status = unsafe { syncedmem_set_evictable(object.mem(), number) };
            assert_refused(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "SYNCEDMEM_EVICT_REDUNDANT (1)");
        }
        assert_eq!(object.evictable(), how);
    }
}

fn to_end_an_access_does_nothing_to_an_object_without_a_mark() {
    let mut object = Object::new(100);
    assert_eq!(object.end_access(), SYNCEDMEM_SUCCESS);
    let data = object.cpu_data();
    assert_eq!(object.end_access(), SYNCEDMEM_SUCCESS);
    assert_eq!((object.cpu_data(), is_slow(&object)), (data, false));
}

fn an_access_that_is_not_open_cannot_be_ended() {
    let mut object = marked(100);
    assert_refused(
        object.end_access(),
        SYNCEDMEM_ERROR_INVALID_STATE,
        "syncedmem_end_access: no access to the object is open",
    );
    object.cpu_data().unwrap();
    assert_eq!(object.end_access(), SYNCEDMEM_SUCCESS);
    assert_eq!(object.end_access(), SYNCEDMEM_ERROR_INVALID_STATE);
}

fn the_accessors_of_cpp_open_accesses_too() {
    for bytes in SIZES {
        let mut object = marked(bytes);
        let this = object.mem().cast();
        for _ in 0..3 {
            // From the third on, their fast path is open.
            unsafe { assert_eq!(caffe::cpu_data(this), caffe::mutable_cpu_data(this)) };
        }
        assert_eq!(end_all(&mut object), 6);
    }
}

fn every_access_on_either_side_from_every_state_opens_one_access_and_nothing_else_does() {
    use Operation::*;
    let gpu = gpu();
    let (stream, lent) = (gpu.stream(), Lent::new(&gpu, SIZES[0]));
    for state in STATES {
        for operation in OPERATIONS {
            let what = format!("{state:?} {operation:?}");
            let mut object = state.object(&gpu, &stream, SIZES[0]);
            assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
            let outcome = object.run(operation, &lent.with(&stream));
            let accesses = [CpuData, MutableCpuData, OverwriteCpuData, GpuData, MutableGpuData, OverwriteGpuData];
            let opens = accesses.contains(&operation);
            assert!(outcome.is_ok() || !opens, "{what}");
            assert_eq!(end_all(&mut object), usize::from(opens), "{what}");
            assert_eq!(object.evictable(), SYNCEDMEM_EVICT_REDUNDANT, "{what}");
            stream.synchronize();
            assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
            assert!(is_slow(&object) || object.head() == 0, "{what}");
            assert_eq!(object.is_ready(), Ok(true), "{what}");
        }
    }
}

fn an_access_that_fails_opens_none() {
    let gpu = simulated_gpu();
    let mut object = marked(100);
    object.fill_host(&pattern(1, 100));
    for function in ["cuMemAlloc_v2", "cuMemcpy"] {
        gpu.fail(function, 1, 1);
        assert!(object.gpu_data().is_err(), "{function}");
    }
    assert_eq!(end_all(&mut object), 1);
}

fn a_mark_that_is_taken_away_leaves_the_object_as_any_other() {
    for bytes in SIZES {
        let mut object = marked(bytes);
        let data = object.cpu_data().unwrap();
        assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_NEVER), SYNCEDMEM_SUCCESS);
        assert!(!is_slow(&object));
        // Accesses that were open count no more.
        assert_eq!((object.end_access(), object.end_access()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
        assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
        assert_eq!(end_all(&mut object), 0);
        assert_eq!(object.cpu_data(), Ok(data));
    }
}

fn a_mark_ends_with_its_object() {
    for bytes in SIZES {
        for touched in [false, true] {
            let mut storage = Storage::new();
            storage.construct(bytes);
            assert_eq!(storage.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
            if touched {
                storage.cpu_data().unwrap();
            }
            storage.destruct();
            storage.construct(bytes);
            assert_eq!(storage.evictable(), SYNCEDMEM_EVICT_NEVER);
            storage.cpu_data().unwrap();
            assert!(!is_slow(&storage), "{bytes} bytes, touched {touched}");
            storage.destruct();
        }
    }
}

fn a_mark_ends_where_another_object_is_made_out_of_line_without_an_end_of_the_first() {
    for touched in [false, true] {
        let mut storage = Storage::new();
        storage.construct(100);
        assert_eq!(storage.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
        let old = if touched { storage.cpu_data().unwrap() } else { std::ptr::null_mut() };
        unsafe { caffe::new(std::ptr::NonNull::from(&mut storage.0).cast(), 100) };
        assert_eq!((storage.evictable(), storage.end_access()), (SYNCEDMEM_EVICT_NEVER, SYNCEDMEM_SUCCESS));
        storage.destruct();
        unsafe { libc::free(old.cast()) };
    }
}

fn the_mark_of_an_object_that_went_behind_our_back_is_not_the_next_ones() {
    let mut storage = Storage::new();
    storage.construct(100);
    assert_eq!(storage.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    let old = storage.cpu_data().unwrap();
    // Another implementation's constructor: no blocks, UNINITIALIZED, and byte 31 as it was.
    storage.put(0, &[0; 16]);
    storage.put(24, &0u32.to_le_bytes());
    assert!(is_slow(&storage));
    assert_eq!((storage.evictable(), storage.end_access()), (SYNCEDMEM_EVICT_NEVER, SYNCEDMEM_SUCCESS));
    let data = storage.cpu_data().unwrap();
    assert_ne!(data, old);
    assert!(!is_slow(&storage) && all_zero(data, 100));
    // It can have one of its own.
    assert_eq!(storage.set_evictable(SYNCEDMEM_EVICT_REDUNDANT), SYNCEDMEM_SUCCESS);
    assert_eq!(end_all(&mut storage), 0);
    storage.destruct();
    unsafe { libc::free(old.cast()) };
}

fn a_block_that_another_implementation_exchanges_ends_the_mark() {
    let mut object = marked(100);
    let own = object.cpu_data().unwrap();
    let other = unsafe { libc::malloc(100) };
    object.put(0, &other.addr().to_le_bytes());
    assert_eq!(object.evictable(), SYNCEDMEM_EVICT_NEVER);
    assert_eq!(object.mutable_cpu_data(), Ok(other.cast()));
    assert!(!is_slow(&object));
    unsafe { libc::free(own.cast()) };
}

fn an_object_that_grows_keeps_its_mark_and_has_no_access_open() {
    for bytes in SIZES {
        let mut object = marked(bytes);
        object.cpu_data().unwrap();
        // Compat: yjxiong's `Resize`, which the C API does not have.
        unsafe { caffe::resize(object.mem().cast(), 2 * bytes) };
        assert_eq!((object.evictable(), end_all(&mut object)), (SYNCEDMEM_EVICT_REDUNDANT, 0));
        assert!(all_zero(object.cpu_data().unwrap(), 2 * bytes));
        assert_eq!(end_all(&mut object), 1);
    }
}

fn accesses_that_many_threads_open_and_end_are_all_counted() {
    const THREADS: usize = 8;
    for bytes in SIZES {
        let mut object = marked(bytes);
        let shared = Shared(object.mem());
        at_once(THREADS, |thread| {
            for _ in 0..1000 {
                assert!({ shared }.read(false).is_ok());
                if thread % 2 == 0 {
                    assert_eq!(unsafe { syncedmem_end_access({ shared }.0) }, SYNCEDMEM_SUCCESS);
                }
            }
        });
        let left = (0..=THREADS * 1000).find(|_| object.end_access() != SYNCEDMEM_SUCCESS).unwrap();
        assert_eq!(left, THREADS / 2 * 1000);
    }
}

crate::support::harness::tests![
    an_object_is_not_evictable_until_it_is_marked_and_any_other_number_is_refused,
    to_end_an_access_does_nothing_to_an_object_without_a_mark,
    an_access_that_is_not_open_cannot_be_ended,
    the_accessors_of_cpp_open_accesses_too,
    every_access_on_either_side_from_every_state_opens_one_access_and_nothing_else_does,
    an_access_that_fails_opens_none,
    a_mark_that_is_taken_away_leaves_the_object_as_any_other,
    a_mark_ends_with_its_object,
    a_mark_ends_where_another_object_is_made_out_of_line_without_an_end_of_the_first,
    the_mark_of_an_object_that_went_behind_our_back_is_not_the_next_ones,
    a_block_that_another_implementation_exchanges_ends_the_mark,
    an_object_that_grows_keeps_its_mark_and_has_no_access_open,
    accesses_that_many_threads_open_and_end_are_all_counted,
];
