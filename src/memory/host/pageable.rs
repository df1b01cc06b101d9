#![expect(unsafe_code, reason = "malloc, calloc and free")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::Origin;

use super::{Request, fill};
use crate::error::Cause;
use crate::memory::blocks::{self, Block, Maker};
use crate::memory::cache::{self, host::Kept};
use crate::memory::limit;
use crate::memory::malloc::{SMALL, TINY, aligned};
use crate::memory::mapping::{MAPPED_FROM, Mapping};
use crate::memory::observed::Found;
use crate::settings;

#[inline]
pub fn allocate(request: Request) -> Result<Found, Cause> {
    let Request { bytes, aligned: is_aligned, .. } = request;
    if bytes <= SMALL {
        let address = if is_aligned { aligned(bytes) } else { small(bytes, false) }.ok_or(Cause::System)?;
        if settings::host_limit().is_some() {
            make_room(bytes);
        }
        return Ok(Found { address, room: bytes, origin: Origin::Fresh, undefined: bytes });
    }
    large(request)
}

/// `bytes` is more than [`SMALL`].
#[inline]
pub fn large(request: Request) -> Result<Found, Cause> {
    let bytes = request.bytes;
    match cache::host::take(bytes, request.zeroed) {
        Some(Kept::Malloc(address)) => Ok(Found { address, room: bytes, origin: Origin::Pool, undefined: bytes }),
        Some(Kept::Mapped(mapping)) => mapped(mapping, request, Origin::Pool, bytes),
        None => fresh(request),
    }
}

/// Allocates a block, or resizes an idle mapping that must go for it.
fn fresh(request: Request) -> Result<Found, Cause> {
    let bytes = request.bytes;
    let is_mapped = bytes >= MAPPED_FROM && !settings::malloc_only();
    if let Some(mapping) = surplus(bytes) {
        let undefined = mapping.room();
        if !is_mapped || cache::host::is_better_new(bytes, request.zeroed) {
            mapping.unmap();
        } else if let Some(mapping) = cache::host::fitted(mapping, bytes, blocks::spare()) {
            return mapped(mapping, request, Origin::Pool, undefined);
        }
    }
    if is_mapped {
        return mapped(Mapping::of(bytes).ok_or(Cause::System)?, request, Origin::Fresh, 0);
    }
    let address = aligned(bytes).ok_or(Cause::System)?;
    Ok(Found { address, room: bytes, origin: Origin::Fresh, undefined: bytes })
}

fn mapped(mapping: Mapping, request: Request, origin: Origin, undefined: usize) -> Result<Found, Cause> {
    let (address, bytes) = (mapping.block(), request.bytes);
    let kept = blocks::keep(address, Block::new(Maker::Mapping(mapping), bytes, request.owner));
    kept.inspect_err(|_| mapping.unmap())?;
    Ok(Found { address, room: bytes, origin, undefined })
}

/// Allocates a block of 1 to [`SMALL`] bytes with malloc's alignment.
#[inline]
pub fn small(bytes: usize, zeroed: bool) -> Option<NonNull<c_void>> {
    if zeroed && bytes > TINY {
        // SAFETY: calloc has no preconditions.
        return NonNull::new(unsafe { libc::calloc(1, bytes) });
    }
    // SAFETY: malloc has no preconditions.
    let address = NonNull::new(unsafe { libc::malloc(bytes) })?;
    // Prevents the compiler from merging malloc and the fill into calloc.
    let address = std::hint::black_box(address);
    if zeroed {
        // SAFETY: the block is new and has `bytes`.
        unsafe { fill(address, bytes) };
    }
    Some(address)
}

/// Frees idle blocks that would exceed the peak of use, or the limit, with `bytes` more in use.
pub fn make_room(bytes: usize) {
    if let Some(mapping) = surplus(bytes) {
        mapping.unmap();
    }
}

/// [`make_room`], but returns the largest mapping instead of freeing it.
fn surplus(bytes: usize) -> Option<Mapping> {
    let limit = settings::host_limit();
    // With a limit, `admit` has counted the bytes already.
    let in_use = limit::held() + if limit.is_none() { bytes as u64 } else { 0 };
    let mapping = cache::host::surplus(in_use, blocks::spare());
    if let Some(limit) = limit {
        fit_under(limit);
    }
    mapping
}

/// Frees idle blocks until memory in use and idle memory together are within the limit.
#[cold]
pub fn fit_under(limit: u64) {
    let left = limit.saturating_sub(limit::held());
    let pinned = cache::device::idle(Kind::Pinned);
    cache::host::reduce_to(left.saturating_sub(pinned));
    if pinned > left {
        cache::device::give_back_near(Kind::Pinned);
    }
}
