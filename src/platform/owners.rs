//! The number of a value's owners; the last one ends it.

use super::sync::{AtomicUsize, Ordering};

#[derive(Debug)]
pub struct Owners(AtomicUsize);

impl Owners {
    pub fn one() -> Owners {
        Owners(AtomicUsize::new(1))
    }

    pub fn join(&self) {
        // Relaxed: the caller is an owner.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn are_several(&self) -> bool {
        // Acquire: sees the effects of the owners that have left.
        self.0.load(Ordering::Acquire) > 1
    }

    /// Returns `true` if this was the last owner.
    pub fn leave(&self) -> bool {
        // Release: this owner's effects come before the end. Acquire: the last one sees them.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
