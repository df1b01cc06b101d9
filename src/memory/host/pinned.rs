//! Page-locked host blocks. If the driver has none, the block is pageable; one warning says so.
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

/// The smallest size in bytes that the driver refused for lack of memory. It is not asked for more until a page-locked
/// block is freed: a refusal takes long.
static REFUSED_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

#[cold]
pub fn allocate(request: Request) -> Option<Found> {
    let Request { bytes, holder, .. } = request;
    let attempt = || {
        let driver = cuda::driver()?;
        let request = allocator::Request { side: Side::Host, bytes, holder, pending_on_legacy: false };
        context::for_new_block(driver, |guard| allocator::allocate(driver, guard, request))
    };
    or_pageable(Subject { object: holder, bytes }, attempt)
}

/// A block of so many bytes goes back to the driver.
#[cold]
pub fn freed(bytes: usize) {
    REFUSED_FROM.store(usize::MAX, Relaxed);
    limit::withdraw(bytes);
}

/// It gets no entry in the table, because the caller may free it by `cudaFreeHost`.
pub fn caffe_malloc(bytes: usize) -> Option<NonNull<c_void>> {
    or_pageable(Subject { object: 0, bytes }, || {
        let driver = cuda::driver()?;
        context::for_new_block(driver, |_guard| Ok(allocator::allocate_unrecorded(driver, bytes)?))
    })
}

/// At exit, in a forked child and without a driver the memory stays.
///
/// # Safety
/// It came from `caffe_malloc` or `cudaMallocHost`, and is not used any more.
pub unsafe fn caffe_free(address: NonNull<c_void>) -> Result<(), Error> {
    let Ok(driver) = cuda::driver() else { return Ok(()) };
    REFUSED_FROM.store(usize::MAX, Relaxed);
    context::for_new_block(driver, |_guard| {
        // SAFETY: the caller guarantees it.
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
    // Not at exit or in a forked child.
    if cuda::may_be_used() {
        warn_once(&REPORTED, format_args!("host memory is not page-locked: {why}"));
    }
}
