//! Host blocks. Those below 2 MiB come from malloc's family, because programs have the inline original of `CaffeFreeHost` compiled
//! in. Larger ones are anonymous mappings. `cache::host` keeps freed blocks of more than 4 KiB.
#![expect(unsafe_code, reason = "memory is allocated and freed here")]

pub mod caffe_host;
pub mod copies;
mod junk;
mod pageable;
mod pinned;
pub mod unread;

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr::NonNull;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::Origin;

use super::arena::device::Place;
use super::arena::host::{self as arena, Gap};
use super::blocks::{self, Block, Freed, Maker};
use super::cache::{self, host::Kept};
use super::limit;
use super::malloc::{ALIGNMENT, SMALL, aligned};
use super::observed::{self, Found};
use crate::error::{Cause, Error};
use crate::observe::recorder::{self, Span, Subject};
use crate::platform::limits;
use crate::{caffe, settings};
pub use junk::fill_with_junk;

/// Up to this many bytes, a block takes less time to allocate and fill than a wait for another thread.
pub const BRIEF: usize = 64 << 10;

/// The host memory of an object.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory {
    /// Non-null even for a block of 0 bytes.
    pub address: NonNull<c_void>,
    pub owned: bool,
    pub pinned: bool,
}

/// The address of blocks of 0 bytes.
/// Compat: the memory is writable, as malloc's block of 0 bytes is in practice, because some callers write to it.
#[repr(align(64))]
struct Nothing(UnsafeCell<[u8; ALIGNMENT]>);
static NOTHING: Nothing = Nothing(UnsafeCell::new([0; ALIGNMENT]));

// SAFETY: the library neither reads nor writes it.
unsafe impl Sync for Nothing {}

impl Nothing {
    fn address(&self) -> NonNull<c_void> {
        NonNull::from(&self.0).cast()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub bytes: usize,
    /// `false`: the contents are undefined.
    pub zeroed: bool,
    /// See [`wants_pinned`].
    pub pinned: bool,
    /// Whether even a block of up to [`SMALL`] bytes starts on a multiple of [`ALIGNMENT`].
    pub aligned: bool,
    pub owner: usize,
}

#[inline]
pub fn allocate(request: Request) -> Result<HostMemory, Error> {
    let bytes = request.bytes;
    if bytes == 0 {
        return Ok(HostMemory { address: NOTHING.address(), owned: false, pinned: false });
    }
    check_size(bytes, Side::Host)?;
    let pinned = request.pinned;
    let title = if pinned { c"allocate pinned" } else { c"allocate pageable" };
    let span = recorder::begin(title, bytes);
    limit::admit(bytes).map_err(|limit| out_of_memory(bytes, Cause::Limit(limit)))?;
    if let (true, Some(limit)) = (pinned, settings::host_limit()) {
        // `admit` has counted the bytes already, and an idle block may serve them.
        pageable::fit_under(limit.saturating_add(bytes as u64));
    }
    if pinned {
        if let Some(found) = pinned::allocate(request) {
            // SAFETY: the block is new and has at least `bytes`.
            return Ok(unsafe { ready(found, request, Kind::Pinned, span) });
        }
    }
    let found = pageable::allocate(request).map_err(|cause| {
        limit::withdraw(bytes);
        out_of_memory(bytes, cause)
    })?;
    limit::added(bytes);
    // SAFETY: the block is new and has `bytes`.
    Ok(unsafe { ready(found, request, Kind::Pageable, span) })
}

/// Takes a block from the thread's arena. `None`: call [`allocate`], which succeeds or returns the error.
pub fn take_from_arena(request: Request, place: Place, gap: Gap) -> Option<HostMemory> {
    let bytes = request.bytes;
    let span = recorder::begin(c"take from arena", bytes);
    limit::admit(bytes).ok()?;
    let taken = arena::take(bytes, place, gap).filter(|&address| {
        let kept = blocks::keep(address, Block::new(Maker::Arena, bytes, request.owner));
        kept.inspect_err(|_| arena::give_back(address)).is_ok()
    });
    let Some(address) = taken else {
        limit::withdraw(bytes);
        return None;
    };
    limit::added(bytes);
    let found = Found { address, room: bytes, origin: Origin::Arena, undefined: bytes };
    // SAFETY: the block is new and has `bytes`.
    Some(unsafe { ready(found, request, Kind::Pageable, span) })
}

/// Fills the block if the request says so.
///
/// # Safety
/// The block has the requested bytes, writable, and only the caller knows it.
#[inline]
unsafe fn ready(found: Found, request: Request, kind: Kind, span: Span) -> HostMemory {
    let subject = Subject { object: request.owner, bytes: request.bytes };
    let write = |bytes| {
        // SAFETY: the caller of `ready` guarantees that the block has these bytes, and that no other thread knows it.
        unsafe { fill(found.address, bytes) };
        Ok::<_, Infallible>(())
    };
    let zeroed = request.zeroed && !cfg!(syncedmem_fault = "zeros in page-locked memory are left out");
    let Ok(()) = observed::made(found, kind, subject, span, zeroed.then_some(write));
    HostMemory { address: found.address, owned: true, pinned: kind == Kind::Pinned }
}

/// Allocates a pageable block of 1 to [`BRIEF`] bytes. Call it only while host memory has no limit and nothing is observed. `None`:
/// call [`allocate`], which succeeds or returns the error. Catches panics: the path of small objects bypasses the guard of the entry
/// points.
#[inline]
pub fn allocate_small(bytes: usize, zeroed: bool) -> Option<NonNull<c_void>> {
    if bytes <= SMALL { pageable::small(bytes, zeroed) } else { medium(bytes, zeroed) }
}

#[inline(never)]
fn medium(bytes: usize, zeroed: bool) -> Option<NonNull<c_void>> {
    let allocate = || {
        let Found { address, undefined, .. } =
            pageable::large(Request { bytes, zeroed, pinned: false, aligned: false, owner: 0 }).ok()?;
        if zeroed {
            // SAFETY: the block is new and has `bytes`.
            unsafe { fill(address, undefined) };
        }
        limit::added(bytes);
        Some(address)
    };
    catch_unwind(allocate).ok().flatten()
}

fn out_of_memory(asked: usize, cause: Cause) -> Error {
    Error::OutOfMemory { side: Side::Host, asked, cause }
}

/// A block that its object no longer refers to.
#[derive(Clone, Copy, Debug)]
pub struct Owned {
    pub address: NonNull<c_void>,
    pub bytes: usize,
    /// The flag of the object's word.
    pub pinned: bool,
    pub owner: usize,
}

/// # Safety
/// The block came from [`allocate`], or from `malloc` or `cudaMallocHost` in an inlined original. Nothing uses it any more.
#[inline]
pub unsafe fn free(Owned { address, bytes, pinned, owner }: Owned) {
    if address == NOTHING.address() {
        return;
    }
    let known = if pinned || blocks::may_know(address) { blocks::free(address, owner) } else { Freed::Unknown };
    observed::freed(address, owner, || match known {
        Freed::Of(Maker::Driver(driver), _) => (Kind::Pinned, driver.room),
        Freed::Anothers(driver) if pinned => (Kind::Pinned, driver.room),
        Freed::Of(_, bytes) => (Kind::Pageable, bytes),
        Freed::Anothers(_) | Freed::Unknown => (Kind::Pageable, bytes),
    });
    match known {
        // SAFETY: an inlined original took it from `cudaMallocHost`; the caller of `free` gave it up.
        Freed::Unknown if pinned => _ = unsafe { pinned::caffe_free(address) },
        Freed::Unknown => {
            limit::removed(bytes);
            // SAFETY: without an entry it came from malloc's family; the caller of `free` gave it up.
            unsafe { cache::host::free(Kept::Malloc(address), bytes) };
        }
        Freed::Anothers(_) if pinned => pinned::freed(bytes),
        Freed::Anothers(_) => {}
        Freed::Of(maker, bytes) => {
            match maker {
                Maker::Driver(_) => pinned::freed(bytes),
                _ => limit::removed(bytes),
            }
            // SAFETY: the caller of `free` gave the block up, and its entry is removed.
            unsafe { super::give_back(address, maker, bytes) };
        }
    }
}

/// Frees a block of up to [`BRIEF`] bytes that is not page-locked, while host memory has no limit. Catches panics, as
/// [`allocate_small`].
///
/// # Safety
/// The contract of [`free`].
#[inline]
pub unsafe fn free_small(address: NonNull<c_void>, bytes: usize, owner: usize) {
    // A block of few bytes may be a mapping: the program may have changed the object's size.
    if bytes > SMALL || blocks::may_know(address) {
        // SAFETY: the caller of `free_small` gave the block up.
        unsafe { free_medium(Owned { address, bytes, pinned: false, owner }) }
    } else {
        // SAFETY: without an entry it came from malloc's family; the caller of `free_small` gave it up.
        unsafe { libc::free(address.as_ptr()) }
    }
}

/// # Safety
/// The contract of [`free`].
#[inline(never)]
unsafe fn free_medium(block: Owned) {
    // A panic leaks the block.
    // SAFETY: the caller of `free_small` gave the block up.
    let _ = catch_unwind(|| unsafe { free(block) });
}

pub fn check_size(bytes: usize, side: Side) -> Result<(), Error> {
    if bytes > limits::ADDRESS_SPACE {
        return Err(Error::OutOfMemory { side, asked: bytes, cause: Cause::Absurd });
    }
    Ok(())
}

/// # Safety
/// The block has that many writable bytes, and only the caller knows it.
#[inline]
unsafe fn fill(address: NonNull<c_void>, bytes: usize) {
    // SAFETY: the caller of `fill` guarantees that the bytes are writable.
    unsafe { address.cast::<u8>().write_bytes(0, bytes) };
}

/// Whether [`wants_pinned`] may be true.
pub fn may_pin() -> bool {
    settings::pins().unwrap_or_else(caffe::may_be_gpu)
}

/// Whether a new block should be page-locked: a setting decides, else `Caffe::mode()`. May call Caffe or a callback: the caller holds
/// no lock or claim.
#[inline]
pub fn wants_pinned(bytes: usize) -> bool {
    /// From this size in bytes on, a search in newly loaded libraries costs little beside the block.
    const LOOK_FROM: usize = 256 << 10;
    settings::pins().unwrap_or_else(|| caffe::is_gpu(bytes >= LOOK_FROM))
}
