//! Anonymous mappings: zeros that cost nothing until touched.
#![expect(unsafe_code, reason = "mmap, mremap, munmap and madvise are called here")]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::platform::limits;

/// The smallest mapping in bytes: a huge page, which the kernel may then use.
pub const MAPPED_FROM: usize = 2 << 20;

/// From this many bytes on, a block of zeros is always a fresh mapping.
pub const VERY_LARGE: usize = 256 << 20;

/// A mapping of the library's. Only [`Mapping::unmap`] frees it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    block: NonNull<c_void>,
    /// Bytes of the mapping: whole pages.
    len: usize,
}

impl Mapping {
    pub fn of(bytes: usize) -> Option<Mapping> {
        const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
        // MAP_NORESERVE is left out: an error here is better than a kill at the first touch.
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

    /// Resizes the block, which may move. Added bytes are zeros. If it fails, the block is unmapped: `None`.
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
            // vm.max_map_count forbids to split the range from its neighbours: free the memory, and lose the addresses.
            // SAFETY: the range is a mapping of ours, and the caller of `unmap` uses its addresses no more.
            unsafe { libc::madvise(self.block.as_ptr(), self.len, libc::MADV_DONTNEED) };
        }
    }
}

fn page_size() -> usize {
    limits::system(libc::_SC_PAGESIZE).max(4096)
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
