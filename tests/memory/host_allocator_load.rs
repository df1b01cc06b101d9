//! Allocators of the program's own under load: threads, forks, the exit, a use of the library inside of them, a panic.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use crate::host_allocator::{SIZES, touched};
use crate::support::allocators::{self, Book};
use crate::support::figures::{self, figures};
use crate::support::*;

fn eight_threads_exchange_allocators_under_load_and_each_block_finds_its_own() {
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
        assert!(book.live().is_empty());
        assert!(book.made.load(Relaxed) > 100, "each served");
    }
    assert_eq!((figures().pageable.live, figures().host_failures.count), (0, 0));
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
    fn table_within(&'static self) -> syncedmem_host_allocator_t {
        let (allocate, release) = (Some(allocate_within as _), Some(release_within as _));
        syncedmem_host_allocator_t { allocate, release, ..self.table() }
    }
}

fn an_allocator_may_use_the_library_inside_of_itself() {
    unsafe { libc::alarm(HANGS_AFTER) };
    let book = Book::new();
    assert_eq!(allocators::set(Some(&book.table_within())), SYNCEDMEM_SUCCESS);
    for bytes in SIZES {
        let object = touched(bytes);
        assert!(book.has(object.host_address()));
    }
    assert!(book.live().is_empty());
    assert!(book.made.load(Relaxed) > 2 * SIZES.len(), "those inside came from it, too");
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
    let book = Book::new();
    let table = syncedmem_host_allocator_t { allocate: Some(asks), ..book.table() };
    assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
    for bytes in SIZES {
        let mut object = Object::new(bytes);
        OBJECT.store(object.mem().expose_provenance(), Relaxed);
        assert!(object.cpu_data().is_ok());
        assert_eq!(STATUS.load(Relaxed), SYNCEDMEM_ERROR_REENTERED as usize, "{bytes}");
    }
}

fn a_forked_child_gives_blocks_back_and_its_parent_does_too() {
    let book = Book::new().set();
    let mut objects: Vec<_> = SIZES.map(touched).into();
    in_a_child(|| {
        objects.push(touched(70_000));
        objects.clear();
        assert!(book.live().is_empty());
    });
    assert_eq!(book.live().len(), SIZES.len());
    drop(objects);
    assert!(book.live().is_empty());
}

fn forks_under_eight_threads_that_use_it_leave_a_child_that_can() {
    unsafe { libc::alarm(HANGS_AFTER) };
    assert_eq!(allocators::set(Some(&allocators::without_a_book())), SYNCEDMEM_SUCCESS);
    beside(8, |_, _| drop(touched(100)), || (0..50).for_each(|_| in_a_child(|| drop(SIZES.map(touched)))));
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
    let exit = exit_of_a_child(|| {
        BOOK.get_or_init(|| Book::new().set());
        OBJECTS.lock().unwrap().extend(SIZES.map(touched));
        assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
        unsafe { libc::exit(1) }
    });
    assert_eq!(exit, 40);
}

fn a_thread_that_ends_an_object_need_not_be_the_one_that_made_its_block() {
    let book = Book::new().set();
    for bytes in SIZES {
        let object = std::thread::spawn(move || touched(bytes)).join().unwrap();
        std::thread::spawn(|| drop(object)).join().unwrap();
    }
    assert!(book.live().is_empty());
}

fn a_panic_out_of_it_is_caught_and_the_object_is_as_it_was() {
    unsafe extern "C-unwind" fn panics(_: usize, _: usize, _: *mut c_void) -> *mut c_void {
        std::panic::resume_unwind(Box::new("a bug of the program's"))
    }
    let book = Book::new();
    for bytes in SIZES {
        let mut object = Object::new(bytes);
        let table = syncedmem_host_allocator_t { allocate: Some(panics), ..book.table() };
        assert_eq!(allocators::set(Some(&table)), SYNCEDMEM_SUCCESS);
        assert_eq!((object.cpu_data(), object.head()), (Err(SYNCEDMEM_ERROR_INTERNAL), 0));
        book.set();
        assert!(object.cpu_data().is_ok(), "{bytes}");
    }
}

harness::tests![
    alone(&[]):
    a_forked_child_gives_blocks_back_and_its_parent_does_too,
    forks_under_eight_threads_that_use_it_leave_a_child_that_can,
    a_thread_that_ends_an_object_need_not_be_the_one_that_made_its_block,
    an_access_to_the_object_that_the_block_is_for_is_refused_inside_of_the_allocator,
    blocks_of_objects_that_end_while_the_process_exits_go_back,
    a_panic_out_of_it_is_caught_and_the_object_is_as_it_was;
    alone(&[figures::ON]):
    eight_threads_exchange_allocators_under_load_and_each_block_finds_its_own,
    an_allocator_may_use_the_library_inside_of_itself
];
