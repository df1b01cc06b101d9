//! Every allocation of every operation fails in turn, alone and with all that follow. Each time the operation returns a
//! status, the object is unchanged, and the same call succeeds afterwards. Nothing aborts.

use crate::allocator;
use crate::support::*;

const LARGE: usize = 4 << 20;

/// Runs `allocator::every_allocation` for an operation on an object that `prepare` makes.
fn every_allocation(at_least: usize, prepare: fn(&mut Storage), operation: impl Fn(&mut Storage) -> Answer) {
    let prepared = || {
        let mut storage = Storage::new();
        prepare(&mut storage);
        storage
    };
    allocator::every_allocation(at_least, Ok(()), prepared, |storage| storage.0, |storage| operation(storage));
}

fn nothing(_: &mut Storage) {}

fn of<const BYTES: usize>(storage: &mut Storage) {
    assert_eq!(storage.construct(BYTES), SYNCEDMEM_SUCCESS);
}

fn touched(storage: &mut Storage) {
    of::<LARGE>(storage);
    assert!(storage.cpu_data().is_ok());
}

/// An object whose device side another implementation filled.
fn synced(storage: &mut Storage) {
    touched(storage);
    storage.put(8, &0x7000_0000_0000usize.to_le_bytes());
    storage.put(24, &3u32.to_le_bytes());
}

fn create_and_destroy(_: &mut Storage) -> Answer {
    let mut mem = std::ptr::null_mut();
    let status = unsafe { syncedmem_create(8, &mut mem) };
    assert_eq!(mem.is_null(), status != SYNCEDMEM_SUCCESS);
    assert_eq!(unsafe { syncedmem_destroy(mem) }, SYNCEDMEM_SUCCESS);
    done(status)
}

fn set_cpu_data(storage: &mut Storage) -> Answer {
    static BUFFER: [u8; LARGE] = [0; LARGE];
    done(storage.set_cpu_data(BUFFER.as_ptr().cast_mut()))
}

fn resize(storage: &mut Storage) -> Answer {
    let object: *const syncedmem::object::SyncedMemory = storage.mem().cast();
    unsafe { (*object).resize(2 * LARGE) }.map_err(Into::into)
}

fn destruct(storage: &mut Storage) -> Answer {
    let status = storage.destruct();
    of::<LARGE>(storage);
    done(status)
}

fn caffe_malloc_host(_: &mut Storage) -> Answer {
    let (mut data, mut pinned) = (std::ptr::null_mut(), false);
    let status = unsafe { CaffeMallocHost(&mut data, 4000, &mut pinned) };
    assert_eq!(unsafe { CaffeFreeHost(data, pinned) }, SYNCEDMEM_SUCCESS);
    done(status)
}

/// An operation: the least number of its allocations, its object, and the operation itself.
type Case = (&'static str, usize, fn(&mut Storage), fn(&mut Storage) -> Answer);

#[test]
fn every_other_operation_bears_each_failure() {
    let set_callback = |_: &mut Storage| done(unsafe { syncedmem_set_error_callback(None, std::ptr::null_mut()) });
    let cases: [Case; 12] = [
        ("create and destroy", 1, nothing, create_and_destroy),
        ("construct", 0, nothing, |storage| done(storage.construct(8))),
        ("cpu_data again", 0, touched, |storage| storage.cpu_data().map(drop)),
        ("mutable_cpu_data again", 0, touched, |storage| storage.mutable_cpu_data().map(drop)),
        ("mutable_cpu_data of both sides", 0, synced, |storage| storage.mutable_cpu_data().map(drop)),
        ("set_cpu_data", 1, of::<LARGE>, set_cpu_data),
        ("set_cpu_data again", 0, touched, set_cpu_data),
        ("release_cpu", 0, synced, |storage| done(storage.release_cpu())),
        ("resize", 1, of::<LARGE>, resize),
        ("destruct", 0, touched, destruct),
        ("CaffeMallocHost", 1, nothing, caffe_malloc_host),
        ("set_error_callback", 1, nothing, set_callback),
    ];
    for (name, at_least, prepare, operation) in cases {
        println!("{name}");
        every_allocation(at_least, prepare, operation);
    }
}

#[test]
fn first_touches_of_every_size() {
    // These are a block of malloc, one that is kept for reuse, one with a claim, and a mapping.
    let sizes = [(1, of::<4000> as fn(&mut _)), (1, of::<10_000>), (2, of::<100_000>), (3, of::<LARGE>)];
    for (at_least, prepare) in sizes {
        for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
            every_allocation(at_least, prepare, |storage| access(storage).map(drop));
        }
    }
}

#[test]
fn a_failure_has_its_status_even_when_there_is_no_memory_to_keep_its_sentence() {
    driver::hide_devices();
    every_allocation(1, of::<4000>, |storage| {
        let mut data = std::ptr::null();
        let status = unsafe { syncedmem_gpu_data(storage.mem(), &mut data) };
        assert_eq!((status, data.is_null()), (SYNCEDMEM_ERROR_NO_GPU, true));
        Ok(())
    });
}
