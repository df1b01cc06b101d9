//! Host blocks: where they come from, and how each is given back.
//!
//! Below 2 MiB blocks come from `posix_memalign`, so that `free()` takes them: the inline originals of
//! `CaffeFreeHost` are compiled into other people's code. From 2 MiB up they are anonymous mappings.
#![expect(unsafe_code, reason = "memory is allocated and freed here")]

mod limits;
mod mapping;
mod recent;
pub(crate) mod records;

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use crate::error::{Cause, Error};
use crate::text::{Bytes, Text, to_stderr};
use crate::{cuda, settings, stats};

/// Every block starts on a multiple of this many bytes: a cache line, and what AVX-512 loads like.
pub const ALIGNMENT: usize = 64;

/// Blocks of this many bytes and more are mapped: the size of an x86-64 huge page.
pub const MAPPED_FROM: usize = 2 << 20;

/// A block of up to this many bytes is allocated and filled in less time than it takes to say who does it.
pub const BRIEF: usize = 4096;

/// A host block as an object holds it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its first byte; never null, even when it has no bytes.
    pub address: NonNull<c_void>,
    /// Whether the object must give it back.
    pub owned: bool,
    /// Whether it is page-locked.
    pub pinned: bool,
}

/// What blocks without bytes point to. Nobody owns it, so nobody frees it.
/// Compat: it can be written, as what malloc gives for no bytes can: there are callers that do.
#[repr(align(64))]
struct Nothing(UnsafeCell<[u8; ALIGNMENT]>);
static NOTHING: Nothing = Nothing(UnsafeCell::new([0; ALIGNMENT]));

// SAFETY: nothing here reads or writes it.
unsafe impl Sync for Nothing {}

impl Nothing {
    fn address(&self) -> NonNull<c_void> {
        NonNull::from(&self.0).cast()
    }
}

/// A block of `bytes` for an object, zeroed or with any contents.
pub fn allocate(bytes: usize, zeroed: bool) -> Result<Block, Error> {
    if bytes == 0 {
        return Ok(Block { address: NOTHING.address(), owned: false, pinned: false });
    }
    check_size(bytes)?;
    stats::admit(bytes).map_err(|limit| Error::OutOfMemory { asked: bytes, cause: Cause::Limit(limit) })?;
    match pageable(bytes, zeroed) {
        Ok(address) => {
            stats::added(address, bytes);
            Ok(Block { address, owned: true, pinned: false })
        }
        Err(cause) => {
            stats::withdraw(bytes);
            Err(Error::OutOfMemory { asked: bytes, cause })
        }
    }
}

/// Gives back an owned block of an object.
///
/// # Safety
/// `address` and `bytes` are those of a block that an object owned and no longer refers to: one of
/// [`allocate`]'s, or one that an inlined original took from `malloc`.
pub unsafe fn free(address: NonNull<c_void>, bytes: usize) {
    if address == NOTHING.address() {
        return;
    }
    stats::removed(address, bytes);
    match records::take(address) {
        Some(mapping) => mapping.unmap(),
        // SAFETY: the caller guarantees it; a block without a record came from malloc's family.
        None => unsafe { recent::keep_or_free(address, bytes) },
    }
}

/// What Caffe's `CaffeMallocHost` hands out: memory that `free()` takes, with any contents.
pub fn caffe_malloc(bytes: usize) -> Result<Block, Error> {
    settle();
    check_size(bytes)?;
    match aligned(bytes) {
        // Compat: the original's block of no bytes is non-null too, and is passed to free().
        Some(address) => Ok(Block { address, owned: true, pinned: false }),
        None => Err(Error::OutOfMemory { asked: bytes, cause: Cause::System }),
    }
}

/// Caffe's `CaffeFreeHost`: takes what [`caffe_malloc`] or `malloc()` handed out, or NULL.
///
/// # Safety
/// `address` came from one of them and is not used again.
pub unsafe fn caffe_free(address: *mut c_void, pinned: bool) {
    // Page-locked memory was not pinned by this version, which has no driver to unpin it: it stays until exit.
    let Some(address) = NonNull::new(address).filter(|_| !pinned) else { return };
    // SAFETY: the caller guarantees it.
    unsafe { libc::free(address.as_ptr()) };
}

/// Refuses a size that no allocation could have.
pub fn check_size(bytes: usize) -> Result<(), Error> {
    /// The largest a process can have: 56 bits of x86-64's 57 with five-level page tables.
    const ADDRESS_SPACE: usize = 1 << 56;
    if bytes > ADDRESS_SPACE {
        return Err(Error::OutOfMemory { asked: bytes, cause: Cause::Absurd });
    }
    Ok(())
}

fn pageable(bytes: usize, zeroed: bool) -> Result<NonNull<c_void>, Cause> {
    if bytes >= MAPPED_FROM && !settings::malloc_only() {
        let mapping = mapping::Mapping::of(bytes).ok_or(Cause::System)?;
        return records::keep(mapping).ok_or(Cause::Bookkeeping);
    }
    let address = recent::take(bytes).or_else(|| aligned(bytes)).ok_or(Cause::System)?;
    if zeroed {
        // SAFETY: at least `bytes` writable bytes, known to nobody else yet.
        unsafe { address.cast::<u8>().write_bytes(0, bytes) };
    }
    Ok(address)
}

/// Memory that `free()` takes, aligned to [`ALIGNMENT`].
fn aligned(bytes: usize) -> Option<NonNull<c_void>> {
    let mut address = std::ptr::null_mut();
    // SAFETY: `address` is writable; the alignment is a power of two and a multiple of a pointer's size.
    let failed = unsafe { libc::posix_memalign(&mut address, ALIGNMENT, bytes) };
    if failed == 0 { NonNull::new(address) } else { None }
}

/// Reads the settings, and says what there is to say of them, before any lock is taken.
#[inline]
pub fn settle() {
    if settings::settle() {
        say_if_not_pinned();
    }
}

/// Page-locked memory needs a driver; without one a block is pageable, and the user hears of it once.
#[cold]
fn say_if_not_pinned() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static SAID: AtomicBool = AtomicBool::new(false);
    if !settings::wants_pinned() {
        return;
    }
    match cuda::driver() {
        Ok(driver) => driver.absurd(),
        Err(_) if SAID.swap(true, Ordering::Relaxed) => {}
        Err(why) => {
            let said = Text::<300>::of(format_args!("libsyncedmem: host memory is not page-locked: {why}\n"));
            to_stderr(said.as_bytes());
        }
    }
}

/// What is known about host memory when there was too little of it: what this library holds, what the limits are.
/// Empty for other errors.
pub struct Circumstances(pub Error);

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !matches!(self.0, Error::OutOfMemory { cause: Cause::System | Cause::Limit(_) | Cause::Bookkeeping, .. }) {
            return Ok(());
        }
        write!(f, "; libsyncedmem holds {} of pageable host memory", Bytes(stats::pageable_held()))?;
        if settings::host_limit().is_none() {
            f.write_str(" in blocks of 4 KiB and more")?;
        }
        if let Some(limit) = limits::address_space() {
            write!(f, "; the limit on the address space (ulimit -v) is {}", Bytes(limit))?;
        }
        if let Some(limit) = limits::cgroup() {
            write!(f, "; the limit of the control group is {}", Bytes(limit))?;
        }
        f.write_str("; free some memory, make the batch or the input smaller, or raise the limit")
    }
}
