//! The program's own allocator for host blocks.

use std::ffi::c_void;

use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::memory::host::{self, Functions};

/// Returns a block of `bytes` (not 0) at a multiple of `alignment` (a power of two), or NULL.
pub type syncedmem_allocate_t =
    Option<unsafe extern "C-unwind" fn(bytes: usize, alignment: usize, context: *mut c_void) -> *mut c_void>;

/// Takes back a block of the same table's `allocate`, with the same `bytes`.
pub type syncedmem_release_t =
    Option<unsafe extern "C-unwind" fn(block: *mut c_void, bytes: usize, context: *mut c_void)>;

/// See `syncedmem_set_host_allocator`. Later versions may add members at the end.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct syncedmem_host_allocator_t {
    /// Set by the caller to `sizeof(syncedmem_host_allocator_t)`.
    pub size: usize,
    /// Makes a block.
    pub allocate: syncedmem_allocate_t,
    /// Takes a block back.
    pub release: syncedmem_release_t,
    /// Given to both; may be NULL.
    pub context: *mut c_void,
    /// Whether new blocks hold zeros: the library then does not fill them.
    pub zeroed: bool,
}

/// Makes later host blocks of all objects come from the program's functions; NULL: from the library again. The table is
/// copied.
///
/// The blocks are counted, limited (`SYNCEDMEM_HOST_LIMIT`) and traced as others. They are not kept for reuse, and
/// page-locked only if `allocate` returns such memory. `allocate` is not called for
/// `CaffeMallocHost`, whose memory programs pass to `free()`. If it returns NULL after the library has tried to make
/// room, or a block with too little alignment, which is given back, the access gives `OUT_OF_MEMORY`.
///
/// The functions are called without locks, on any thread that uses or ends an object; `release` also in a forked child
/// and at exit. They may use objects, but not the block's own, nor those that another thread uses. They return: an
/// exception ends the process, and a `longjmp` out of one is not allowed. The library cannot notice it: the object stays
/// claimed, so that this thread's later calls give `REENTERED` and those of others wait for ever, and the thread can no
/// longer be cancelled.
///
/// Errors: `INVALID_ARGUMENT` (a NULL function; `size`), `INVALID_STATE` (`SYNCEDMEM_HOST_BLOCKS` is malloc, or another copy of
/// the library is loaded).
///
/// # Safety
/// Functions and context stay usable for the rest of the process. A block stays readable and writable until it is
/// released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_set_host_allocator(
    allocator: *const syncedmem_host_allocator_t,
) -> syncedmem_status_t {
    entry!(functions(allocator), |functions| {
        // SAFETY: the caller keeps the functions and their context usable.
        unsafe { host::set_allocator(functions) }?;
    })
}

/// The functions of a table; `None` for NULL.
unsafe fn functions(table: *const syncedmem_host_allocator_t) -> Result<Option<Functions>, Error> {
    if table.is_null() {
        return Ok(None);
    }
    let refused = |what| Err(Error::InvalidArgument { what });
    if !table.is_aligned() {
        return refused("allocator is misaligned; pass the address of a syncedmem_host_allocator_t");
    }
    const { assert!(std::mem::offset_of!(syncedmem_host_allocator_t, size) == 0) };
    // SAFETY: the caller guarantees `size`, with which a table of any version begins.
    let size = unsafe { table.cast::<usize>().read() };
    // Another version's table may have unknown members.
    if size != size_of::<syncedmem_host_allocator_t>() {
        return refused(
            "allocator->size is not that of this version's syncedmem_host_allocator_t; set it to \
             sizeof(syncedmem_host_allocator_t), and compile with the header of this library",
        );
    }
    // SAFETY: the table has that size.
    let table = unsafe { table.read() };
    let (Some(allocate), Some(release)) = (table.allocate, table.release) else {
        return refused("allocator->allocate or allocator->release is NULL; pass both functions");
    };
    Ok(Some(Functions { allocate, release, context: table.context, zeroed: table.zeroed }))
}
