//! The threads that are within a record.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Release, SeqCst};

use crate::platform::sync::nap;

static INSIDE: AtomicU32 = AtomicU32::new(0);

/// Counts its thread while it lives.
pub struct Inside(());

impl Inside {
    /// SeqCst: a thread that changes the trace's state next sees this count and waits.
    #[inline]
    pub fn begin() -> Inside {
        INSIDE.fetch_add(1, SeqCst);
        Inside(())
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        // Release: the thread that finds no other one sees this writer's effects.
        INSIDE.fetch_sub(1, Release);
    }
}

/// Whether the caller, which is inside, is so alone. A thread that begins later sees what this one did before the call:
/// its increment follows this one's read-modify-write.
pub fn is_alone() -> bool {
    INSIDE.fetch_add(0, SeqCst) == 1
}

pub fn wait_for_none() {
    while INSIDE.load(SeqCst) != 0 {
        nap();
    }
}

/// The threads that were inside do not exist in a forked child.
pub fn after_fork_in_child() {
    INSIDE.store(0, SeqCst);
}
