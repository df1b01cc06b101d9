//! Ends that cause ends: the last owner of a tensor ends the tensors in it, and a caller's deleter may end anything.
//!
//! A chain of these may be longer than any stack. So a thread nests them up to a depth. Deeper ones wait in its list; the
//! outermost one ends them, in order, before it returns. No lock is held, and waiting needs no allocation. The list lies on
//! the thread's own stack, so a fork or the end of the process inside an end is harmless.
#![expect(unsafe_code, reason = "a thread finds its list by a pointer, and waiting values by theirs")]

use std::cell::Cell;
use std::ptr::NonNull;

use super::thread_pointer::ThreadPointer;

/// This suffices for some eight C++ classes with tensors within each other, whose members end in order. Less than 8 KiB of stack.
const DEPTH: u32 = 16;

/// The head of a value that may wait for its end.
pub struct Waiting {
    next: Cell<Option<NonNull<Waiting>>>,
    end: unsafe fn(NonNull<Waiting>),
}

impl Waiting {
    /// `end` is called once with the address of this value, by the thread that passed it to [`end`].
    pub fn new(end: unsafe fn(NonNull<Waiting>)) -> Self {
        Waiting { next: Cell::new(None), end }
    }
}

#[derive(Default)]
struct Running {
    depth: Cell<u32>,
    first: Cell<Option<NonNull<Waiting>>>,
    last: Cell<Option<NonNull<Waiting>>>,
}

/// The thread's [`Running`], on the stack of its outermost end; null outside of ends.
static RUNNING: ThreadPointer = ThreadPointer::new(None);

fn running<'r>() -> Option<&'r Running> {
    let running: *const Running = RUNNING.get().cast();
    // SAFETY: null, or that of `nest` in a frame of this thread that has not returned.
    unsafe { running.as_ref() }
}

impl Running {
    fn nest<R>(&self, work: impl FnOnce() -> R) -> R {
        self.depth.set(self.depth.get() + 1);
        // The guard is dropped when a caller's function unwinds, too.
        let _level = Level(self);
        work()
    }

    fn add(&self, waiting: NonNull<Waiting>) {
        match self.last.replace(Some(waiting)) {
            // SAFETY: `last` waits in the list, so `now` has not ended it yet.
            Some(last) => unsafe { last.as_ref() }.next.set(Some(waiting)),
            None => self.first.set(Some(waiting)),
        }
    }

    fn take(&self) -> Option<NonNull<Waiting>> {
        let first = self.first.get()?;
        // SAFETY: `first` waits in the list, so `now` has not ended it yet.
        let next = unsafe { first.as_ref() }.next.get();
        self.first.set(next);
        if next.is_none() {
            self.last.set(None);
        }
        Some(first)
    }
}

struct Level<'r>(&'r Running);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}

/// The last of `nest`'s values that is dropped.
struct Outermost;

impl Drop for Outermost {
    fn drop(&mut self) {
        // This cannot fail: the thread already has the pointer's storage.
        RUNNING.set(std::ptr::null_mut());
    }
}

struct Drain<'r>(&'r Running);

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        while let Some(waiting) = self.0.take() {
            // SAFETY: `end` added it once, as its last use.
            self.0.nest(|| unsafe { now(waiting) });
        }
    }
}

/// # Safety
/// This is the last use of `waiting`.
unsafe fn now(waiting: NonNull<Waiting>) {
    // SAFETY: the last use is yet to come, so the value still exists.
    let end = unsafe { waiting.as_ref() }.end;
    // SAFETY: `end` is called once, with the value that it was made for.
    unsafe { end(waiting) };
}

/// Runs `work`, unless the thread is nested too deeply. `work` may call functions of the caller.
pub fn nest<R>(work: impl FnOnce() -> R) -> Option<R> {
    match running() {
        Some(running) if running.depth.get() >= DEPTH => None,
        Some(running) => Some(running.nest(work)),
        None => {
            let running = Running::default();
            // Without memory for the pointer, every end is an outermost one.
            let _outermost = RUNNING.set((&raw const running).cast_mut().cast()).then_some(Outermost);
            let drain = Drain(&running);
            Some(drain.0.nest(work))
        }
    }
}

/// Ends the value now, or once the thread is nested less deeply.
///
/// # Safety
/// This is the last use of `waiting`.
#[inline(never)]
pub unsafe fn end(waiting: NonNull<Waiting>) {
    // SAFETY: the caller of `end` does not use it again.
    if nest(|| unsafe { now(waiting) }).is_none() {
        running().into_iter().for_each(|running| running.add(waiting));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    thread_local! {
        static LOG: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
    }

    #[repr(C)]
    struct Link {
        waiting: Waiting,
        number: u32,
        causes: Vec<NonNull<Waiting>>,
    }

    unsafe fn end_link(link: NonNull<Waiting>) {
        // SAFETY: `link` leaked this box.
        let link = unsafe { Box::from_raw(link.cast::<Link>().as_ptr()) };
        let note = |number| {
            let mut log = LOG.take();
            log.push(number);
            LOG.set(log);
        };
        note(link.number);
        // SAFETY: each is a link's only cause.
        link.causes.iter().for_each(|&cause| unsafe { end(cause) });
        note(link.number + 1000);
    }

    fn link(number: u32, causes: Vec<NonNull<Waiting>>) -> NonNull<Waiting> {
        NonNull::from(Box::leak(Box::new(Link { waiting: Waiting::new(end_link), number, causes }))).cast()
    }

    /// Ends `first`. Returns the numbers of links whose end began, and 1000 more than those of links whose end is done.
    fn log_of(first: NonNull<Waiting>) -> Vec<u32> {
        // SAFETY: nothing else ends it.
        unsafe { end(first) };
        assert!(running().is_none());
        LOG.take()
    }

    #[test]
    fn what_an_end_causes_has_ended_before_it_returns() {
        assert_eq!(
            log_of(link(1, vec![link(2, vec![]), link(3, vec![link(4, vec![])])])),
            [1, 2, 1002, 3, 4, 1004, 1003, 1001]
        );
    }

    #[test]
    fn what_is_too_deep_ends_in_order_after_the_outermost() {
        let deep = link(100, vec![link(101, vec![]), link(102, vec![])]);
        let chain = (1..DEPTH).rev().fold(vec![deep, link(103, vec![])], |causes, number| vec![link(number, causes)]);
        let log = log_of(chain[0]);
        let at = |number| log.iter().position(|&each| each == number);
        assert!(at(DEPTH - 1) < at(100) && at(100) < at(1001), "as deep as it goes: {log:?}");
        let after: Vec<u32> = log.iter().copied().skip_while(|&each| each != 1001).collect();
        assert_eq!(after, [1001, 101, 1101, 102, 1102], "{log:?}");
    }

    #[test]
    fn an_end_that_panics_leaves_the_thread_as_it_was() {
        let quiet = std::panic::catch_unwind(|| nest(|| std::panic::resume_unwind(Box::new(()))));
        assert!(quiet.is_err() && running().is_none());
        assert_eq!(nest(|| running().map(|running| running.depth.get())), Some(Some(1)));
    }
}
