//! Pageable blocks that come back: which block serves which request, and what is in it.

use crate::support::pools::*;
use crate::support::*;

/// Sizes that are kept: of malloc's, at the edge, mapped, and not a whole number of pages.
const SIZES: [usize; 8] = [33 * KIB, 64 * KIB, MIB, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 5 * MIB + 4097, 64 * MIB];
const VERY_LARGE: usize = 256 * MIB;

#[test(alone)]
fn a_block_comes_back_for_the_next_object_of_its_size_as_zeros_unless_it_is_to_be_overwritten() {
    let accesses = [
        (Storage::cpu_data as fn(&mut _) -> _, 0),
        (Storage::mutable_cpu_data, 0),
        (Storage::overwrite_cpu_data, 0xAB),
    ];
    for (access, fill) in accesses {
        for bytes in SIZES {
            let address = give_back(bytes, 0xAB);
            assert!(idle(PAGEABLE) >= bytes, "{bytes}: it is counted");
            let mut next = Object::new(bytes);
            let data: *mut u8 = access(&mut next).unwrap();
            assert_eq!((data.addr(), idle(PAGEABLE)), (address, 0), "{bytes}: it is not idle any more");
            assert!(all_are(data, bytes, fill), "{bytes}, {fill}");
            drop(next);
            trim(PAGEABLE);
        }
    }
}

#[test(alone)]
fn a_very_large_block_is_not_paid_for_to_be_read_as_zeros() {
    let mut first = Object::new(VERY_LARGE);
    let data = first.overwrite_cpu_data().unwrap();
    // The next object must not see these bytes, and pages that are not written need no memory.
    for at in [0, VERY_LARGE / 2, VERY_LARGE - 1] {
        unsafe { data.add(at).write(0xAB) };
    }
    drop(first);
    let before = resident();
    let mut next = Object::new(VERY_LARGE);
    let data = next.cpu_data().unwrap();
    for at in [0, VERY_LARGE / 2, VERY_LARGE - 1] {
        assert_eq!(unsafe { data.add(at).read() }, 0);
    }
    let paid = resident().saturating_sub(before);
    assert!(paid <= 8 * MIB, "{paid} bytes to read three of them");
    drop(next);
    let address = give_back(VERY_LARGE, 0xAB);
    assert_eq!(Object::new(VERY_LARGE).overwrite_cpu_data().unwrap().addr(), address, "to be written it comes back");
}

#[test(alone)]
fn a_block_serves_what_wastes_no_more_than_an_eighth_of_the_request() {
    // One block is malloc's, the other mapped. The sizes leave room for a page and for malloc's rounding.
    for (block, served, refused) in [(900_000, 801_000, 799_000), (9 * MIB, 8 * MIB, 8 * MIB - 8192)] {
        // There is room beside it for a fresh one, so that it is not given back to make some.
        drop([filled(4 * block, 0), filled(block, 0)]);
        trim(PAGEABLE);
        let address = give_back(block, 1);
        let others = [refused, block + 8192].map(|bytes| filled(bytes, 1));
        for other in &others {
            assert_ne!(other.host_address(), address, "{block} does not serve {}", other.word(16));
        }
        let object = filled(served, 1);
        assert_eq!(object.host_address(), address, "{block} serves {served}");
        drop(object);
        // It has not become smaller by that.
        assert_eq!(filled(block, 1).host_address(), address);
        trim(PAGEABLE);
    }
}

#[test(alone)]
fn releasing_a_side_and_lending_memory_give_back_too() {
    const BYTES: usize = 3 * MIB;
    let mut lent = vec![1u8; BYTES];
    let mut object = filled(BYTES, 1);
    let address = object.host_address();
    assert_eq!(object.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
    assert_eq!(idle(PAGEABLE), BYTES);
    assert_eq!(filled(BYTES, 1).host_address(), address);
    drop(object);
    assert_eq!(idle(PAGEABLE), BYTES, "the pool keeps no memory of the caller");
}

/// An object that holds a block from elsewhere, as an inlined original's code leaves it.
fn holding(block: *mut u8, bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    object.put(0, &block.expose_provenance().to_le_bytes());
    // At the host; owned; pageable.
    object.put(24, &[1, 0, 0, 0, 1, 0, 0]);
    object
}

#[test(alone)]
fn a_block_that_an_inlined_original_took_from_malloc_is_as_good_as_ours() {
    for bytes in [64 * KIB, MIB, 3 * MIB] {
        let mut block = std::ptr::null_mut();
        assert_eq!(unsafe { libc::posix_memalign(&mut block, 64, bytes) }, 0);
        unsafe { block.cast::<u8>().write_bytes(0xAB, bytes) };
        drop(holding(block.cast(), bytes));
        let objects = [Object::new(bytes), Object::new(bytes)].map(|mut object| {
            let data = object.mutable_cpu_data().unwrap();
            assert!(all_zero(data, bytes));
            unsafe { data.write_bytes(1, bytes) };
            object
        });
        assert_ne!(objects[0].host_address(), objects[1].host_address());
        drop(objects);
        trim(PAGEABLE);
        assert_eq!(idle(PAGEABLE), 0);
    }
}

#[test(alone)]
fn a_block_that_is_less_aligned_than_ours_is_never_handed_out() {
    const BYTES: usize = 300_000;
    for _ in 0..16 {
        drop(holding(unsafe { libc::malloc(BYTES) }.cast(), BYTES));
        let objects = [filled(BYTES, 1), filled(BYTES, 2)];
        assert!(objects.iter().all(|object| object.host_address() % 64 == 0));
    }
}

#[test(alone)]
fn a_block_is_not_larger_for_being_in_an_object_that_says_so() {
    const BYTES: usize = 100_000;
    let mut object = filled(BYTES, 1);
    let address = object.host_address();
    // Code that was compiled elsewhere could do this.
    object.put(16, &(2 * BYTES).to_le_bytes());
    drop(object);
    assert_eq!(idle(PAGEABLE), 0, "who knows what it is");
    let larger = filled(2 * BYTES, 1);
    assert_ne!(larger.host_address(), address);
}

#[test(alone)]
fn what_comes_back_may_be_freed_by_an_inlined_original() {
    for bytes in [64 * KIB, MIB, 2 * MIB - 1] {
        let address = give_back(bytes, 1);
        let mut storage = Storage::new();
        storage.construct(bytes);
        let data = storage.cpu_data().unwrap();
        assert_eq!(data.addr(), address);
        // The original's destructor does this, without an end of the object.
        unsafe { libc::free(data.cast()) };
        assert_eq!(idle(PAGEABLE), 0);
    }
}
