//! Paths: stacks that were unwound before, recognized by their return addresses.
//!
//! Unwinding mostly searches where each return address lies. A thread that comes to the same depth by the same calls
//! has the same return addresses in the same places: comparing those takes nanoseconds.
//!
//! A return address that matches fixes the place of the next one, but not above a frame of variable size (`alloca`, or
//! locals of large alignment). There a word of an earlier call may be taken for the return address, and so a site for
//! another one of the same depth.

use syncedmem_trace::address_hash::hash_address;
use syncedmem_trace::event::Site;

/// Most return addresses of a path. A longer one is unwound each time.
const LENGTH: usize = 16;

/// Most bytes between two return addresses. More may lead from one stack to another.
const LARGEST_FRAME: usize = 64 << 10;

/// A depth of a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// A thread of the same id later has its stack in the same place.
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

    /// Adds the address at which a call returns. `frame_address` is the canonical frame address of the called function:
    /// the stack pointer before the call. On x86-64 the return address lies in the word below; elsewhere it depends on
    /// the compiler.
    ///
    /// # Safety
    /// `frame_address` is on this thread's stack.
    pub unsafe fn add(&mut self, frame_address: usize, return_address: usize) {
        let place = frame_address.wrapping_sub(size_of::<usize>());
        // The unwinder's own frames are below the local.
        if !self.is_comparable || (self.count == 0 && place < self.depth.local) {
            return;
        }
        let last = self.returns[..self.count].last().map_or(self.depth.local, |&(place, _)| place);
        // A stack grows from its callers down: a lower place, or one far away, is on another stack.
        let is_next = place > last && place - last <= LARGEST_FRAME;
        // SAFETY: the caller guarantees the address. The word below it belongs to the frame that was called.
        let is_there = is_next && unsafe { read(place) } == return_address;
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
            // SAFETY: the place was on this thread's stack. `all` reads it only after all return addresses below it have
            // matched: the same calls are at the same depth, so a frame of theirs has it still. Above a frame of variable
            // size it may be another word: the thread's stack still has it, because its upper end does not move, and a
            // coroutine's at the place of an earlier one has it unless it ends less than `LARGEST_FRAME` above that frame.
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

/// The paths lately added, by their depth, and their sites.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn stack(words: usize) -> Vec<Cell<usize>> {
        (0..words).map(|word| Cell::new(word << 12)).collect()
    }

    fn depth(stack: &[Cell<usize>]) -> Depth {
        Depth { thread: 1, local: stack[0].as_ptr().expose_provenance() }
    }

    /// The words of the stack at `places` are return addresses.
    fn path_of(stack: &[Cell<usize>], places: &[usize]) -> Path {
        let mut path = Path::new(depth(stack));
        for &at in places {
            let frame_address = stack[at].as_ptr().expose_provenance() + size_of::<usize>();
            // SAFETY: the word below it is one of `stack`.
            unsafe { path.add(frame_address, stack[at].get()) };
        }
        path
    }

    #[test]
    fn a_path_is_found_at_its_depth_while_its_return_addresses_are_there() {
        let stack = stack(16);
        let mut paths = Box::new(Paths::NEW);
        paths.add(&path_of(&stack, &[3, 5, 9]), Site(7));
        let depth = depth(&stack);
        assert_eq!(paths.find(depth), Some(Site(7)));
        assert_eq!(paths.find(Depth { thread: 2, ..depth }), None);
        stack[4].set(0);
        assert_eq!(paths.find(depth), Some(Site(7)));
        stack[9].set(0);
        assert_eq!(paths.find(depth), None);
    }

    #[test]
    fn a_path_that_leaves_its_stack_is_not_compared() {
        let words = LARGEST_FRAME / size_of::<usize>();
        let stack = stack(words + 8);
        assert!(path_of(&stack, &[3, words + 3]).is_comparable);
        assert!(!path_of(&stack, &[3, words + 4]).is_comparable);
        assert!(!path_of(&stack, &[5, 3]).is_comparable);
    }
}
