//! This program's allocator is glibc's, which fails where a test asks for it, and counts the blocks of a few sizes.

use std::ffi::{c_int, c_void};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

use crate::support::*;

/// How many allocations succeed before one fails. Below zero, none fails.
static LEFT: AtomicIsize = AtomicIsize::new(-1);
/// Whether one has failed.
static FIRED: AtomicBool = AtomicBool::new(false);
/// Whether later ones fail too.
static FOR_GOOD: AtomicBool = AtomicBool::new(false);
/// The thread whose allocations fail, as `pthread_self` names it.
static THREAD: AtomicIsize = AtomicIsize::new(0);

/// How many blocks of `WATCHED` bytes were allocated. No other block has this size.
pub static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
pub const WATCHED: usize = 154_321;
/// Sizes of small blocks whose ends are observed; no other block has them. The first size comes from `calloc`.
pub const FOLLOWED: [usize; 2] = [2_321, 12_321];
/// Addresses of those that are alive; 0 marks a free slot.
static LIVE: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
/// How many of them were allocated.
pub static MADE: AtomicUsize = AtomicUsize::new(0);
/// An allocation of such a size waits until this many were made: a race has begun when a second thread is in one.
pub static AWAITED: AtomicUsize = AtomicUsize::new(0);

static LIVING: AtomicUsize = AtomicUsize::new(0);

/// How many blocks of those sizes are alive.
pub fn live() -> usize {
    LIVING.load(Ordering::Relaxed)
}

fn follow(bytes: usize, block: *mut c_void) -> *mut c_void {
    if FOLLOWED.contains(&bytes) && !block.is_null() {
        MADE.fetch_add(1, Ordering::Relaxed);
        LIVING.fetch_add(usize::from(exchange(0, block.addr())), Ordering::Relaxed);
        let mut milliseconds = 0;
        while MADE.load(Ordering::Relaxed) < AWAITED.load(Ordering::Relaxed) && milliseconds < HANGS_AFTER * 1000 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            milliseconds += 1;
        }
    }
    block
}

fn exchange(old: usize, new: usize) -> bool {
    LIVE.iter().any(|live| live.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok())
}

fn fails_now() -> bool {
    if LEFT.load(Ordering::Relaxed) < 0 || THREAD.load(Ordering::Relaxed) != this_thread() {
        return false;
    }
    let left = LEFT.load(Ordering::Relaxed);
    if left > 0 || !FOR_GOOD.load(Ordering::Relaxed) {
        LEFT.store(left - 1, Ordering::Relaxed);
    }
    FIRED.fetch_or(left == 0, Ordering::Relaxed);
    left == 0
}

fn this_thread() -> isize {
    unsafe { libc::pthread_self() as isize }
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

fn refuse() -> *mut c_void {
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if fails_now() { refuse() } else { unsafe { __libc_malloc(bytes) } }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    if fails_now() { refuse() } else { follow(bytes, unsafe { __libc_calloc(count, bytes) }) }
}

#[unsafe(no_mangle)]
extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if fails_now() { refuse() } else { unsafe { __libc_realloc(block, bytes) } }
}

#[unsafe(no_mangle)]
extern "C" fn posix_memalign(block: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if bytes == WATCHED {
        ALLOCATED.fetch_add(1, Ordering::Relaxed);
        // This is long enough for every other thread to arrive.
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let new = if fails_now() { refuse() } else { follow(bytes, unsafe { __libc_memalign(alignment, bytes) }) };
    if new.is_null() {
        return libc::ENOMEM;
    }
    unsafe { block.write(new) };
    0
}

#[unsafe(no_mangle)]
extern "C" fn free(block: *mut c_void) {
    if live() > 0 && !block.is_null() {
        LIVING.fetch_sub(usize::from(exchange(block.addr(), 0)), Ordering::Relaxed);
    }
    unsafe { __libc_free(block) };
}

#[unsafe(no_mangle)]
extern "C" fn mmap(at: *mut c_void, len: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void {
    if fails_now() {
        refuse();
        return libc::MAP_FAILED;
    }
    unsafe { libc::syscall(libc::SYS_mmap, at, len, access, flags, file, offset) as *mut c_void }
}

/// Fails every allocation of `operation` in turn, alone and with all that follow; it must make `at_least` so many. Without a
/// failure the operation returns `expected`. `look` returns the visible state of what `prepare` made, which no failure may change.
pub fn every_allocation<S, L: PartialEq + Debug>(
    at_least: usize,
    expected: Answer,
    prepare: impl Fn() -> S,
    look: impl Fn(&S) -> L,
    operation: impl Fn(&mut S) -> Answer,
) {
    // Checks that the operation makes that many allocations.
    let fails = |nth: usize| {
        let mut world = prepare();
        let before = look(&world);
        THREAD.store(this_thread(), Ordering::Relaxed);
        LEFT.store(nth as isize, Ordering::Relaxed);
        let answer = operation(&mut world);
        LEFT.store(-1, Ordering::Relaxed);
        if !FIRED.load(Ordering::Relaxed) {
            assert_eq!(answer, expected, "{}", last_error());
            return false;
        }
        // A failure that the operation can avoid does not count.
        if answer != expected {
            assert_eq!(answer, Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY), "allocation {nth} failed: {}", last_error());
            assert_eq!(look(&world), before, "allocation {nth} failed, and something changed");
            assert_eq!(operation(&mut world), expected, "after allocation {nth} failed");
        }
        true
    };
    for for_good in [false, true] {
        // Each runs in its own child, which uses the library for the first time unless the test has used it before.
        let fails_in_a_child = |nth| {
            let child = || {
                FOR_GOOD.store(for_good, Ordering::Relaxed);
                u8::from(fails(nth))
            };
            exit_of_a_child(child) == 1
        };
        let seen = (0..1000).take_while(|&nth| fails_in_a_child(nth)).count();
        assert!((at_least..1000).contains(&seen), "{seen} allocations were seen");
    }
}
