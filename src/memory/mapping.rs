//! Anonymous mappings: zeros that cost nothing until touched.
#![expect(unsafe_code, reason = "mmap, mremap, munmap and madvise are called here")]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::platform::limits;

/// In bytes: a huge page, which the kernel may use for it.
pub const MAPPED_FROM: usize = 2 << 20;

/// Blocks of zeros of so many bytes are always fresh mappings.
pub const VERY_LARGE: usize = 256 << 20;

/// Only [`Mapping::unmap`] frees it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    block: NonNull<c_void>,
    /// Bytes: whole pages.
    len: usize,
}

impl Mapping {
    pub fn of(bytes: usize) -> Option<Mapping> {
        const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
        // Not MAP_NORESERVE: an error here is better than a kill at the first touch.
        const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let len = bytes.checked_next_multiple_of(page_size())?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let block = unsafe { libc::mmap(std::ptr::null_mut(), len, ACCESS, KIND, -1, 0) };
        let block = NonNull::new(block).filter(|_| block != libc::MAP_FAILED)?;
        Some(Mapping { block, len })
    }

    pub fn block(&self) -> NonNull<c_void> {
        self.block
    }

    /// Bytes of the block: whole pages.
    pub fn room(&self) -> usize {
        self.len
    }

    /// Resizes the block, which may move; added bytes are zeros. `None`: it is unmapped.
    pub fn resized(self, bytes: usize) -> Option<Mapping> {
        let resized = self.remapped(bytes);
        if resized.is_none() {
            self.unmap();
        }
        resized
    }

    fn remapped(&self, bytes: usize) -> Option<Mapping> {
        let len = bytes.checked_next_multiple_of(page_size())?;
        // SAFETY: the range is a mapping of ours, and the caller uses its old addresses no more.
        let block = unsafe { libc::mremap(self.block.as_ptr(), self.len, len, libc::MREMAP_MAYMOVE) };
        let block = NonNull::new(block).filter(|_| block != libc::MAP_FAILED)?;
        Some(Mapping { block, len })
    }

    pub fn unmap(self) {
        // SAFETY: the range is a mapping of ours, which the caller uses no more.
        let failed = unsafe { libc::munmap(self.block.as_ptr(), self.len) };
        if failed != 0 {
            // vm.max_map_count forbids to split it off its neighbours: free the memory, and lose the addresses.
            // SAFETY: as above.
            unsafe { libc::madvise(self.block.as_ptr(), self.len, libc::MADV_DONTNEED) };
        }
    }
}

fn page_size() -> usize {
    limits::system(libc::_SC_PAGESIZE).max(4096)
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
