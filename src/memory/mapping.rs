//! Anonymous mappings: zeros that cost nothing until they are touched, on huge pages where the system has them.
#![expect(unsafe_code, reason = "mmap, munmap and madvise are called here")]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::settings;

/// The size in bytes of a huge page on x86-64, and on aarch64 with pages of 4 KiB.
pub const HUGE_PAGE: usize = 2 << 20;

/// Blocks of this many bytes and more are mapped.
pub const MAPPED_FROM: usize = HUGE_PAGE;

/// From so many bytes on a mapping begins with small pages.
pub const VERY_LARGE: usize = 256 << 20;

/// A mapped block. It is given back only by [`Mapping::unmap`].
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// What the kernel mapped; the block begins somewhere in it.
    base: NonNull<c_void>,
    len: usize,
    /// The block's first byte.
    block: NonNull<c_void>,
}

impl Mapping {
    /// A mapping with a block of `bytes`, on a huge page's boundary where huge pages are asked for.
    pub fn of(bytes: usize) -> Option<Mapping> {
        let page = page_size();
        let len = bytes.checked_next_multiple_of(page)?;
        if !settings::huge_pages() {
            return map(len);
        }
        let mapping = map_on_huge_page(len, page)?;
        mapping.ask_for_huge_pages(len);
        Some(mapping)
    }

    /// The block's first byte.
    pub fn block(&self) -> NonNull<c_void> {
        self.block
    }

    /// How many bytes the block has room for: those that were asked for, to the end of their last page.
    pub fn room(&self) -> usize {
        // What could not be given back in front of the block is not part of it.
        self.len - (self.block.addr().get() - self.base.addr().get())
    }

    /// Makes every page of a new block be there, so that nobody waits for one later; `false` if there is no memory for that.
    pub fn populate(&self) -> bool {
        // SAFETY: the range is a mapping of ours. What it holds does not change.
        if unsafe { libc::madvise(self.block.as_ptr(), self.room(), libc::MADV_POPULATE_WRITE) } == 0 {
            return true;
        }
        // A kernel before 5.14 does not know how.
        let unknown = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        for offset in (0..self.room()).step_by(page_size()).filter(|_| unknown) {
            // SAFETY: within the block.
            let page = unsafe { self.block.cast::<u8>().add(offset) };
            // SAFETY: as above; nobody knows the new block yet, and it holds zeros.
            unsafe { page.write_volatile(0) };
        }
        unknown
    }

    /// Keeps the block out of processes that are forked from now on: there is none of it there, and here no page of it is
    /// copied and moved away from under a device.
    pub fn keep_from_children(&self) -> bool {
        // SAFETY: the range is a mapping of ours.
        unsafe { libc::madvise(self.block.as_ptr(), self.room(), libc::MADV_DONTFORK) == 0 }
    }

    /// Gives the whole mapping back to the system.
    pub fn unmap(self) {
        // SAFETY: the range is a mapping of ours; whoever calls this gave up the block.
        let failed = unsafe { libc::munmap(self.base.as_ptr(), self.len) };
        if failed != 0 {
            // The kernel has merged it with its neighbours, and the process has too many mappings to split it off
            // (vm.max_map_count): the addresses are lost, but the memory need not be.
            // SAFETY: as above.
            unsafe { libc::madvise(self.base.as_ptr(), self.len, libc::MADV_DONTNEED) };
        }
    }

    /// Asks for huge pages in the block's `len` bytes.
    ///
    /// A very large block begins with small ones: who touches no more than its beginning pays for a page, not for
    /// 2 MiB of zeros, and who fills it loses a percent. The first of them is paid for here, before huge ones are
    /// asked for: that settles it, and is cheaper than two kinds of mapping side by side.
    fn ask_for_huge_pages(&self, len: usize) {
        if len >= VERY_LARGE {
            // SAFETY: the block's first byte, which nobody knows yet.
            unsafe { self.block.cast::<u8>().write_volatile(0) };
        }
        // SAFETY: the range is within the new mapping. A kernel without huge pages refuses, and that is fine.
        unsafe { libc::madvise(self.block.as_ptr(), len, libc::MADV_HUGEPAGE) };
    }

    /// Puts the block on the first huge page boundary and gives back what lies before it and `len` bytes behind.
    fn trim(self, len: usize) -> Mapping {
        let before = self.base.addr().get().wrapping_neg() % HUGE_PAGE;
        let after = self.len - before - len;
        // SAFETY: `before` is less than the surplus that was mapped.
        let block = unsafe { self.base.byte_add(before) };
        // SAFETY: `before + len` is at most the mapping's length.
        let end = unsafe { block.byte_add(len) };
        let mut trimmed = Mapping { block, ..self };
        // SAFETY: these bytes are ours and nobody knows them; if the kernel keeps them, so does the record.
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

/// A mapping whose block is on a huge page's boundary, if there is address space for that.
fn map_on_huge_page(len: usize, page: usize) -> Option<Mapping> {
    // Linux 6.7 and later puts whole huge pages there by themselves.
    if len % HUGE_PAGE == 0 {
        let mapping = map(len)?;
        if mapping.block.addr().get() % HUGE_PAGE == 0 {
            return Some(mapping);
        }
        mapping.unmap();
    }
    // Otherwise a boundary cannot be asked for: map more, and give the rest back.
    match len.checked_add(HUGE_PAGE - page).and_then(map) {
        Some(mapping) => Some(mapping.trim(len)),
        None => map(len),
    }
}

fn map(len: usize) -> Option<Mapping> {
    const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;
    // Never MAP_NORESERVE: an error here beats a kill at the first touch.
    const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, ACCESS, KIND, -1, 0) };
    let base = NonNull::new(base).filter(|_| base != libc::MAP_FAILED)?;
    Some(Mapping { base, len, block: base })
}

fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
