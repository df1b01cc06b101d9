//! Bounds-checked reads from a loaded object: its headers and tables may claim more than is mapped.
#![expect(unsafe_code, reason = "the segments of a mapped object are read")]

use std::ptr::with_exposed_provenance;

use libc::{Elf64_Phdr, PT_LOAD};

/// Whether one loaded segment has all `bytes`.
pub fn contains(headers: &[Elf64_Phdr], base: usize, address: usize, bytes: usize) -> bool {
    headers.iter().filter(|header| header.p_type == PT_LOAD).any(|segment| {
        let offset = address.wrapping_sub(base.wrapping_add(segment.p_vaddr as usize));
        (segment.p_memsz as usize).checked_sub(offset).is_some_and(|rest| bytes <= rest)
    })
}

/// # Safety
/// The headers are those of an object that stays mapped at `base` while the result is used. Nothing writes to these
/// bytes meanwhile.
pub unsafe fn read(headers: &[Elf64_Phdr], base: usize, address: usize, bytes: usize) -> Option<&[u8]> {
    // SAFETY: a segment contains them; the rest by the caller.
    contains(headers, base, address, bytes)
        .then(|| unsafe { std::slice::from_raw_parts(with_exposed_provenance(address), bytes) })
}

/// A segment at the object's start.
#[cfg(test)]
pub fn header(p_type: u32, bytes: usize, alignment: u64) -> Elf64_Phdr {
    let bytes = bytes as u64;
    Elf64_Phdr {
        p_type,
        p_flags: 0,
        p_offset: 0,
        p_vaddr: 0,
        p_paddr: 0,
        p_filesz: bytes,
        p_memsz: bytes,
        p_align: alignment,
    }
}
