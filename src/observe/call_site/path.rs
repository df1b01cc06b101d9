//! Paths: stacks that were unwound before, recognized by their return addresses.
//!
//! Unwinding takes a microsecond and more, most of it to find out where each return address lies. A thread that comes to
//! the same depth by the same calls has the same return addresses in the same places: comparing those takes nanoseconds.

use syncedmem_trace::address_hash::hash_address;
use syncedmem_trace::event::Site;

/// Upper bound of the return addresses of a path. A longer one is unwound each time.
const LENGTH: usize = 16;

/// A depth of a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The thread's id. A thread of the same id later has its stack in the same place.
    pub thread: usize,
    /// Address of a local of the function whose return address is the first one of the path.
    pub local: usize,
}

/// The return addresses above a depth, the innermost first, each with its place.
#[derive(Clone, Copy)]
pub struct Path {
    depth: Depth,
    count: usize,
    returns: [(usize, usize); LENGTH],
    is_comparable: bool,
}

impl Path {
    pub const fn new(depth: Depth) -> Path {
        Path { depth, count: 0, returns: [(0, 0); LENGTH], is_comparable: true }
    }

    /// Adds a frame's return address, where it lies just below the canonical frame address of the frame that it was
    /// called from. This is so on x86-64, but for signal handlers, and for some compilers elsewhere.
    ///
    /// # Safety
    /// `frame_address` is on this thread's stack.
    pub unsafe fn add(&mut self, frame_address: usize, return_address: usize) {
        let place = frame_address.wrapping_sub(size_of::<usize>());
        // The frames of the unwinder and of its callers are below.
        if !self.is_comparable || place < self.depth.local {
            return;
        }
        // SAFETY: the caller guarantees the address. The word below it belongs to the frame that was called.
        let is_there = unsafe { read(place) } == return_address;
        if is_there && self.count < LENGTH {
            self.returns[self.count] = (place, return_address);
            self.count += 1;
        } else {
            self.is_comparable = false;
        }
    }

    /// For a frame whose place of return address is unknown.
    pub fn make_incomparable(&mut self) {
        self.is_comparable = false;
    }

    /// Whether this thread, which is at `depth`, came there by this path.
    fn leads_to(&self, depth: Depth) -> bool {
        self.depth == depth
            // SAFETY: the place was on this thread's stack. It still is, on whichever stack the thread runs: the frames
            // below it, up to the function that it returns from, are the same as when the path was added.
            && self.returns[..self.count].iter().all(|&(place, address)| unsafe { read(place) } == address)
    }
}

/// Reads a word of the stack. Volatile: the compiler knows nothing of return addresses.
///
/// # Safety
/// The address is on this thread's stack.
unsafe fn read(place: usize) -> usize {
    // SAFETY: the caller guarantees it.
    unsafe { std::ptr::with_exposed_provenance::<usize>(place).read_volatile() }
}

const SETS: usize = 64;
const WAYS: usize = 4;

/// The paths lately added, by their depth, and the sites that they begin at.
pub struct Paths {
    sets: [[(Path, Site); WAYS]; SETS],
    /// The way that the next path takes.
    next: usize,
}

impl Paths {
    pub const NEW: Paths =
        Paths { sets: [[(Path::new(Depth { thread: 0, local: 0 }), Site::UNKNOWN); WAYS]; SETS], next: 0 };

    /// The site of the path by which this thread came to `depth`, if that path was added.
    pub fn find(&self, depth: Depth) -> Option<Site> {
        self.sets[set(depth)].iter().find(|(path, _)| path.leads_to(depth)).map(|&(_, site)| site)
    }

    pub fn add(&mut self, path: &Path, site: Site) {
        if path.is_comparable && path.count > 0 {
            self.sets[set(path.depth)][self.next] = (*path, site);
            self.next = (self.next + 1) % WAYS;
        }
    }
}

fn set(depth: Depth) -> usize {
    (hash_address(depth.local ^ depth.thread.rotate_left(32)) >> (u64::BITS - SETS.ilog2())) as usize
}
