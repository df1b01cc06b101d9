//! The address range of a device: a reservation without access rights, which programs see, and a second mapping of the
//! same length with the bytes. There, the pages of allocated blocks alone can be read and written, and a gap follows each
//! block: a kernel's stray access is a SIGSEGV.
#![expect(unsafe_code, reason = "maps memory")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::abi::{Address, fill_bytes};

/// Alignment of the driver's allocations.
pub const ALIGNMENT: usize = 512;
pub const GAP: usize = 4096;
/// The least reservation: enough for a device's default memory, and no burden to valgrind.
const LEAST: usize = 4 << 30;
const FRESH: u8 = 0xCD;
const FREED: u8 = 0xDD;
/// Fills the bytes from a block's end to the end of its last page.
const BEYOND: u8 = 0xBE;
/// Freed places that are used again first.
const RECENT: usize = 64;

/// The bytes of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct File {
    pub descriptor: libc::c_int,
    pub length: usize,
    /// The address that programs see of its first byte.
    pub seen: Address,
}

pub struct Space {
    /// The device's memory, in bytes.
    total: usize,
    /// `None`: kernels use `kept`, too.
    file: Option<File>,
    seen: Address,
    kept: Address,
    length: usize,
    /// Lengths of free ranges, by offset.
    holes: BTreeMap<usize, usize>,
    /// Offset and size, the newest last.
    recent: Vec<(usize, usize)>,
}

/// Maps the file, or new memory. `None`: the system refuses.
pub fn map(bytes: usize, protection: libc::c_int, file: Option<libc::c_int>) -> Option<Address> {
    let kind = if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
    let flags = kind | libc::MAP_NORESERVE;
    // SAFETY: the system chooses where the new mapping is.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.unwrap_or(-1), 0) };
    if address == libc::MAP_FAILED { None } else { Some(address.expose_provenance()) }
}

/// A file without a name, of which mappings share the bytes.
fn new_file(bytes: usize) -> Option<libc::c_int> {
    // SAFETY: the name is NUL-terminated.
    let file = unsafe { libc::memfd_create(c"simulated device".as_ptr(), libc::MFD_CLOEXEC) };
    // SAFETY: a number, and a length.
    let is_sized = file >= 0 && unsafe { libc::ftruncate(file, bytes.try_into().ok()?) } == 0;
    is_sized.then_some(file)
}

pub fn unmap(address: Address, bytes: usize) {
    // SAFETY: the callers pass a mapping of `map` that has no users yet, or none any more.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address), bytes) };
}

/// `None` if it is beyond every range.
pub fn rounded(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGNMENT)
}

fn pages(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(GAP)
}

/// Whether the system did it: it allows a process some ten thousand mappings.
pub fn protect(address: Address, bytes: usize, protection: libc::c_int) -> bool {
    // SAFETY: the callers pass pages of a `Space` that belong to one block, which no operation uses now.
    unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(address), bytes, protection) == 0 }
}

/// Whether nothing was written between the end of a block of `bytes` at `kept` and the end of its last page.
///
/// # Safety
/// The block is allocated, and no operation uses it now.
pub unsafe fn is_intact_behind(kept: Address, bytes: usize) -> bool {
    let (start, end) = (kept + bytes.next_multiple_of(4), kept + bytes.next_multiple_of(GAP));
    (start..end).step_by(4).all(|address| {
        let place = std::ptr::with_exposed_provenance::<u32>(address);
        // SAFETY: the caller of this function has an allocated block, and the place is within its last page.
        let found = unsafe { place.read() };
        [BEYOND, FRESH].map(|pattern| u32::from(pattern) * 0x0101_0101).contains(&found)
    })
}

impl Space {
    /// Reserves addresses for a device with `total` bytes of memory. With `strict`, each kernel has its own view.
    pub fn reserve(total: usize, strict: bool) -> Option<Space> {
        let mut length = total.checked_mul(4)?.max(LEAST).checked_next_multiple_of(GAP)?;
        loop {
            if let Some(seen) = map(length, libc::PROT_NONE, None) {
                let descriptor = if strict { Some(new_file(length)?) } else { None };
                if let Some(kept) = map(length, libc::PROT_NONE, descriptor) {
                    let holes = BTreeMap::from([(0, length)]);
                    let file = descriptor.map(|descriptor| File { descriptor, length, seen });
                    return Some(Space { total, file, seen, kept, length, holes, recent: Vec::new() });
                }
                unmap(seen, length);
            }
            length = (length / 2).checked_next_multiple_of(GAP)?;
            if length <= total {
                return None;
            }
        }
    }

    /// Whether the address is in the space, allocated or not.
    pub fn contains(&self, address: Address) -> bool {
        (self.seen..self.seen + self.length).contains(&address)
    }

    pub fn suffices(&self, total: usize) -> bool {
        total <= self.total || total.checked_mul(2).is_some_and(|needed| needed <= self.length)
    }

    pub fn file(&self) -> Option<File> {
        self.file
    }

    /// Offset from the addresses that programs see to the bytes.
    pub fn shift(&self) -> isize {
        self.kept.wrapping_sub(self.seen) as isize
    }

    /// Takes a multiple of `ALIGNMENT`, the place freed last if it fits.
    pub fn take(&mut self, bytes: usize) -> Option<Address> {
        let needed = pages(bytes)?.checked_add(GAP)?;
        let again = self.recent.iter().rposition(|(_, size)| *size == bytes).map(|index| self.recent.remove(index).0);
        let offset = again
            .and_then(|offset| self.hole_around(offset, needed))
            .or_else(|| self.holes.iter().find(|(_, length)| **length >= needed).map(|(hole, _)| (*hole, *hole)));
        let (hole, offset) = offset?;
        let length = self.holes.remove(&hole)?;
        if offset > hole {
            self.holes.insert(hole, offset - hole);
        }
        let end = offset + needed;
        if hole + length > end {
            self.holes.insert(end, hole + length - end);
        }
        if !protect(self.kept + offset, needed - GAP, libc::PROT_READ | libc::PROT_WRITE) {
            self.holes.insert(offset, needed);
            return None;
        }
        self.fill(offset, FRESH, bytes);
        self.fill(offset + bytes, BEYOND, needed - GAP - bytes);
        Some(self.seen + offset)
    }

    /// The hole that has `needed` bytes at `offset`, and that offset.
    fn hole_around(&self, offset: usize, needed: usize) -> Option<(usize, usize)> {
        let (hole, length) = self.holes.range(..=offset).next_back()?;
        (offset + needed <= hole + length).then_some((*hole, offset))
    }

    pub fn give_back(&mut self, address: Address, bytes: usize) {
        let offset = address - self.seen;
        let inner = bytes.next_multiple_of(GAP);
        self.fill(offset, FREED, bytes);
        // A failure leaves access to freed memory.
        protect(self.kept + offset, inner, libc::PROT_NONE);
        let (mut start, mut length) = (offset, inner + GAP);
        if let Some((before, size)) = self.holes.range(..offset).next_back().map(|(hole, size)| (*hole, *size)) {
            if before + size == start {
                self.holes.remove(&before);
                (start, length) = (before, size + length);
            }
        }
        if let Some(size) = self.holes.remove(&(start + length)) {
            length += size;
        }
        self.holes.insert(start, length);
        if self.recent.len() == RECENT {
            self.recent.remove(0);
        }
        self.recent.push((offset, bytes));
    }

    fn fill(&self, offset: usize, pattern: u8, bytes: usize) {
        // SAFETY: the range lies in the mapping that keeps the bytes, and belongs to no block.
        unsafe { fill_block(self.kept + offset, pattern, bytes) };
    }
}

/// A block larger than two of these is filled only at its beginning and end. The pages between are given back to the system, so
/// that a simulated device may have more memory than the machine.
const EDGE: usize = 64 << 20;

/// # Safety
/// The range is writable memory of this module, whose contents are not needed.
unsafe fn fill_block(address: Address, pattern: u8, bytes: usize) {
    if bytes <= 2 * EDGE {
        // SAFETY: the range is writable, by this function's contract.
        unsafe { fill_bytes(address, pattern, bytes) };
        return;
    }
    for edge in [address, address + bytes - EDGE] {
        // SAFETY: within the range.
        unsafe { fill_bytes(edge, pattern, EDGE) };
    }
    let (start, end) = ((address + EDGE).next_multiple_of(GAP), (address + bytes - EDGE) / GAP * GAP);
    let inner = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: whole pages within the range. The first way is that of a file's pages, and fails for others.
    if unsafe { libc::madvise(inner, end - start, libc::MADV_REMOVE) } != 0 {
        // SAFETY: within the last page of the block.
        unsafe { libc::madvise(inner, end - start, libc::MADV_DONTNEED) };
    }
}

/// Host memory with its own pages, and a page without access on either side.
pub fn map_host(bytes: usize) -> Option<Address> {
    let inner = bytes.checked_next_multiple_of(GAP)?;
    let whole = inner.checked_add(2 * GAP)?;
    let start = map(whole, libc::PROT_NONE, None)?;
    let inside: *mut libc::c_void = std::ptr::with_exposed_provenance_mut(start + GAP);
    // SAFETY: the inside of the new mapping.
    if unsafe { libc::mprotect(inside, inner, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
        unmap(start, whole);
        return None;
    }
    // SAFETY: the inside is writable.
    unsafe { fill_block(start + GAP, FRESH, bytes) };
    Some(start + GAP)
}

/// Freed host memory that stays without access, so that a use after free is a SIGSEGV; the newest last.
static BURNT: Mutex<VecDeque<(Address, usize)>> = Mutex::new(VecDeque::new());
/// The system allows a process some ten thousand mappings.
const BURNT_LIMIT: usize = 256;

pub fn unmap_host(address: Address, bytes: usize) {
    let (start, whole) = (address - GAP, bytes.next_multiple_of(GAP) + 2 * GAP);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: replaces this module's mapping of a freed block by one without pages.
    unsafe { libc::mmap(std::ptr::with_exposed_provenance_mut(start), whole, libc::PROT_NONE, flags, -1, 0) };
    let mut burnt = BURNT.lock().unwrap_or_else(PoisonError::into_inner);
    burnt.push_back((start, whole));
    if burnt.len() > BURNT_LIMIT {
        if let Some((start, whole)) = burnt.pop_front() {
            unmap(start, whole);
        }
    }
}

/// The most bytes that can be page-locked.
pub fn physical_memory() -> usize {
    // SAFETY: asks for a number.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages).unwrap_or(0).saturating_mul(GAP)
}

pub fn is_mapped(address: Address, bytes: usize) -> bool {
    let first = address / GAP * GAP;
    let Some(end) = address.checked_add(bytes) else { return false };
    let mut resident = vec![0_u8; (end - first).div_ceil(GAP)];
    let start = std::ptr::with_exposed_provenance_mut(first);
    // SAFETY: touches no address, and writes one byte a page into the vector.
    unsafe { libc::mincore(start, end - first, resident.as_mut_ptr()) == 0 }
}
