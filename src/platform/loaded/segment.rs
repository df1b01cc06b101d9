//! Bounds-checked reads from a loaded object: its headers and tables may claim more than is mapped.
#![expect(unsafe_code, reason = "the segments of a mapped object are read")]

use std::ptr::with_exposed_provenance;

use libc::{Elf64_Phdr, PT_LOAD};

/// Whether one loaded segment has all `bytes`.
pub fn contains(headers: &[Elf64_Phdr], base: usize, address: usize, bytes: usize) -> bool {
    loaded(headers, base).any(|segment| segment.has(address, bytes))
}

#[derive(Clone, Copy, Debug)]
pub struct Segment {
    begin: usize,
    bytes: usize,
    /// Bits as in mprotect(2).
    pub protection: i32,
}

impl Segment {
    pub fn has(&self, address: usize, bytes: usize) -> bool {
        self.bytes.checked_sub(address.wrapping_sub(self.begin)).is_some_and(|rest| bytes <= rest)
    }

    pub fn is_executable(&self) -> bool {
        self.protection & libc::PROT_EXEC != 0
    }
}

/// The loaded segment that contains this address.
pub fn at(headers: &[Elf64_Phdr], base: usize, address: usize) -> Option<Segment> {
    loaded(headers, base).find(|segment| segment.has(address, 1))
}

fn loaded(headers: &[Elf64_Phdr], base: usize) -> impl Iterator<Item = Segment> {
    let protection = |flags: u32| {
        let of = |flag: u32, protection: i32| if flags & flag != 0 { protection } else { 0 };
        of(libc::PF_R, libc::PROT_READ) | of(libc::PF_W, libc::PROT_WRITE) | of(libc::PF_X, libc::PROT_EXEC)
    };
    headers.iter().filter(|header| header.p_type == PT_LOAD).map(move |header| Segment {
        begin: base.wrapping_add(header.p_vaddr as usize),
        bytes: header.p_memsz as usize,
        protection: protection(header.p_flags),
    })
}

/// # Safety
/// The headers are those of an object that stays mapped at `base` while the result is used. Nothing writes to these
/// bytes meanwhile.
pub unsafe fn read(headers: &[Elf64_Phdr], base: usize, address: usize, bytes: usize) -> Option<&[u8]> {
    // SAFETY: a segment contains the bytes; the caller of `read` guarantees the mapping, and that nothing writes to them.
    contains(headers, base, address, bytes)
        .then(|| unsafe { std::slice::from_raw_parts(with_exposed_provenance(address), bytes) })
}

/// A segment at the start of its object.
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
