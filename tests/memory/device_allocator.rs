//! Host blocks of the program's own allocator beside a device: pageable in GPU mode too.

use crate::support::allocators::Book;
use crate::support::pools::POOLS;
use crate::support::*;

const SIZES: [usize; 3] = [5000, 100_000, (4 << 20) + 12];

fn in_gpu_mode_its_blocks_are_what_it_makes_them() {
    let gpu = &gpu();
    let book = Book::new().set();
    for bytes in SIZES {
        let mut object = gpu.observe(
            || Object::holding(&pattern(1, bytes)),
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

harness::tests![
    alone_with_driver(&[POOLS, ("SYNCEDMEM_PIN", "always")]): in_gpu_mode_its_blocks_are_what_it_makes_them
];
