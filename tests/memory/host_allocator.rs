//! Host blocks of an allocator of the program's own.

use std::sync::atomic::Ordering::Relaxed;

use crate::support::allocators::{self, Book, DIRT};
use crate::support::figures::{self, figures};
use crate::support::plain::Plain;
use crate::support::pools::{ALL, MIB, idle};
use crate::support::*;

/// Below and above each size at which the library's own blocks come from another place.
pub const SIZES: [usize; 8] = [1, 4096, 4097, 64 << 10, (64 << 10) + 1, MIB, 2 * MIB, 5 * MIB + 3];

pub fn touched(bytes: usize) -> Object {
    Object::touched(Storage::mutable_cpu_data, bytes)
}

fn every_host_block_comes_from_it_with_its_size_and_goes_back_when_its_object_ends() {
    let book = Book::new().set();
    for bytes in SIZES {
        let mut object = touched(bytes);
        let data = object.cpu_data().unwrap();
        assert!(book.has(data.addr()) && data.addr() % 64 == 0, "{bytes}");
        assert_eq!(book.live(), [bytes]);
        assert!(all_zero(data, bytes), "{bytes}: the library fills it");
        drop(object);
        assert_eq!((book.live(), idle(ALL)), (vec![], 0), "{bytes}");
        let plain = Plain::new(bytes);
        plain.cpu_data();
        assert_eq!(book.live(), [bytes], "through C++");
        drop(plain);
        assert!(book.live().is_empty());
    }
    assert_eq!(book.made.load(Relaxed), 2 * SIZES.len());
}

fn a_block_goes_back_wherever_an_object_lets_go_of_it() {
    let book = Book::new().set();
    for bytes in SIZES {
        let mut lent = vec![1; bytes];
        let mut object = touched(bytes);
        assert_eq!(object.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
        assert!(book.live().is_empty(), "memory is lent");
        let mut object = touched(bytes);
        // Another implementation brings the device up to date.
        object.put(8, &0x7000_0000_0000usize.to_le_bytes());
        object.put(24, &3u32.to_le_bytes());
        assert_eq!((object.release_cpu(), book.live()), (SYNCEDMEM_SUCCESS, vec![]), "it is released");
        let plain = Plain::new(bytes);
        plain.mutable_cpu_data();
        assert_eq!(unsafe { (*plain.this()).resize(bytes + 1) }, Ok(()));
        assert!(book.live().is_empty(), "the object grows");
    }
}

fn a_change_affects_later_blocks_and_each_goes_back_to_the_one_that_made_it() {
    for bytes in SIZES {
        let before = touched(bytes);
        let first = Book::new().set();
        let one = touched(bytes);
        let second = Book::new().set();
        let two = touched(bytes);
        assert_eq!(allocators::set(None), SYNCEDMEM_SUCCESS);
        let after = touched(bytes);
        assert_eq!((first.live(), second.live()), (vec![bytes], vec![bytes]), "{bytes}");
        assert!(first.has(one.host_address()) && second.has(two.host_address()));
        drop((before, two, after));
        assert_eq!((first.live(), second.live()), (vec![bytes], vec![]), "{bytes}");
        drop(one);
        assert!(first.live().is_empty(), "{bytes}");
    }
}

fn blocks_that_come_zeroed_are_not_filled() {
    let book = Book::new();
    let table = syncedmem_host_allocator_t { zeroed: true, ..book.table() };
    assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
    for bytes in SIZES {
        let mut object = touched(bytes);
        let data = object.cpu_data().unwrap();
        assert_eq!(unsafe { data.read() }, DIRT, "{bytes}: the allocator does not keep its word");
    }
}

fn without_memory_from_it_the_access_fails_and_the_next_succeeds() {
    let book = Book::new().set();
    for bytes in SIZES {
        let mut object = Object::new(bytes);
        for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
            book.left.store(0, Relaxed);
            assert_eq!(access(&mut object), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
            let told = last_error();
            assert!(told.contains("syncedmem_set_host_allocator returned NULL; libsyncedmem holds 0 bytes"), "{told}");
            assert_eq!((object.head(), object.host_address()), (0, 0));
        }
        assert!(object.cpu_data().is_ok());
    }
}

fn a_block_that_is_not_aligned_is_given_back_and_refused() {
    let book = Book::new().set();
    book.shift.store(16, Relaxed);
    for bytes in SIZES {
        let mut object = Object::new(bytes);
        assert_eq!(object.mutable_cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        let told = last_error();
        assert!(told.contains("not aligned to 64, and has it back; return blocks of the alignment"), "{told}");
        assert_eq!((object.head(), book.live()), (0, vec![]));
    }
    assert_eq!(book.made.load(Relaxed), SIZES.len());
}

fn its_blocks_are_limited_as_others() {
    let book = Book::new().set();
    let six = touched(6000);
    let mut more = Object::new(4001);
    assert_refused(more.cpu_data(), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "SYNCEDMEM_HOST_LIMIT is 10000");
    assert_eq!(book.made.load(Relaxed), 1, "it is not asked");
    drop(six);
    assert!(more.cpu_data().is_ok());
    // What failed is not counted.
    book.left.store(0, Relaxed);
    assert_eq!(Object::new(100).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
    assert!(Object::new(5999).cpu_data().is_ok());
}

fn its_blocks_are_in_the_account_to_the_byte() {
    let book = Book::new().set();
    let objects: Vec<_> = SIZES.map(touched).into();
    let all: usize = SIZES.iter().sum();
    let pageable = figures().pageable;
    assert_eq!((pageable.live, pageable.allocations.bytes, pageable.allocations.count), (all as u64, all as u64, 8));
    assert_eq!(book.live().iter().sum::<usize>(), all);
    drop(objects);
    let pageable = figures().pageable;
    assert_eq!((pageable.live, pageable.frees.bytes, pageable.pool_hits.count), (0, all as u64, 0));
    assert!(book.live().is_empty());
}

fn its_blocks_are_in_the_trace() {
    let folder = folder::Folder::new();
    let file = folder.path("trace");
    alone(&[("SYNCEDMEM_TRACE", file.to_str().unwrap())], || {
        Book::new().set();
        drop(SIZES.map(touched));
    });
    if inside() {
        return;
    }
    let traced = traced::accounts_of(&file);
    let all: usize = SIZES.iter().sum();
    let pageable = traced.values().next().unwrap().memory(syncedmem_core::kind::Kind::Pageable);
    assert_eq!((pageable.fresh.count, pageable.fresh.bytes), (8, all as u64));
    assert_eq!((pageable.freed.count, pageable.freed.bytes), (8, all as u64));
}

fn what_is_no_table_of_functions_is_refused_and_changes_nothing() {
    let book = Book::new().set();
    let good = book.table();
    let bad = [
        (syncedmem_host_allocator_t { size: 32, ..good }, "allocator->size"),
        (syncedmem_host_allocator_t { size: 48, ..good }, "allocator->size"),
        (syncedmem_host_allocator_t { allocate: None, ..good }, "pass both functions"),
        (syncedmem_host_allocator_t { release: None, ..good }, "pass both functions"),
    ];
    for (table, why) in bad {
        assert_refused(allocators::set(Some(&table)), SYNCEDMEM_ERROR_INVALID_ARGUMENT, why);
    }
    let misaligned = std::ptr::from_ref(&good).wrapping_byte_add(1);
    assert_refused(unsafe { syncedmem_set_host_allocator(misaligned) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT, "misaligned");
    let _object = touched(10);
    assert_eq!(book.live(), [10]);
}

fn it_is_refused_where_free_is_to_take_each_block() {
    assert_refused(
        allocators::set(Some(&Book::new().table())),
        SYNCEDMEM_ERROR_INVALID_STATE,
        "SYNCEDMEM_HOST_BLOCKS is malloc",
    );
    assert_eq!(allocators::set(None), SYNCEDMEM_SUCCESS, "there is none");
}

fn caffes_own_host_allocation_stays_mallocs() {
    let book = Book::new().set();
    let (mut data, mut pinned) = (std::ptr::null_mut(), true);
    assert_eq!(unsafe { CaffeMallocHost(&mut data, 100, &mut pinned) }, SYNCEDMEM_SUCCESS);
    assert_eq!((book.made.load(Relaxed), pinned), (0, false));
    unsafe { libc::free(data) };
}

fn junk_fills_memory_whose_contents_are_undefined_and_no_other() {
    const JUNK: [u8; 4] = 0x7fed_beef_u32.to_ne_bytes();
    assert!(f32::from_ne_bytes(JUNK).is_nan());
    alone(&[("SYNCEDMEM_JUNK_FILL", "on")], || {
        for own in [false, true] {
            if own {
                Book::new().set();
            }
            for bytes in SIZES.into_iter().chain(1..10) {
                let mut object = Object::new(bytes);
                let data = object.overwrite_cpu_data().unwrap();
                let bytes_of_it = unsafe { std::slice::from_raw_parts(data, bytes) };
                assert!(bytes_of_it.chunks(4).all(|word| word == &JUNK[..word.len()]), "{bytes}");
                for access in [Storage::cpu_data, Storage::mutable_cpu_data] {
                    let mut object = Object::new(bytes);
                    assert!(all_zero(access(&mut object).unwrap(), bytes), "{bytes}: Caffe expects zeros");
                }
                unsafe { data.write_bytes(7, bytes) };
                assert_eq!(object.overwrite_cpu_data(), Ok(data));
                assert_eq!(unsafe { data.read() }, 7, "its contents are current");
                let mut lent = vec![8; bytes];
                object.set_cpu_data(lent.as_mut_ptr());
                object.cpu_data().unwrap();
                assert_eq!(lent, vec![8; bytes]);
            }
        }
    });
}

harness::tests![
    its_blocks_are_in_the_trace,
    junk_fills_memory_whose_contents_are_undefined_and_no_other;
    alone(&[("SYNCEDMEM_HOST_LIMIT", "10000")]): its_blocks_are_limited_as_others;
    alone(&[figures::ON]): its_blocks_are_in_the_account_to_the_byte;
    alone(&[("SYNCEDMEM_HOST_BLOCKS", "malloc")]): it_is_refused_where_free_is_to_take_each_block;
    alone(&[]):
    every_host_block_comes_from_it_with_its_size_and_goes_back_when_its_object_ends,
    a_block_goes_back_wherever_an_object_lets_go_of_it,
    a_change_affects_later_blocks_and_each_goes_back_to_the_one_that_made_it,
    blocks_that_come_zeroed_are_not_filled,
    without_memory_from_it_the_access_fails_and_the_next_succeeds,
    a_block_that_is_not_aligned_is_given_back_and_refused,
    what_is_no_table_of_functions_is_refused_and_changes_nothing,
    caffes_own_host_allocation_stays_mallocs
];
