//! Notes of a loaded object, read from the object itself. A program has them whether it exports symbols or not.
#![expect(unsafe_code, reason = "the segments of a mapped object are read")]

use std::ptr::with_exposed_provenance;

use libc::{Elf64_Phdr, PT_NOTE};

/// What every note begins with: the sizes of its owner's name and of its descriptor in bytes, and its type.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    name: u32,
    descriptor: u32,
    kind: u32,
}

/// The address of the descriptor, of `bytes`, of the object's first note with this owner and type.
///
/// # Safety
/// The headers are those of an object that is mapped at `base`.
pub unsafe fn find(headers: &[Elf64_Phdr], base: usize, owner: &[u8], kind: u32, bytes: usize) -> Option<usize> {
    headers.iter().filter(|header| header.p_type == PT_NOTE).find_map(|segment| {
        // What is not a multiple of 8 is one of 4, whatever else the header says.
        let alignment = if segment.p_align == 8 { 8 } else { 4 };
        let mut at = base.wrapping_add(segment.p_vaddr as usize);
        let end = at.wrapping_add(segment.p_memsz as usize);
        while end.wrapping_sub(at) >= size_of::<Header>() && at < end {
            // SAFETY: within the segment, which the caller guarantees to be mapped; linkers align notes.
            let note = unsafe { with_exposed_provenance::<Header>(at).read() };
            let name = at + size_of::<Header>();
            let descriptor = name + (note.name as usize).next_multiple_of(alignment);
            at = descriptor + (note.descriptor as usize).next_multiple_of(alignment);
            if at > end.next_multiple_of(alignment) || (note.kind, note.descriptor as usize) != (kind, bytes) {
                continue;
            }
            // SAFETY: as above.
            let name = unsafe { std::slice::from_raw_parts(with_exposed_provenance::<u8>(name), note.name as usize) };
            if name == owner {
                return Some(descriptor);
            }
        }
        None
    })
}
