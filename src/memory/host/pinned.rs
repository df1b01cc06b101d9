//! Page-locked host blocks. If the driver refuses one, the block is pageable, and the first refusal prints a warning.
#![expect(unsafe_code, reason = "the driver's memory is freed")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use syncedmem_core::head::Side;

use super::Request;
use crate::cuda::{self, context};
use crate::error::Error;
use crate::memory::driver::allocator;
use crate::memory::limit;
use crate::memory::observed::Found;
use crate::observe::recorder::Subject;
use crate::platform::text::warn_once;

/// The smallest size in bytes that the driver refused for lack of memory. Until a page-locked block is freed, no block of that size or
/// more is requested: a refusal takes long.
static REFUSED_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

#[cold]
pub fn allocate(request: Request) -> Option<Found> {
    let Request { bytes, owner, .. } = request;
    let attempt = || {
        let driver = cuda::driver()?;
        let request = allocator::Request { side: Side::Host, bytes, owner, pending_on_legacy: false };
        context::for_new_block(driver, |guard| allocator::allocate(driver, guard, request))
    };
    or_pageable(Subject { object: owner, bytes }, attempt)
}

/// Called when a page-locked block of `bytes` is freed.
#[cold]
pub fn freed(bytes: usize) {
    REFUSED_FROM.store(usize::MAX, Relaxed);
    limit::withdraw(bytes);
}

/// Allocates memory without an entry in the table, because the caller may free it with `cudaFreeHost`.
pub fn caffe_malloc(bytes: usize) -> Option<NonNull<c_void>> {
    or_pageable(Subject { object: 0, bytes }, || {
        let driver = cuda::driver()?;
        context::for_new_block(driver, |_guard| Ok(allocator::allocate_unrecorded(driver, bytes)?))
    })
}

/// Leaks the memory at exit, in a forked child and without a driver.
///
/// # Safety
/// The memory came from `caffe_malloc` or `cudaMallocHost`, and nothing uses it any more.
pub unsafe fn caffe_free(address: NonNull<c_void>) -> Result<(), Error> {
    let Ok(driver) = cuda::driver() else { return Ok(()) };
    REFUSED_FROM.store(usize::MAX, Relaxed);
    context::for_new_block(driver, |_guard| {
        // SAFETY: the caller of `caffe_free` guarantees that nothing uses the memory.
        Ok(unsafe { allocator::free_unrecorded(driver, address) }?)
    })
}

fn or_pageable<T>(subject: Subject, allocate: impl FnOnce() -> Result<T, Error>) -> Option<T> {
    let bytes = subject.bytes;
    if bytes >= REFUSED_FROM.load(Relaxed) {
        return None;
    }
    match allocate() {
        Ok(block) => Some(block),
        Err(why) => {
            if cuda::is_out_of_memory(why) {
                REFUSED_FROM.fetch_min(bytes, Relaxed);
            }
            report_once(why);
            None
        }
    }
}

#[cold]
fn report_once(why: Error) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    // The driver fails at exit and in a forked child: print nothing then.
    if cuda::may_be_used() {
        warn_once(&REPORTED, format_args!("host memory is not page-locked: {why}"));
    }
}
