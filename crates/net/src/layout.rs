//! The containers that Caffe's accessors return references to. Memory that does not look like one is refused.
//!
//! A `std::vector` is three pointers (begin, end, end of the storage). A `std::string` of the C++ ABI since GCC 5 is a pointer, a length
//! and 16 bytes; before, it is a pointer to characters, which follow length, capacity and reference count. A `shared_ptr` of Boost or
//! libstdc++ is a pointer to the object and one to the reference count.
#![expect(unsafe_code, reason = "C++ containers are read")]

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;

/// The most layers, blobs or letters that a net may have: a container with more is refused.
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

/// `std::vector<bool>`: one bit for each element, in words.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Bits {
    begin: (*const u64, u32),
    end: (*const u64, u32),
    storage: *const u64,
}

impl Bits {
    /// # Safety
    /// This is a `std::vector<bool>`, which no thread changes or ends.
    pub unsafe fn bits(&self) -> Option<Vec<bool>> {
        let bytes = self.end.0.addr().checked_sub(self.begin.0.addr())?;
        let bits = bytes * 8 + self.end.1 as usize;
        if self.begin.1 != 0 || self.end.1 > 63 || bits > MOST || self.begin.0.addr() % size_of::<u64>() != 0 {
            return None;
        }
        if bits > 0 && !is_readable(self.begin.0.addr(), bits.div_ceil(64) * 8) {
            return None;
        }
        // SAFETY: the words are readable, and no thread changes them, by this function's contract.
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

/// Number of pages that are remembered as readable. A net is in few pages; a system call for each word would take longer than the net's `Init`.
const PAGES: usize = 1024;

/// Bits of a page's number: addresses have at most 57.
const PAGE_BITS: u32 = 45;

thread_local! {
    /// Readable pages by the lower bits of their number, each with the value of `NET` above [`PAGE_BITS`] at that time.
    static READABLE: [Cell<usize>; PAGES] = const { [const { Cell::new(0) }; PAGES] };
    /// Number of the net that this thread made last.
    static NET: Cell<usize> = const { Cell::new(1) };
}

/// Forgets the pages when a net is made, because it may have another layout than is assumed. In between, pages of nets stay mapped.
pub fn forget_pages() {
    NET.set((NET.get() + 1) % (1 << (usize::BITS - PAGE_BITS)));
    if NET.get() == 0 {
        READABLE.with(|pages| pages.iter().for_each(|page| page.set(0)));
        NET.set(1);
    }
}

/// Whether the first and the last word of a range are readable. A system call answers, so that a wrong address does not end the process.
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
    // SAFETY: the kernel copies the set, refuses the first argument (-1) and changes nothing.
    let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, -1, address, 0, size_of::<usize>()) };
    result == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// # Safety
/// `vector` is null, or the address of a `std::vector` of elements that begin with a `T`. No thread changes it while the slice lives.
pub unsafe fn elements<'a, T: Copy>(vector: *const c_void) -> Option<&'a [T]> {
    let vector = vector.cast::<Vector<T>>();
    if !vector.is_aligned() || !is_readable(vector.addr(), size_of::<Vector<T>>()) {
        return None;
    }
    // SAFETY: `vector` is aligned and readable, and a vector by this function's contract.
    let Vector([begin, end, storage], _) = unsafe { *vector };
    if begin == 0 && end == 0 {
        return Some(&[]);
    }
    let bytes = end.checked_sub(begin)?;
    let is_vector = end <= storage && begin % align_of::<T>() == 0 && bytes % size_of::<T>() == 0;
    if !is_vector || bytes / size_of::<T>() > MOST || !is_readable(begin, bytes) {
        return None;
    }
    // SAFETY: the elements are aligned and readable, and no thread changes them, by this function's contract.
    Some(unsafe { std::slice::from_raw_parts(begin as *const T, bytes / size_of::<T>()) })
}

impl NewString {
    /// # Safety
    /// This is a `std::string`, which no thread changes or ends.
    pub unsafe fn text(&self) -> Option<&'static [u8]> {
        let is_local = std::ptr::eq(self.text, self.local.as_ptr());
        if self.length > MOST || is_local && self.length > 15 || !is_readable(self.text.addr(), self.length) {
            return None;
        }
        // SAFETY: the characters are readable, and no thread changes them, by this function's contract.
        Some(unsafe { std::slice::from_raw_parts(self.text, self.length) })
    }
}

impl OldString {
    /// # Safety
    /// This is a `std::string` of the C++ ABI before GCC 5, which no thread changes or ends.
    pub unsafe fn text(&self) -> Option<&'static [u8]> {
        let head = self.text.cast::<usize>().wrapping_sub(3);
        if !head.is_aligned() || !is_readable(head.addr(), 3 * size_of::<usize>()) {
            return None;
        }
        // SAFETY: the head is aligned and readable: length, capacity and reference count precede the characters.
        let [length, capacity] = unsafe { *head.cast::<[usize; 2]>() };
        if length > capacity || length > MOST || !is_readable(self.text.addr(), length) {
            return None;
        }
        // SAFETY: the characters are readable, and no thread changes them, by this function's contract.
        Some(unsafe { std::slice::from_raw_parts(self.text, length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: usize = 0x1000;
    const PAGE: usize = 4096;

    /// A readable page before one that is not readable.
    fn page_before_nowhere() -> usize {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses; it is never unmapped.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, libc::PROT_NONE, kind, -1, 0) };
        // SAFETY: the range is the first page of that mapping.
        assert_eq!(unsafe { libc::mprotect(pages, PAGE, libc::PROT_READ) }, 0);
        pages.addr()
    }

    fn has_elements<T: Copy>(vector: [usize; 3]) -> bool {
        // SAFETY: only readable memory is read, and it does not change.
        unsafe { elements::<T>((&raw const vector).cast()) }.is_some()
    }

    #[test]
    fn addresses_that_lead_nowhere_are_no_containers() {
        // SAFETY: only readable memory is read, and it does not change.
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
        // SAFETY: only readable memory is read, and it does not change.
        assert!(unsafe { NewString { text, length: 20, local: [0; 16] }.text().is_none() });
        // The second is a short string of libc++: its length times two, and its letters.
        for text in [text, usize::from_le_bytes(*b"\x10conv123") as *const u8] {
            // SAFETY: only readable memory is read, and it does not change.
            assert!(unsafe { OldString { text }.text().is_none() });
        }
    }
}
