//! An arena is one range of addresses, reserved at its first use and made writable as far as it is needed. A block lies
//! where its object's plan has it, else in the smallest gap that holds it. So the pages of a block that was given back
//! serve the next ones: the arena has as many pages as its blocks had at once, and a few gaps. A block may be given back
//! on any thread. System calls are made outside of the lock: a range that one is about belongs to the caller meanwhile.
#![expect(unsafe_code, reason = "mmap, mprotect and madvise are called here")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{ALIGNMENT, ARENAS, Arenas, Figures, Spans};
use crate::platform::limits;
use crate::platform::sync::this_thread;

/// Compat: glibc's large blocks start 16 bytes behind a page's start, and sums by vector instructions depend on it.
const OFFSET: usize = 16;
/// The step by which an arena becomes writable, in bytes: whole pages, of whatever size.
const STEP: usize = 1 << 20;

pub struct Arena {
    /// `pthread_self()` of its thread.
    owner: usize,
    base: usize,
    reserved: usize,
    writable: usize,
    /// The end of the highest block since its pages were released.
    used: usize,
    /// A thread releases its pages: no block may be lent from it.
    is_releasing: bool,
    spans: Spans,
    figures: Figures,
}

static IS_USED: AtomicBool = AtomicBool::new(false);

/// Whether any block was ever lent.
fn is_used() -> bool {
    IS_USED.load(Relaxed)
}

/// A block of this thread's arena, with undefined contents, at `offset` if that is free. `None`: the arena has no room.
pub fn lend(bytes: usize, offset: Option<usize>) -> Option<NonNull<c_void>> {
    let room = bytes.checked_add(OFFSET)?.checked_next_multiple_of(ALIGNMENT)?;
    IS_USED.store(true, Relaxed);
    let take = |arenas: &mut Arenas| Arena::of_this_thread(&mut arenas.host).map(|arena| arena.take(room, offset));
    // Another thread may take over the new arena before this one takes a block of it.
    let taken = loop {
        match ARENAS.with(take) {
            Some(taken) => break taken?,
            None => add()?,
        }
    };
    if taken.end > taken.writable && !grow(&taken) {
        give_back(taken.address);
        return None;
    }
    Some(taken.address)
}

fn add() -> Option<()> {
    let (base, reserved) = reserve()?;
    let is_added = ARENAS.with(|arenas| {
        let arenas = &mut arenas.host;
        arenas.try_reserve(1).ok()?;
        let (spans, figures) = (Spans(Vec::new()), Figures::default());
        let owner = this_thread();
        arenas.push(Arena { owner, base, reserved, writable: 0, used: 0, is_releasing: false, spans, figures });
        Some(())
    });
    if is_added.is_none() {
        // SAFETY: only this function knows the range.
        unsafe { libc::munmap(base as *mut c_void, reserved) };
    }
    is_added
}

/// Makes the arena writable up to the block's end. Only the arena's thread does so.
fn grow(taken: &Taken) -> bool {
    let end = taken.end.next_multiple_of(STEP).min(taken.reserved);
    let start = (taken.base + taken.writable) as *mut c_void;
    // SAFETY: the range is reserved for the arena; a block in it is this thread's new one.
    let failed = unsafe { libc::mprotect(start, end - taken.writable, libc::PROT_READ | libc::PROT_WRITE) };
    if failed != 0 {
        return false;
    }
    ARENAS.with(|arenas| {
        let grown = arenas.host.iter_mut().filter(|arena| arena.base == taken.base);
        grown.for_each(|arena| arena.writable = arena.writable.max(end));
    });
    true
}

pub fn give_back(block: NonNull<c_void>) {
    let address = block.addr().get();
    ARENAS.with(|arenas| arenas.host.iter_mut().any(|arena| arena.give_back(address)));
}

/// Gives the pages of arenas without blocks to the system; returns their bytes.
pub fn release_idle() -> u64 {
    let mut released = 0;
    while let Some((base, used)) =
        is_used().then(|| ARENAS.with(|arenas| Arena::begin_release(&mut arenas.host))).flatten()
    {
        // SAFETY: the range is an arena's without blocks, and none is lent from it meanwhile: its contents are not needed.
        unsafe { libc::madvise(base as *mut c_void, used, libc::MADV_DONTNEED) };
        ARENAS.with(|arenas| {
            let ended = arenas.host.iter_mut().filter(|arena| arena.base == base);
            ended.for_each(|arena| (arena.is_releasing, arena.used) = (false, 0));
        });
        released += used as u64;
    }
    released
}

/// In a forked child: the parent's other threads release nothing here.
pub fn begin_child() {
    ARENAS.with(|arenas| arenas.host.iter_mut().for_each(|arena| arena.is_releasing = false));
}

/// Sums over all arenas.
pub fn figures() -> Figures {
    ARENAS.with(|arenas| arenas.host.iter().map(|arena| arena.figures).sum())
}

/// A block that was taken, and its arena as it was.
struct Taken {
    address: NonNull<c_void>,
    end: usize,
    base: usize,
    reserved: usize,
    writable: usize,
}

impl Arena {
    /// A thread takes over an arena without blocks, because the thread that made it may have ended. `None`: there is none.
    fn of_this_thread(arenas: &mut [Arena]) -> Option<&mut Arena> {
        let owner = this_thread();
        let find = |is_wanted: &dyn Fn(&Arena) -> bool| {
            arenas.iter().position(|arena| !arena.is_releasing && is_wanted(arena))
        };
        let at = find(&|arena| arena.owner == owner).or_else(|| find(&|arena| arena.spans.0.is_empty()))?;
        arenas[at].owner = owner;
        Some(&mut arenas[at])
    }

    fn take(&mut self, room: usize, offset: Option<usize>) -> Option<Taken> {
        let planned = offset.and_then(|start| self.spans.take_at(start, room, self.reserved));
        let span = planned.or_else(|| self.spans.take(room, self.reserved))?;
        self.used = self.used.max(span.end());
        let figures = &mut self.figures;
        figures.lent += room as u64;
        figures.most_lent = figures.most_lent.max(figures.lent);
        figures.needed = figures.needed.max(span.end() as u64);
        let address = NonNull::new((self.base + span.start + OFFSET) as *mut c_void)?;
        let Arena { base, reserved, writable, .. } = *self;
        Some(Taken { address, end: span.end(), base, reserved, writable })
    }

    fn give_back(&mut self, address: usize) -> bool {
        let start = address.wrapping_sub(self.base).wrapping_sub(OFFSET);
        let span = if start < self.reserved { self.spans.give_back(start) } else { None };
        self.figures.lent -= span.map_or(0, |span| span.bytes as u64);
        span.is_some()
    }

    /// The start and used bytes of an arena whose pages are to be released.
    fn begin_release(arenas: &mut [Arena]) -> Option<(usize, usize)> {
        let is_idle = |arena: &&mut Arena| !arena.is_releasing && arena.used > 0 && arena.spans.0.is_empty();
        let arena = arenas.iter_mut().find(is_idle)?;
        arena.is_releasing = true;
        Some((arena.base, arena.used.min(arena.writable)))
    }
}

/// Reserves as many addresses as the machine has memory, or the largest half of these that the system allows.
fn reserve() -> Option<(usize, usize)> {
    const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    const LEAST: usize = 1 << 26;
    let allowed = limits::of(libc::RLIMIT_AS).map_or(u64::MAX, |limit| limit / 4);
    let memory = limits::memory("MemTotal:").unwrap_or(1 << 34);
    let mut bytes = (usize::try_from(memory.min(allowed)).ok()? / STEP * STEP).max(LEAST);
    loop {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, KIND, -1, 0) };
        if base != libc::MAP_FAILED {
            return Some((base.addr(), bytes));
        }
        bytes = bytes / 2 / STEP * STEP;
        if bytes < LEAST {
            return None;
        }
    }
}
