//! An arena on the host is a range of addresses, of as many bytes as the thread's plans need. A block uses the pages of blocks that were
//! given back, so the arena has as many pages as its blocks had at once, and a few gaps. A plan that needs more, or a block without a
//! gap, gets one more range. When no block is in use, one range replaces all.
//!
//! Only the arena's thread takes blocks from it. Any thread may give a block back. No system call is made under the lock.
#![expect(unsafe_code, reason = "mmap and munmap are called here")]

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::device::Place;
use super::{ALIGNMENT, ARENAS, Figures, Span, Spans};
use crate::platform::sync::this_thread;

/// Compat: glibc's large blocks start 16 bytes after the start of a page, and the results of vectorised sums depend on that.
const OFFSET: usize = 16;
/// The bytes of a range are a multiple of this: whole pages, whatever their size.
const STEP: usize = 1 << 20;

pub struct Arena {
    /// `pthread_self()` of the arena's thread.
    owner: usize,
    /// The bytes of the largest plan, or of all ranges at once if they were more.
    wanted: usize,
    /// Ranges by age. The largest serves the plan; an earlier one ends when it has no blocks.
    ranges: Vec<Range>,
    figures: Figures,
}

/// Which free bytes a block may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Those of its place, or a gap that holds it, or new ones.
    Any,
    /// Those of its place alone.
    Planned,
}

enum Step {
    Taken(NonNull<c_void>),
    /// The caller drops this range, outside of the lock.
    Ended(Range),
    /// The arena needs a range of so many bytes.
    Lacks(usize),
    Refused,
}

static IS_USED: AtomicBool = AtomicBool::new(false);

/// Takes a block with undefined contents from this thread's arena. `None` if the system has no addresses for it, or its place is taken.
pub fn take(bytes: usize, place: Place, gap: Gap) -> Option<NonNull<c_void>> {
    let room = bytes.checked_add(OFFSET)?.checked_next_multiple_of(ALIGNMENT)?;
    IS_USED.store(true, Relaxed);
    if gap == Gap::Planned {
        return Arena::with_own(|arena| arena.take_in_place(room, place.offset, arena.largest()))?;
    }
    // The system refused a range of so many bytes.
    let mut refused = usize::MAX;
    loop {
        match Arena::with_own(|arena| arena.step(room, place, refused))? {
            Step::Taken(address) => return Some(address),
            Step::Ended(range) => drop(range),
            Step::Lacks(bytes) if add(bytes).is_some() => {}
            Step::Lacks(bytes) => refused = bytes,
            Step::Refused => return None,
        }
    }
}

fn add(bytes: usize) -> Option<()> {
    let mut range = Some(Range::map(bytes)?);
    Arena::with_own(|arena| {
        arena.ranges.try_reserve(1).ok()?;
        arena.ranges.extend(range.take());
        arena.wanted = arena.wanted.max(arena.bytes());
        Some(())
    })?
}

pub fn give_back(block: NonNull<c_void>) {
    let address = block.addr().get();
    ARENAS.with(|arenas| arenas.host.iter_mut().any(|arena| arena.give_back(address)));
}

/// Unmaps the ranges of arenas without blocks; returns the bytes that blocks had there.
pub fn release_idle() -> u64 {
    let take = || ARENAS.with(|arenas| arenas.host.iter_mut().find_map(Arena::release));
    let ranges = std::iter::from_fn(|| if IS_USED.load(Relaxed) { take() } else { None });
    ranges.map(|range| range.used as u64).sum()
}

/// The sums of all arenas on the host.
pub fn figures() -> Figures {
    ARENAS.with(|arenas| arenas.host.iter().map(|arena| arena.figures).sum())
}

impl Arena {
    /// Works on this thread's arena. A thread without one takes over an arena without blocks, whose thread may have ended, or makes a
    /// new one: `None` if there is no memory for it.
    fn with_own<R>(work: impl FnOnce(&mut Arena) -> R) -> Option<R> {
        let owner = this_thread();
        ARENAS.with(|arenas| {
            let arenas = &mut arenas.host;
            let own = arenas.iter().position(|arena| arena.owner == owner);
            let at = match own.or_else(|| arenas.iter().position(Arena::is_idle)) {
                Some(at) => at,
                None => {
                    arenas.try_reserve(1).ok()?;
                    arenas.push(Arena { owner, wanted: 0, ranges: Vec::new(), figures: Figures::default() });
                    arenas.len() - 1
                }
            };
            arenas[at].owner = owner;
            Some(work(&mut arenas[at]))
        })
    }

    fn is_idle(&self) -> bool {
        self.ranges.iter().all(Range::is_idle)
    }

    fn bytes(&self) -> usize {
        self.ranges.iter().map(|range| range.bytes).sum()
    }

    /// Takes a block of `room` bytes, or says what is missing. It asks for no range of `refused` bytes or more.
    fn step(&mut self, room: usize, Place { offset, whole }: Place, refused: usize) -> Step {
        let at = self.largest();
        let largest = self.ranges.get(at).map_or(0, |range| range.bytes);
        let planned = offset.map_or(room, |start| start.saturating_add(room).max(whole));
        self.wanted = self.wanted.max(planned);
        let is_idle = self.is_idle();
        let mut sizes = [if is_idle { self.wanted } else { 0 }, planned].into_iter();
        if let Some(lacking) = sizes.find(|&bytes| largest < bytes && bytes < refused) {
            let in_place_of = if is_idle { self.ranges.pop() } else { None };
            return in_place_of.map_or(Step::Lacks(lacking), Step::Ended);
        }
        if let Some(outgrown) = self.ranges[..at].iter().position(Range::is_idle) {
            return Step::Ended(self.ranges.remove(outgrown));
        }
        if let Some(address) = self.take_in_place(room, offset, at) {
            return Step::Taken(address);
        }
        let (earlier, others) = self.ranges.split_at_mut(at);
        let mut ranges = others.iter_mut().chain(earlier);
        if let Some(address) = ranges.find_map(|range| range.take(|spans, limit| spans.take(room, limit))) {
            self.note_taken(room);
            return Step::Taken(address);
        }
        let mut sizes = [room.max(self.bytes() / 2), room].into_iter();
        sizes.find(|&bytes| bytes < refused).map_or(Step::Refused, Step::Lacks)
    }

    /// The number of the range that serves the plan.
    fn largest(&self) -> usize {
        let largest = self.ranges.iter().map(|range| range.bytes).max();
        self.ranges.iter().position(|range| Some(range.bytes) == largest).unwrap_or(0)
    }

    fn take_in_place(&mut self, room: usize, offset: Option<usize>, at: usize) -> Option<NonNull<c_void>> {
        let address = self.ranges.get_mut(at)?.take(|spans, limit| spans.take_at(offset?, room, limit))?;
        self.note_taken(room);
        Some(address)
    }

    fn note_taken(&mut self, room: usize) {
        let needed = self.ranges.iter().map(|range| range.used as u64).sum();
        let figures = &mut self.figures;
        figures.in_use += room as u64;
        figures.most_in_use = figures.most_in_use.max(figures.in_use);
        figures.needed = figures.needed.max(needed);
    }

    fn give_back(&mut self, address: usize) -> bool {
        let span = self.ranges.iter_mut().find_map(|range| range.give_back(address));
        self.figures.in_use -= span.map_or(0, |span| span.bytes as u64);
        span.is_some()
    }

    fn release(&mut self) -> Option<Range> {
        if !self.is_idle() {
            return None;
        }
        self.wanted = 0;
        self.ranges.pop()
    }
}

/// One mapping of an arena.
struct Range {
    base: usize,
    bytes: usize,
    /// The end of the highest block so far.
    used: usize,
    spans: Spans,
}

impl Range {
    fn map(bytes: usize) -> Option<Range> {
        const KIND: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let bytes = bytes.checked_next_multiple_of(STEP)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, KIND, -1, 0) };
        (base != libc::MAP_FAILED).then(|| Range {
            base: base.expose_provenance(),
            bytes,
            used: 0,
            spans: Spans(Vec::new()),
        })
    }

    fn is_idle(&self) -> bool {
        self.spans.0.is_empty()
    }

    fn take(&mut self, take: impl FnOnce(&mut Spans, usize) -> Option<Span>) -> Option<NonNull<c_void>> {
        let span = take(&mut self.spans, self.bytes)?;
        self.used = self.used.max(span.end());
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.base + span.start + OFFSET))
    }

    fn give_back(&mut self, address: usize) -> Option<Span> {
        let start = address.wrapping_sub(self.base).wrapping_sub(OFFSET);
        if start < self.bytes { self.spans.give_back(start) } else { None }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: `Arena` gives up only ranges without blocks, so no object uses the memory.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.base), self.bytes) };
    }
}
