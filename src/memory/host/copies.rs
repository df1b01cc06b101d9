//! Other copies of this library in the process, such as a shared one beside one linked into the program. A copy that
//! frees a block without a record calls the others: the one that mapped it has that. Each has an ELF note with the
//! place of its function, found also in programs that export nothing.
#![expect(unsafe_code, reason = "another copy's function is called")]

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::ptr::{NonNull, with_exposed_provenance};

use super::{Owned, records};
use crate::platform::loaded;

/// `false`: the block is not the copy's own. Never changes: another function would get another type of note.
type Free = unsafe extern "C" fn(block: *mut c_void, bytes: usize, holder: usize) -> bool;

const OWNER: &std::ffi::CStr = c"syncedmem";
const KIND: u32 = 1;

// Sizes of name and descriptor, type, name, and the function's offset from here.
std::arch::global_asm!(
    ".pushsection .note.syncedmem, \"a\", @note",
    ".balign 4",
    ".long 10, 4, {kind}",
    ".asciz \"syncedmem\"",
    ".balign 4",
    "2: .long {free} - 2b",
    ".popsection",
    kind = const KIND,
    free = sym free_own,
);

unsafe extern "C" fn free_own(block: *mut c_void, bytes: usize, holder: usize) -> bool {
    let Some(address) = NonNull::new(block).filter(|&address| records::knows(address)) else { return false };
    // SAFETY: this copy mapped the block; the caller is another copy's `free`.
    unsafe { super::free(Owned { address, bytes, pinned: false, holder }) };
    true
}

/// `false`: no other copy mapped it.
#[cold]
#[inline(never)]
pub fn free(block: Owned) -> bool {
    /// Further copies are ignored.
    const MOST: usize = 8;
    const SMALLEST_PAGE: usize = 4096;
    if block.address.addr().get() % SMALLEST_PAGE != 0 || records::knows(block.address) {
        return false;
    }
    let own = (free_own as Free as *const c_void).addr();
    let (mut others, mut count) = ([own; MOST], 0);
    loaded::each(|object| {
        if let Some(place) = object.note(OWNER, KIND, size_of::<i32>()) {
            // SAFETY: the note's descriptor is an aligned `i32`.
            let offset = unsafe { with_exposed_provenance::<i32>(place).read() };
            others[count] = place.wrapping_add_signed(offset as isize);
            count += usize::from(others[count] != own);
        }
        if count < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    // After the walk: the function takes locks.
    others.iter().take(count).any(|&other| {
        // SAFETY: a copy's note leads to a function of this type.
        let free = unsafe { std::mem::transmute::<*const c_void, Free>(with_exposed_provenance(other)) };
        // SAFETY: it frees only blocks in its records; the object no longer refers to this one.
        unsafe { free(block.address.as_ptr(), block.bytes, block.holder) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_programs_note_leads_to_the_function_and_there_is_none_of_another_type() {
        let mut found = Vec::new();
        loaded::each(|object| {
            found.extend(object.note(OWNER, KIND, size_of::<i32>()));
            assert_eq!(object.note(OWNER, KIND + 1, size_of::<i32>()), None);
            ControlFlow::Continue(())
        });
        assert_eq!(found.len(), 1);
        // SAFETY: the linker has written a number there.
        let offset = unsafe { with_exposed_provenance::<i32>(found[0]).read() };
        let own = (free_own as Free as *const c_void).addr();
        assert_eq!(found[0].wrapping_add_signed(offset as isize), own);
    }

    #[test]
    fn a_block_that_no_copy_mapped_is_left_alone() {
        let block = vec![7u8; 2 * crate::memory::mapping::MAPPED_FROM];
        let page = block.as_ptr().addr().next_multiple_of(4096) - block.as_ptr().addr();
        let address = NonNull::from(&block[page]).cast();
        assert!(!free(Owned { address, bytes: crate::memory::mapping::MAPPED_FROM, pinned: false, holder: 8 }));
        assert!(block.iter().all(|&byte| byte == 7));
    }
}
