//! Anonymous mappings: zeros that cost nothing until touched.
#![expect(unsafe_code, reason = "mmap, mremap, munmap and madvise are called here")]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::platform::limits;
use crate::settings;

/// Bytes on x86-64, and on aarch64 with pages of 4 KiB.
pub const HUGE_PAGE: usize = 2 << 20;

pub const MAPPED_FROM: usize = HUGE_PAGE;

/// Blocks of zeros of so many bytes are always fresh mappings.
pub const VERY_LARGE: usize = 256 << 20;

/// Only [`Mapping::unmap`] frees it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The block begins here or later.
    base: NonNull<c_void>,
    len: usize,
    block: NonNull<c_void>,
}

impl Mapping {
    pub fn of(bytes: usize) -> Option<Mapping> {
        if settings::asks_for_huge_pages() {
            Mapping::on_huge_pages(bytes)
        } else {
            map(bytes.checked_next_multiple_of(page_size())?)
        }
    }

    /// The block begins on a huge page's boundary.
    pub fn on_huge_pages(bytes: usize) -> Option<Mapping> {
        let page = page_size();
        let len = bytes.checked_next_multiple_of(page)?;
        let mapping = map_on_huge_page(len, page)?;
        mapping.ask_for_huge_pages(len);
        Some(mapping)
    }

    pub fn block(&self) -> NonNull<c_void> {
        self.block
    }

    /// Bytes of the block: whole pages, without those before it that could not be unmapped.
    pub fn room(&self) -> usize {
        self.len - (self.block.addr().get() - self.base.addr().get())
    }

    /// Maps every page of a new block; `false` if memory is short.
    pub fn populate(&self) -> bool {
        // SAFETY: the range is a mapping of ours, whose contents do not change.
        if unsafe { libc::madvise(self.block.as_ptr(), self.room(), libc::MADV_POPULATE_WRITE) } == 0 {
            return true;
        }
        // Kernels before 5.14 do not know the advice.
        let unknown = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        for offset in (0..self.room()).step_by(page_size()).filter(|_| unknown) {
            // SAFETY: within the block.
            let page = unsafe { self.block.cast::<u8>().add(offset) };
            // SAFETY: as above; only this thread knows the block.
            unsafe { page.write_volatile(0) };
        }
        unknown
    }

    /// Keeps the block out of forked children: a write would copy, and so move, a page that a device uses.
    pub fn keep_from_children(&self) -> bool {
        // SAFETY: the range is a mapping of ours.
        unsafe { libc::madvise(self.block.as_ptr(), self.room(), libc::MADV_DONTFORK) == 0 }
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
        // A block that moves need not begin on a huge page.
        if self.base != self.block || settings::asks_for_huge_pages() {
            return None;
        }
        let len = bytes.checked_next_multiple_of(page_size())?;
        // SAFETY: the range is a mapping of ours, and the caller uses its old addresses no more.
        let base = unsafe { libc::mremap(self.base.as_ptr(), self.len, len, libc::MREMAP_MAYMOVE) };
        let base = NonNull::new(base).filter(|_| base != libc::MAP_FAILED)?;
        Some(Mapping { base, len, block: base })
    }

    pub fn unmap(self) {
        // SAFETY: the range is a mapping of ours, which the caller uses no more.
        let failed = unsafe { libc::munmap(self.base.as_ptr(), self.len) };
        if failed != 0 {
            // vm.max_map_count forbids to split it off its neighbours: free the memory, and lose the addresses.
            // SAFETY: as above.
            unsafe { libc::madvise(self.base.as_ptr(), self.len, libc::MADV_DONTNEED) };
        }
    }

    /// A very large block begins with small pages: a program that touches only its beginning pays for one; one that
    /// fills it loses a percent. A write before the advice is cheaper than two mappings.
    fn ask_for_huge_pages(&self, len: usize) {
        if len >= VERY_LARGE {
            // SAFETY: the first byte; only this thread knows the block.
            unsafe { self.block.cast::<u8>().write_volatile(0) };
        }
        // SAFETY: the range is within the new mapping. A kernel without huge pages refuses, without effect.
        unsafe { libc::madvise(self.block.as_ptr(), len, libc::MADV_HUGEPAGE) };
    }

    /// Keeps `len` bytes from the first huge page's boundary on.
    fn trim(self, len: usize) -> Mapping {
        let before = self.base.addr().get().wrapping_neg() % HUGE_PAGE;
        let after = self.len - before - len;
        // SAFETY: `before` is less than the mapped surplus.
        let block = unsafe { self.base.byte_add(before) };
        // SAFETY: within or at the end of the mapping.
        let end = unsafe { block.byte_add(len) };
        let mut trimmed = Mapping { block, ..self };
        // SAFETY: pages of the new mapping outside the block. If the kernel refuses, they stay in the record.
        if before == 0 || unsafe { libc::munmap(self.base.as_ptr(), before) } == 0 {
            trimmed.base = block;
            trimmed.len -= before;
        }
        // SAFETY: likewise.
        if after > 0 && unsafe { libc::munmap(end.as_ptr(), after) } == 0 {
            trimmed.len -= after;
        }
        trimmed
    }
}

/// On a huge page's boundary, if the address space has room for the surplus.
fn map_on_huge_page(len: usize, page: usize) -> Option<Mapping> {
    // From Linux 6.7 on mappings of whole huge pages are aligned.
    if len % HUGE_PAGE == 0 {
        let mapping = map(len)?;
        if mapping.block.addr().get() % HUGE_PAGE == 0 {
            return Some(mapping);
        }
        mapping.unmap();
    }
    // mmap takes no alignment: map more, and unmap the surplus.
    match len.checked_add(HUGE_PAGE - page).and_then(map) {
        Some(mapping) => Some(mapping.trim(len)),
        None => map(len),
    }
}

fn map(len: usize) -> Option<Mapping> {
    const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
    // Not MAP_NORESERVE: an error here is better than a kill at the first touch.
    const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, ACCESS, KIND, -1, 0) };
    let base = NonNull::new(base).filter(|_| base != libc::MAP_FAILED)?;
    Some(Mapping { base, len, block: base })
}

fn page_size() -> usize {
    limits::system(libc::_SC_PAGESIZE).max(4096)
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
