//! Host memory that the user has page-locked where it is, and for how long it stays so.

use crate::support::crossing::*;
use crate::support::pools::POOLS;
use crate::support::*;

/// A block of the library's own of that size is a mapping.
const LARGE: usize = (4 << 20) + 12;
const BYTES: usize = 5000;
fn memory_that_is_lent_is_pinned_by_request_until_it_is_let_go() {
    let gpu = gpu();
    for bytes in [1, BYTES, LARGE] {
        let (mut lent, mut other) = (pattern(1, bytes), pattern(2, bytes));
        let lend = |object: &mut Object, data: &mut [u8]| {
            assert_eq!(object.set_cpu_data(data.as_mut_ptr()), SYNCEDMEM_SUCCESS);
            registered(&gpu)
        };
        let mut object = Object::new(bytes);
        let pinned = |object: &mut Object| {
            assert_eq!(object.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
            (object.is_pinned(), registered(&gpu))
        };
        lend(&mut object, &mut lent);
        let [none, one] = [0, 1].map(|count| gpu.if_simulated(count));
        assert_eq!(pinned(&mut object), (true, one));
        assert_eq!(pinned(&mut object), (true, one), "twice is once");
        let device = object.mutable_gpu_data().unwrap().addr();
        assert_bytes(&gpu.read(device, bytes), &lent, &bytes);
        gpu.write(device, &pattern(3, bytes));
        assert_bytes(&object.host_bytes(bytes), &pattern(3, bytes), &bytes);
        assert_eq!(lend(&mut object, &mut lent), one, "the same memory is lent again");
        assert_eq!((object.unpin(), object.is_pinned(), registered(&gpu)), (SYNCEDMEM_SUCCESS, false, none));
        assert_eq!(object.unpin(), SYNCEDMEM_SUCCESS, "twice is once");
        pinned(&mut object);
        assert_eq!(lend(&mut object, &mut other), none, "other memory is lent");
        pinned(&mut object);
        object.mutable_gpu_data().unwrap();
        assert_eq!((object.release_cpu(), registered(&gpu)), (SYNCEDMEM_SUCCESS, none));
        lend(&mut object, &mut lent);
        pinned(&mut object);
        drop(object);
        assert_eq!(registered(&gpu), none, "the object has ended");
    }
}

fn a_block_of_the_objects_own_is_pinned_by_request_whatever_its_size() {
    let gpu = gpu();
    let [none, one] = [0, 1].map(|count| gpu.if_simulated(count));
    for bytes in [1, BYTES, 100_000, LARGE] {
        let mut object = filled(bytes);
        let address = object.host_address();
        assert_eq!(object.pin(), SYNCEDMEM_SUCCESS, "{}", last_error());
        cross(&mut object, 5);
        assert_eq!((object.host_address(), object.is_pinned(), registered(&gpu)), (address, true, one));
        assert_eq!((object.unpin(), object.is_pinned(), registered(&gpu)), (SYNCEDMEM_SUCCESS, false, none));
        cross(&mut object, 5);
        assert_eq!(registered(&gpu), none);
        assert_eq!(object.pin(), SYNCEDMEM_SUCCESS);
        drop(object);
        assert_eq!(registered(&gpu), one, "{bytes}: it lies idle");
        assert_eq!(syncedmem_trim(1), SYNCEDMEM_SUCCESS);
        assert_eq!(registered(&gpu), none, "{bytes}");
    }
}

fn what_cannot_be_pinned_says_what_to_do_and_what_is_pinned_already_is_left_alone() {
    let gpu = simulated_gpu();
    let mut object = Object::new(BYTES);
    assert_refused(object.pin(), SYNCEDMEM_ERROR_INVALID_STATE, "syncedmem_set_cpu_data");
    let mut empty = Object::touched(Storage::cpu_data, 0);
    assert_eq!((empty.pin(), empty.unpin()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    let mut made_so = {
        let _pinning = Pinning::always();
        filled(BYTES)
    };
    assert_eq!((made_so.pin(), made_so.unpin(), made_so.is_pinned()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS, true));
    assert_eq!(registered(&gpu), Some(0));
    // Of another library: allocated by the driver, and registered.
    let allocated = gpu.pinned(BYTES);
    let mut lent = vec![0u8; 2 * BYTES];
    gpu.within(0, || assert_eq!(gpu.cuMemHostRegister_v2(lent.as_mut_ptr().cast(), 2 * BYTES, 1), 0));
    for data in [allocated.pointer(), lent[100..].as_mut_ptr()] {
        assert_eq!(object.set_cpu_data(data), SYNCEDMEM_SUCCESS);
        assert_eq!(
            (object.pin(), object.unpin(), object.pin()),
            (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS)
        );
    }
    let mut half = Object::new(2 * BYTES);
    assert_eq!(half.set_cpu_data(lent[100..].as_mut_ptr()), SYNCEDMEM_SUCCESS);
    assert_eq!(half.pin(), SYNCEDMEM_ERROR_DRIVER, "only a part of it is page-locked");
    // Idle registered blocks make room.
    assert_eq!(syncedmem_set_pool_budget(usize::MAX), SYNCEDMEM_SUCCESS);
    drop((half, object, made_so));
    assert_eq!(registered(&gpu), Some(1));
    gpu.within(0, || assert_eq!(gpu.cuMemHostUnregister(lent.as_mut_ptr().cast()), 0));
    assert_eq!(syncedmem_set_pinned_limit(BYTES - 1), SYNCEDMEM_SUCCESS);
    let mut object = filled(BYTES);
    assert_refused(object.pin(), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "SYNCEDMEM_PINNED_LIMIT");
    assert_eq!(syncedmem_set_pinned_limit(BYTES), SYNCEDMEM_SUCCESS);
    for _ in 0..3 {
        assert_eq!((object.pin(), object.unpin()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS), "{}", last_error());
    }
}

fn objects_that_share_a_buffer_do_not_unpin_it_under_each_other() {
    let gpu = gpu();
    let stream = gpu.stream();
    let mut lent = pattern(1, LARGE);
    let mut borrower = || Object::borrowing(&mut lent);
    let (mut first, mut second, mut third) = (borrower(), borrower(), borrower());
    let [none, one] = [0, 1].map(|count| gpu.if_simulated(count));
    assert_eq!((first.pin(), second.pin(), registered(&gpu)), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS, one));
    assert_eq!((first.unpin(), registered(&gpu)), (SYNCEDMEM_SUCCESS, one));
    assert!(second.is_pinned());
    // One that never asked has a copy in flight from there.
    match gpu.is_simulated() {
        true => gpu.control().simcuda_hold_streams(),
        false => stream.delay(5000),
    }
    assert_eq!(third.push(stream.handle()), SYNCEDMEM_SUCCESS);
    assert_ne!(gpu.if_simulated(third.is_ready()), Some(Ok(true)));
    drop((first, second));
    assert_eq!(registered(&gpu), one, "unregistered under a copy");
    gpu.calm();
    assert_eq!(third.wait(), SYNCEDMEM_SUCCESS);
    let device = third.gpu_data().unwrap().addr();
    assert_bytes(&gpu.read(device, LARGE), &pattern(1, LARGE), &"");
    drop(third);
    assert_eq!(registered(&gpu), none);
    // A longer one after a shorter one is refused, for the driver would refuse its copies.
    let (mut short, mut long) = (Object::new(BYTES), borrower());
    assert_eq!(short.set_cpu_data(long.cpu_data().unwrap()), SYNCEDMEM_SUCCESS);
    assert_eq!((short.pin(), long.pin()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_ERROR_INVALID_STATE));
    assert_eq!((short.unpin(), long.pin(), short.pin()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    assert_eq!(registered(&gpu), one);
}

fn threads_that_pin_unpin_and_copy_one_buffer_leave_nothing_behind() {
    let gpu = gpu();
    let mut lent = pattern(1, BYTES);
    let address = lent.as_mut_ptr().expose_provenance();
    at_once(4, |thread| {
        for round in 0..200 {
            let mut object = Object::new(BYTES);
            let status = object.set_cpu_data(std::ptr::with_exposed_provenance_mut(address));
            assert_eq!((status, object.pin()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS), "{}", last_error());
            assert!(object.is_pinned());
            object.gpu_data().unwrap();
            if (thread + round) % 2 == 0 {
                assert_eq!(object.unpin(), SYNCEDMEM_SUCCESS);
            }
        }
    });
    assert_eq!(registered(&gpu), gpu.if_simulated(0));
}

crate::support::harness::tests![
    alone_with_driver(&[POOLS]):
    memory_that_is_lent_is_pinned_by_request_until_it_is_let_go,
    a_block_of_the_objects_own_is_pinned_by_request_whatever_its_size,
    what_cannot_be_pinned_says_what_to_do_and_what_is_pinned_already_is_left_alone,
    objects_that_share_a_buffer_do_not_unpin_it_under_each_other,
    threads_that_pin_unpin_and_copy_one_buffer_leave_nothing_behind
];
