//! The containers that Caffe's accessors return references to. What does not look like one is refused.
//!
//! `std::vector` is three pointers (begin, end, end of the storage). `std::string` of the ABI since GCC 5 is a pointer,
//! a length and 16 bytes; before, a pointer to characters behind length, capacity and count of owners. `shared_ptr` of
//! Boost and of libstdc++ is a pointer to the object and one to its owners.

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;

/// No net has so many layers, blobs or letters: a container with more is refused.
const MOST: usize = 1 << 20;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Shared {
    pub object: *mut c_void,
    owners: *mut c_void,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Vector<T>([usize; 3], PhantomData<T>);

/// `std::vector<bool>`: one bit each, in words.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Bits {
    begin: (*const u64, u32),
    end: (*const u64, u32),
    storage: *const u64,
}

impl Bits {
    /// # Safety
    /// It is a `std::vector<bool>` that lives and does not change.
    pub unsafe fn bits(&self) -> Option<Vec<bool>> {
        let bytes = self.end.0.addr().checked_sub(self.begin.0.addr())?;
        let bits = bytes * 8 + self.end.1 as usize;
        if self.begin.1 != 0 || self.end.1 > 63 || bits > MOST || self.begin.0.addr() % size_of::<u64>() != 0 {
            return None;
        }
        if bits > 0 && !is_readable(self.begin.0.addr(), bits.div_ceil(64) * 8) {
            return None;
        }
        // SAFETY: the caller guarantees the words, which are readable.
        Some((0..bits).map(|at| unsafe { *self.begin.0.add(at / 64) } >> (at % 64) & 1 == 1).collect())
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct NewString {
    text: *const u8,
    length: usize,
    local: [u8; 16],
}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct OldString {
    text: *const u8,
}

/// Pages that were readable, by a part of their number. A net lies in few pages, and to ask the kernel for each word would take longer than
/// to make the net.
const PAGES: usize = 1024;

/// Bits of a page's number, of at most 57 of an address.
const PAGE_BITS: u32 = 45;

thread_local! {
    /// Each with the number of the net that was made last on this thread.
    static READABLE: [Cell<usize>; PAGES] = const { [const { Cell::new(0) }; PAGES] };
    static NET: Cell<usize> = const { Cell::new(1) };
}

/// Asks the kernel anew from now on: when a net is made, and may turn out to be none that can be read. Meanwhile what belongs to nets stays
/// mapped.
pub fn forget_pages() {
    NET.set((NET.get() + 1) % (1 << (usize::BITS - PAGE_BITS)));
    if NET.get() == 0 {
        READABLE.with(|pages| pages.iter().for_each(|page| page.set(0)));
        NET.set(1);
    }
}

/// Whether a word can be read at both ends. The kernel answers, so that a wrong address is no signal.
pub fn is_readable(address: usize, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    let last = address.saturating_add(bytes.saturating_sub(1));
    let net = NET.get() << PAGE_BITS;
    READABLE.with(|pages| {
        let is_page = |address: usize| {
            let page = address / PAGE;
            let known = &pages[page % PAGES];
            let is_known =
                page >> PAGE_BITS == 0 && known.get() == page | net || is_word(address & !(size_of::<usize>() - 1));
            if is_known {
                known.set(page | net);
            }
            is_known
        };
        address >= PAGE && is_page(address) && (address / PAGE == last / PAGE || is_page(last))
    })
}

fn is_word(address: usize) -> bool {
    // SAFETY: the kernel copies the set before it refuses the first argument, and changes nothing.
    let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, address, 0, size_of::<usize>()) };
    result == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// # Safety
/// `vector` is null or leads to a `std::vector` of elements that begin with a `T`, and does not change while the slice
/// lives.
pub unsafe fn elements<'a, T: Copy>(vector: *const c_void) -> Option<&'a [T]> {
    let vector = vector.cast::<Vector<T>>();
    if !vector.is_aligned() || !is_readable(vector.addr(), size_of::<Vector<T>>()) {
        return None;
    }
    // SAFETY: the caller guarantees it.
    let Vector([begin, end, storage], _) = unsafe { *vector };
    if begin == 0 && end == 0 {
        return Some(&[]);
    }
    let bytes = end.checked_sub(begin)?;
    let is_vector = end <= storage && begin % align_of::<T>() == 0 && bytes % size_of::<T>() == 0;
    if !is_vector || bytes / size_of::<T>() > MOST || !is_readable(begin, bytes) {
        return None;
    }
    // SAFETY: the caller guarantees the elements, which are readable and aligned.
    Some(unsafe { std::slice::from_raw_parts(begin as *const T, bytes / size_of::<T>()) })
}

impl NewString {
    /// # Safety
    /// It is a `std::string` that lives and does not change.
    pub unsafe fn text(&self) -> Option<&'static [u8]> {
        let is_local = std::ptr::eq(self.text, self.local.as_ptr());
        if self.length > MOST || is_local && self.length > 15 || !is_readable(self.text.addr(), self.length) {
            return None;
        }
        // SAFETY: the caller guarantees it.
        Some(unsafe { std::slice::from_raw_parts(self.text, self.length) })
    }
}

impl OldString {
    /// # Safety
    /// It is a `std::string` of the ABI before GCC 5 that lives and does not change.
    pub unsafe fn text(&self) -> Option<&'static [u8]> {
        let head = self.text.cast::<usize>().wrapping_sub(3);
        if !head.is_aligned() || !is_readable(head.addr(), 3 * size_of::<usize>()) {
            return None;
        }
        // SAFETY: the caller guarantees it: length, capacity and owners lie before the characters.
        let [length, capacity] = unsafe { *head.cast::<[usize; 2]>() };
        if length > capacity || length > MOST || !is_readable(self.text.addr(), length) {
            return None;
        }
        // SAFETY: the caller guarantees it.
        Some(unsafe { std::slice::from_raw_parts(self.text, length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: usize = 0x1000;
    const PAGE: usize = 4096;

    /// A readable page before one that is not. What lies behind a thread's stack may be another's.
    fn page_before_nowhere() -> usize {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address of the kernel's choice, which stays.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, libc::PROT_NONE, kind, -1, 0) };
        // SAFETY: the first page of that mapping.
        assert_eq!(unsafe { libc::mprotect(pages, PAGE, libc::PROT_READ) }, 0);
        pages.addr()
    }

    fn has_elements<T: Copy>(vector: [usize; 3]) -> bool {
        // SAFETY: it is read as far as it is readable.
        unsafe { elements::<T>((&raw const vector).cast()) }.is_some()
    }

    #[test]
    fn addresses_that_lead_nowhere_are_no_containers() {
        // SAFETY: it is read as far as it is readable.
        assert!(unsafe { elements::<usize>(NOWHERE as *const c_void) }.is_none());
        assert!(!has_elements::<usize>([NOWHERE, NOWHERE + 8, NOWHERE + 8]));
        let words = [1usize, 2];
        let begin = words.as_ptr().addr();
        assert!(has_elements::<usize>([begin, begin + 16, begin + 16]));
        let page = page_before_nowhere();
        assert!(has_elements::<usize>([page, page + PAGE, page + PAGE]));
        assert!(!has_elements::<usize>([page, page + 2 * PAGE, page + 2 * PAGE]), "the end leads nowhere");
    }

    #[test]
    fn texts_that_lead_nowhere_are_no_texts() {
        let text = NOWHERE as *const u8;
        // SAFETY: it is read as far as it is readable.
        assert!(unsafe { NewString { text, length: 20, local: [0; 16] }.text().is_none() });
        // The second is a short string of libc++: its length times two, and its letters.
        for text in [text, usize::from_le_bytes(*b"\x10conv123") as *const u8] {
            // SAFETY: as above.
            assert!(unsafe { OldString { text }.text().is_none() });
        }
    }
}
