//! Allocators of a program's own, which keep a book of their blocks and fail where a test says so.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::*;

/// New blocks are full of this.
pub const DIRT: u8 = 0xEE;

/// An allocator: its blocks that live, by address, with their bytes.
pub struct Book {
    blocks: Mutex<BTreeMap<usize, usize>>,
    /// How many blocks it has made.
    pub made: AtomicUsize,
    /// How many allocations succeed before one fails; below zero, none does.
    pub left: AtomicIsize,
    /// Bytes from the alignment to where its blocks begin.
    pub shift: AtomicUsize,
}

impl Book {
    /// A new allocator, which stays for the rest of the process.
    pub fn new() -> &'static Book {
        Box::leak(Box::new(Book {
            blocks: Mutex::new(BTreeMap::new()),
            made: AtomicUsize::new(0),
            left: AtomicIsize::new(-1),
            shift: AtomicUsize::new(0),
        }))
    }

    /// The table with it.
    pub fn table(&'static self) -> syncedmem_host_allocator_t {
        syncedmem_host_allocator_t {
            size: size_of::<syncedmem_host_allocator_t>(),
            allocate: Some(allocate),
            release: Some(release),
            context: std::ptr::from_ref(self).cast_mut().cast(),
            zeroed: false,
        }
    }

    /// Lets later host blocks come from it.
    pub fn set(&'static self) -> &'static Book {
        assert_eq!(set(Some(&self.table())), SYNCEDMEM_SUCCESS);
        self
    }

    fn with<R>(&self, work: impl FnOnce(&mut BTreeMap<usize, usize>) -> R) -> R {
        work(&mut self.blocks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bytes of its blocks that live, in the order of their addresses.
    pub fn live(&self) -> Vec<usize> {
        self.with(|blocks| blocks.values().copied().collect())
    }

    /// Whether it made the block at `address`, which lives.
    pub fn has(&self, address: usize) -> bool {
        self.with(|blocks| blocks.contains_key(&address))
    }
}

/// An allocator that keeps no book: it takes no lock, so that it may be used in a forked child and where malloc fails.
pub fn without_a_book() -> syncedmem_host_allocator_t {
    unsafe extern "C-unwind" fn allocate(bytes: usize, alignment: usize, _: *mut c_void) -> *mut c_void {
        let mut block = std::ptr::null_mut();
        unsafe { libc::posix_memalign(&mut block, alignment, bytes) };
        block
    }
    unsafe extern "C-unwind" fn release(block: *mut c_void, _: usize, _: *mut c_void) {
        unsafe { libc::free(block) };
    }
    let (allocate, release, context) = (Some(allocate as _), Some(release as _), std::ptr::null_mut());
    syncedmem_host_allocator_t {
        size: size_of::<syncedmem_host_allocator_t>(),
        allocate,
        release,
        context,
        zeroed: false,
    }
}

/// Sets an allocator, or the library's own.
pub fn set(table: Option<&syncedmem_host_allocator_t>) -> syncedmem_status_t {
    unsafe { syncedmem_set_host_allocator(table.map_or(std::ptr::null(), std::ptr::from_ref)) }
}

pub unsafe extern "C-unwind" fn allocate(bytes: usize, alignment: usize, context: *mut c_void) -> *mut c_void {
    let book = unsafe { &*context.cast::<Book>() };
    assert!(bytes > 0 && alignment.is_power_of_two());
    let left = book.left.load(Relaxed);
    if left >= 0 {
        book.left.store(left - 1, Relaxed);
    }
    if left == 0 {
        return std::ptr::null_mut();
    }
    let shift = book.shift.load(Relaxed);
    let mut block = std::ptr::null_mut();
    assert_eq!(unsafe { libc::posix_memalign(&mut block, alignment, bytes + shift) }, 0);
    let block = unsafe { block.byte_add(shift) };
    unsafe { block.cast::<u8>().write_bytes(DIRT, bytes) };
    assert_eq!(book.with(|blocks| blocks.insert(block.addr(), bytes)), None);
    book.made.fetch_add(1, Relaxed);
    block
}

pub unsafe extern "C-unwind" fn release(block: *mut c_void, bytes: usize, context: *mut c_void) {
    let book = unsafe { &*context.cast::<Book>() };
    assert_eq!(book.with(|blocks| blocks.remove(&block.addr())), Some(bytes), "it goes back as it was asked for, once");
    unsafe { libc::free(block.byte_sub(book.shift.load(Relaxed))) };
}
