//! The uses of an evictable object: the accesses that are open, and when it was used last.
//!
//! An evictable object keeps its word's slow bit, so every access takes the slow path and is open until the object's user ends it.
//! Accesses are opened, and an eviction checks that there is none, under the lock of the object's entry: the second of the two
//! sees the first.

// Not loom's: the shards' locks order what is decided by it.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Clone, Copy)]
pub struct Uses {
    /// Open accesses.
    open: u32,
    /// By the clock; different for every object.
    pub last_use: u64,
}

/// The effect of an operation on its object's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    None,
    Opens,
    /// It ends all earlier accesses, because it makes their addresses invalid.
    Renews,
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// No use up to now is later.
pub fn now() -> u64 {
    CLOCK.load(Relaxed)
}

fn tick() -> u64 {
    CLOCK.fetch_add(1, Relaxed) + 1
}

impl Uses {
    /// An object is marked evictable now: no access is open.
    pub fn begin() -> Uses {
        Uses { open: 0, last_use: tick() }
    }

    pub(crate) fn follow(&mut self, means: Use) {
        match means {
            Use::None => {}
            Use::Opens => *self = Uses { open: self.open.saturating_add(1), last_use: tick() },
            Use::Renews => self.open = 0,
        }
    }

    /// Ends an access; `false`: none is open.
    pub(crate) fn end(&mut self) -> bool {
        let left = self.open.checked_sub(1);
        if let Some(open) = left {
            *self = Uses { open, last_use: tick() };
        }
        left.is_some()
    }

    pub fn is_unused(&self) -> bool {
        self.open == 0
    }

    pub fn is_unused_since(&self, last_use: u64) -> bool {
        self.is_unused() && self.last_use == last_use
    }
}
