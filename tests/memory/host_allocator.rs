//! Host blocks of an allocator of the program's own.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::support::allocators::{self, Book, DIRT};
use crate::support::figures::{self, figures};
use crate::support::plain::Plain;
use crate::support::pools::{ALL, MIB, idle};
use crate::support::*;

/// Below and above each size at which the library's own blocks come from another place.
const SIZES: [usize; 8] = [1, 4096, 4097, 64 << 10, (64 << 10) + 1, MIB, 2 * MIB, 5 * MIB + 3];

fn touched(bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    object.mutable_cpu_data().unwrap();
    object
}

fn every_host_block_comes_from_it_with_its_size_and_goes_back_when_its_object_ends() {
    alone(&[], || {
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
            assert_eq!(book.live(), []);
        }
        assert_eq!(book.made.load(Relaxed), 2 * SIZES.len());
    });
}

fn a_block_goes_back_wherever_an_object_lets_go_of_it() {
    alone(&[], || {
        let book = Book::new().set();
        for bytes in SIZES {
            let mut lent = vec![1; bytes];
            let mut object = touched(bytes);
            assert_eq!(object.set_cpu_data(lent.as_mut_ptr()), SYNCEDMEM_SUCCESS);
            assert_eq!(book.live(), [], "memory is lent");
            let mut object = touched(bytes);
            // Another implementation brings the device up to date.
            object.put(8, &0x7000_0000_0000usize.to_le_bytes());
            object.put(24, &3u32.to_le_bytes());
            assert_eq!((object.release_cpu(), book.live()), (SYNCEDMEM_SUCCESS, vec![]), "it is released");
            let plain = Plain::new(bytes);
            plain.mutable_cpu_data();
            assert_eq!(unsafe { (*plain.this()).resize(bytes + 1) }, Ok(()));
            assert_eq!(book.live(), [], "the object grows");
        }
    });
}

fn a_change_affects_later_blocks_and_each_goes_back_to_the_one_that_made_it() {
    alone(&[], || {
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
            assert_eq!(first.live(), [], "{bytes}");
        }
    });
}

fn blocks_that_come_zeroed_are_not_filled() {
    alone(&[], || {
        let book = Book::new();
        let table = syncedmem_host_allocator_t { zeroed: true, ..book.table() };
        assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
        for bytes in SIZES {
            let mut object = touched(bytes);
            let data = object.cpu_data().unwrap();
            assert_eq!(unsafe { data.read() }, DIRT, "{bytes}: the allocator does not keep its word");
        }
    });
}

fn without_memory_from_it_the_access_fails_and_the_next_succeeds() {
    alone(&[], || {
        let book = Book::new().set();
        for bytes in SIZES {
            let mut object = Object::new(bytes);
            for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
                book.left.store(0, Relaxed);
                assert_eq!(access(&mut object), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
                let told = last_error();
                assert!(
                    told.contains("syncedmem_set_host_allocator returned NULL; libsyncedmem holds 0 bytes"),
                    "{told}"
                );
                assert_eq!((object.head(), object.host_address()), (0, 0));
            }
            assert!(object.cpu_data().is_ok());
        }
    });
}

fn a_block_that_is_not_aligned_is_given_back_and_refused() {
    alone(&[], || {
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
    });
}

fn its_blocks_are_limited_as_others() {
    alone(&[("SYNCEDMEM_HOST_LIMIT", "10000")], || {
        let book = Book::new().set();
        let six = touched(6000);
        let mut more = Object::new(4001);
        assert_eq!(more.cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        assert!(last_error().contains("SYNCEDMEM_HOST_LIMIT is 10000"), "{}", last_error());
        assert_eq!(book.made.load(Relaxed), 1, "it is not asked");
        drop(six);
        assert!(more.cpu_data().is_ok());
        // What failed is not counted.
        book.left.store(0, Relaxed);
        assert_eq!(Object::new(100).cpu_data(), Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY));
        assert!(Object::new(5999).cpu_data().is_ok());
    });
}

fn its_blocks_are_in_the_account_to_the_byte() {
    alone(&[figures::ON], || {
        let book = Book::new().set();
        let objects: Vec<_> = SIZES.map(touched).into();
        let all: usize = SIZES.iter().sum();
        let pageable = figures().pageable;
        assert_eq!(
            (pageable.live, pageable.allocations.bytes, pageable.allocations.count),
            (all as u64, all as u64, 8)
        );
        assert_eq!(book.live().iter().sum::<usize>(), all);
        drop(objects);
        let pageable = figures().pageable;
        assert_eq!((pageable.live, pageable.frees.bytes, pageable.pool_hits.count), (0, all as u64, 0));
        assert_eq!(book.live(), []);
    });
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
    let traced = traced::figures_of(&file);
    let all: usize = SIZES.iter().sum();
    let pageable = traced.values().next().unwrap().pageable;
    assert_eq!((pageable.allocations.count, pageable.allocations.bytes), (8, all as u64));
    assert_eq!((pageable.frees.count, pageable.frees.bytes), (8, all as u64));
}

fn what_is_no_table_of_functions_is_refused_and_changes_nothing() {
    alone(&[], || {
        let book = Book::new().set();
        let good = book.table();
        let bad = [
            (syncedmem_host_allocator_t { size: 32, ..good }, "allocator->size"),
            (syncedmem_host_allocator_t { size: 48, ..good }, "allocator->size"),
            (syncedmem_host_allocator_t { allocate: None, ..good }, "pass both functions"),
            (syncedmem_host_allocator_t { release: None, ..good }, "pass both functions"),
        ];
        for (table, why) in bad {
            assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
            assert!(last_error().contains(why), "{}", last_error());
        }
        let misaligned = std::ptr::from_ref(&good).wrapping_byte_add(1);
        assert_eq!(unsafe { syncedmem_set_host_allocator(misaligned) }, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        assert!(last_error().contains("misaligned"), "{}", last_error());
        let _object = touched(10);
        assert_eq!(book.live(), [10]);
    });
}

fn it_is_refused_where_free_is_to_take_each_block() {
    alone(&[("SYNCEDMEM_HOST_BLOCKS", "malloc")], || {
        assert_eq!(allocators::set(Some(&Book::new().table())), SYNCEDMEM_ERROR_INVALID_STATE);
        assert!(last_error().contains("SYNCEDMEM_HOST_BLOCKS is malloc"), "{}", last_error());
        assert_eq!(allocators::set(None), SYNCEDMEM_SUCCESS, "there is none");
    });
}

fn caffes_own_host_allocation_stays_mallocs() {
    alone(&[], || {
        let book = Book::new().set();
        let (mut data, mut pinned) = (std::ptr::null_mut(), true);
        assert_eq!(unsafe { CaffeMallocHost(&mut data, 100, &mut pinned) }, SYNCEDMEM_SUCCESS);
        assert_eq!((book.made.load(Relaxed), pinned), (0, false));
        unsafe { libc::free(data) };
    });
}

fn eight_threads_exchange_allocators_under_load_and_each_block_finds_its_own() {
    alone(&[figures::ON], || {
        let books = [(); 3].map(|()| Book::new());
        let random = |seed: usize| {
            let mut random = Random::new(seed as u64, 18);
            let mut kept = Vec::new();
            for _ in 0..1000 {
                match random.below(6) {
                    0 => assert_eq!(allocators::set(None), SYNCEDMEM_SUCCESS),
                    book @ 1..=3 => {
                        books[book - 1].set();
                    }
                    4 => kept.truncate(random.below(kept.len() + 1)),
                    _ => kept.push(touched(1 + random.below(100_000))),
                }
            }
            for object in &mut kept {
                let owners = books.iter().filter(|book| book.has(object.host_address())).count();
                assert!(owners <= 1);
            }
        };
        at_once(8, random);
        assert_eq!(allocators::set(None), SYNCEDMEM_SUCCESS);
        for book in books {
            assert_eq!(book.live(), []);
            assert!(book.made.load(Relaxed) > 100, "each served");
        }
        assert_eq!((figures().pageable.live, figures().host_failures.count), (0, 0));
    });
}

/// Takes its blocks from an object's host side: of each size from an object of that size.
unsafe extern "C-unwind" fn allocate_within(bytes: usize, alignment: usize, context: *mut c_void) -> *mut c_void {
    thread_local!(static DEPTH: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    let depth = DEPTH.replace(DEPTH.get() + 1);
    if depth == 0 {
        let object = touched(bytes);
        assert!(figures().objects_made > 0);
        drop(object);
        // The allocator may be changed inside of itself, too.
        allocators::set(Some(&unsafe { &*context.cast::<Book>() }.table_within()));
    }
    DEPTH.set(depth);
    unsafe { allocators::allocate(bytes, alignment, context) }
}

unsafe extern "C-unwind" fn release_within(block: *mut c_void, bytes: usize, context: *mut c_void) {
    unsafe { allocators::release(block, bytes, context) };
    static INSIDE: AtomicBool = AtomicBool::new(false);
    if !INSIDE.swap(true, Relaxed) {
        drop(touched(bytes));
        INSIDE.store(false, Relaxed);
    }
}

impl Book {
    fn table_within(&self) -> syncedmem_host_allocator_t {
        syncedmem_host_allocator_t {
            size: size_of::<syncedmem_host_allocator_t>(),
            allocate: Some(allocate_within),
            release: Some(release_within),
            context: std::ptr::from_ref(self).cast_mut().cast(),
            zeroed: false,
        }
    }
}

fn an_allocator_may_use_the_library_inside_of_itself() {
    alone(&[figures::ON], || {
        unsafe { libc::alarm(60) };
        let book = Book::new();
        assert_eq!(allocators::set(Some(&book.table_within())), SYNCEDMEM_SUCCESS);
        for bytes in SIZES {
            let object = touched(bytes);
            assert!(book.has(object.host_address()));
        }
        assert_eq!(book.live(), []);
        assert!(book.made.load(Relaxed) > 2 * SIZES.len(), "those inside came from it, too");
    });
}

fn an_access_to_the_object_that_the_block_is_for_is_refused_inside_of_the_allocator() {
    static OBJECT: AtomicUsize = AtomicUsize::new(0);
    static STATUS: AtomicUsize = AtomicUsize::new(usize::MAX);
    unsafe extern "C-unwind" fn asks(bytes: usize, alignment: usize, context: *mut c_void) -> *mut c_void {
        let mem = std::ptr::with_exposed_provenance_mut(OBJECT.load(Relaxed));
        let mut data = std::ptr::null();
        let status = unsafe { syncedmem_cpu_data(mem, &mut data) };
        STATUS.store(status as usize, Relaxed);
        unsafe { allocators::allocate(bytes, alignment, context) }
    }
    alone(&[], || {
        let book = Book::new();
        let table = syncedmem_host_allocator_t { allocate: Some(asks), ..book.table() };
        assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
        for bytes in SIZES {
            let mut object = Object::new(bytes);
            OBJECT.store(object.mem().expose_provenance(), Relaxed);
            assert!(object.cpu_data().is_ok());
            assert_eq!(STATUS.load(Relaxed), SYNCEDMEM_ERROR_REENTERED as usize, "{bytes}");
        }
    });
}

fn a_forked_child_gives_blocks_back_and_its_parent_does_too() {
    alone(&[], || {
        let book = Book::new().set();
        let mut objects: Vec<_> = SIZES.map(touched).into();
        in_a_child(|| {
            objects.push(touched(70_000));
            objects.clear();
            assert_eq!(book.live(), []);
        });
        assert_eq!(book.live().len(), SIZES.len());
        drop(objects);
        assert_eq!(book.live(), []);
    });
}

fn forks_under_eight_threads_that_use_it_leave_a_child_that_can() {
    unsafe extern "C-unwind" fn make(bytes: usize, alignment: usize, _: *mut c_void) -> *mut c_void {
        let mut block = std::ptr::null_mut();
        assert_eq!(unsafe { libc::posix_memalign(&mut block, alignment, bytes) }, 0);
        block
    }
    unsafe extern "C-unwind" fn free(block: *mut c_void, _: usize, _: *mut c_void) {
        unsafe { libc::free(block) };
    }
    alone(&[], || {
        unsafe { libc::alarm(60) };
        let table = syncedmem_host_allocator_t { allocate: Some(make), release: Some(free), ..Book::new().table() };
        assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
        beside(8, |_, _| drop(touched(100)), || (0..50).for_each(|_| in_a_child(|| drop(SIZES.map(touched)))));
    });
}

fn blocks_of_objects_that_end_while_the_process_exits_go_back() {
    static OBJECTS: std::sync::Mutex<Vec<Object>> = std::sync::Mutex::new(Vec::new());
    static BOOK: std::sync::OnceLock<&Book> = std::sync::OnceLock::new();
    extern "C" fn at_exit() {
        let before = BOOK.get().unwrap().live().len();
        OBJECTS.lock().unwrap().clear();
        let after = BOOK.get().unwrap().live().len();
        unsafe { libc::_exit(i32::from((before, after) != (SIZES.len(), 0)) + 40) };
    }
    alone(&[], || {
        let exit = exit_of_a_child(|| {
            BOOK.get_or_init(|| Book::new().set());
            OBJECTS.lock().unwrap().extend(SIZES.map(touched));
            assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
            unsafe { libc::exit(1) }
        });
        assert_eq!(exit, 40);
    });
}

fn a_thread_that_ends_an_object_need_not_be_the_one_that_made_its_block() {
    alone(&[], || {
        let book = Book::new().set();
        for bytes in SIZES {
            let object = std::thread::spawn(move || touched(bytes)).join().unwrap();
            std::thread::spawn(|| drop(object)).join().unwrap();
        }
        assert_eq!(book.live(), []);
    });
}

fn a_panic_out_of_it_is_caught_and_the_object_is_as_it_was() {
    unsafe extern "C-unwind" fn panics(_: usize, _: usize, _: *mut c_void) -> *mut c_void {
        std::panic::resume_unwind(Box::new("a bug of the program's"))
    }
    alone(&[], || {
        let book = Book::new();
        for bytes in SIZES {
            let mut object = Object::new(bytes);
            let table = syncedmem_host_allocator_t { allocate: Some(panics), ..book.table() };
            assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
            assert_eq!((object.cpu_data(), object.head()), (Err(SYNCEDMEM_ERROR_INTERNAL), 0));
            book.set();
            assert!(object.cpu_data().is_ok(), "{bytes}");
        }
    });
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
    every_host_block_comes_from_it_with_its_size_and_goes_back_when_its_object_ends,
    a_block_goes_back_wherever_an_object_lets_go_of_it,
    a_change_affects_later_blocks_and_each_goes_back_to_the_one_that_made_it,
    blocks_that_come_zeroed_are_not_filled,
    without_memory_from_it_the_access_fails_and_the_next_succeeds,
    a_block_that_is_not_aligned_is_given_back_and_refused,
    its_blocks_are_limited_as_others,
    its_blocks_are_in_the_account_to_the_byte,
    its_blocks_are_in_the_trace,
    what_is_no_table_of_functions_is_refused_and_changes_nothing,
    it_is_refused_where_free_is_to_take_each_block,
    caffes_own_host_allocation_stays_mallocs,
    eight_threads_exchange_allocators_under_load_and_each_block_finds_its_own,
    an_allocator_may_use_the_library_inside_of_itself,
    an_access_to_the_object_that_the_block_is_for_is_refused_inside_of_the_allocator,
    a_forked_child_gives_blocks_back_and_its_parent_does_too,
    forks_under_eight_threads_that_use_it_leave_a_child_that_can,
    blocks_of_objects_that_end_while_the_process_exits_go_back,
    a_thread_that_ends_an_object_need_not_be_the_one_that_made_its_block,
    a_panic_out_of_it_is_caught_and_the_object_is_as_it_was,
    junk_fills_memory_whose_contents_are_undefined_and_no_other,
];
