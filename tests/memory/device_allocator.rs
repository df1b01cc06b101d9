//! Host blocks of the program's own allocator beside a device: pageable in GPU mode too, and page-locked by request.

use crate::support::allocators::Book;
use crate::support::crossing::{filled, registered};
use crate::support::pools::{PINNED, POOLS, idle, trim};
use crate::support::*;

const SIZES: [usize; 3] = [5000, 100_000, (4 << 20) + 12];

fn in_gpu_mode_its_blocks_are_what_it_makes_them() {
    let gpu = &gpu();
    let book = Book::new().set();
    for bytes in SIZES {
        let mut object = gpu.observe(
            || filled(bytes),
            |calls| assert!(!calls.iter().any(|call| call.function.starts_with("cuMemHost")), "{calls:?}"),
        );
        assert_eq!((book.live(), object.is_pinned()), (vec![bytes], false));
        let device = object.mutable_gpu_data().unwrap().addr();
        assert_bytes(&gpu.read(device, bytes), &pattern(1, bytes), &bytes);
        gpu.write(device, &pattern(2, bytes));
        assert_bytes(&object.host_bytes(bytes), &pattern(2, bytes), &bytes);
        let stream = gpu.stream();
        object.fill_host(&pattern(3, bytes));
        assert_eq!((object.push(stream.handle()), object.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
        object.mutable_gpu_data().unwrap();
        assert_eq!((object.release_cpu(), book.live()), (SYNCEDMEM_SUCCESS, vec![]));
        assert_eq!((object.pull(stream.handle()), object.wait()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
        assert_bytes(&object.host_bytes(bytes), &pattern(3, bytes), &bytes);
        drop(object);
        assert!(book.live().is_empty());
    }
}

fn a_block_that_is_pinned_by_request_is_unpinned_and_goes_back_as_its_object_ends() {
    let gpu = &gpu();
    let book = Book::new().set();
    let [none, one] = [0, 1].map(|count| gpu.if_simulated(count));
    for bytes in SIZES {
        let mut object = filled(bytes);
        assert_eq!((object.pin(), object.is_pinned(), registered(gpu)), (SYNCEDMEM_SUCCESS, true, one));
        assert!(object.gpu_data().is_ok());
        drop(object);
        assert_eq!((book.live(), registered(gpu), idle(PINNED)), (vec![], none, 0), "{bytes}");
    }
}

fn a_pinned_block_that_the_driver_keeps_goes_back_at_a_trim() {
    const NOT_PERMITTED: i32 = 800;
    let gpu = &simulated_gpu();
    let book = Book::new().set();
    let mut object = filled(SIZES[0]);
    assert_eq!(object.pin(), SYNCEDMEM_SUCCESS);
    gpu.fail("cuMemHostUnregister", 1, NOT_PERMITTED);
    drop(object);
    assert_eq!((book.live(), registered(gpu)), (vec![SIZES[0]], Some(1)), "no other block may come there");
    trim(PINNED);
    assert_eq!((book.live(), registered(gpu)), (vec![], Some(0)));
}

fn a_pinned_block_that_another_object_borrows_stays_for_as_long() {
    let gpu = &simulated_gpu();
    let book = Book::new().set();
    let (mut object, mut borrower) = (filled(SIZES[0]), Object::new(SIZES[0]));
    assert_eq!(borrower.set_cpu_data(object.cpu_data().unwrap()), SYNCEDMEM_SUCCESS);
    assert_eq!((object.pin(), borrower.pin()), (SYNCEDMEM_SUCCESS, SYNCEDMEM_SUCCESS));
    drop(object);
    assert_eq!((book.live(), registered(gpu)), (vec![SIZES[0]], Some(1)));
    drop(borrower);
    trim(PINNED);
    assert_eq!((book.live(), registered(gpu)), (vec![], Some(0)));
}

harness::tests![
    alone_with_driver(&[POOLS]):
    a_pinned_block_that_the_driver_keeps_goes_back_at_a_trim,
    a_block_that_is_pinned_by_request_is_unpinned_and_goes_back_as_its_object_ends,
    a_pinned_block_that_another_object_borrows_stays_for_as_long;
    alone_with_driver(&[POOLS, ("SYNCEDMEM_PIN", "always")]): in_gpu_mode_its_blocks_are_what_it_makes_them
];
