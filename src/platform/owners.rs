//! The count of the owners of a value, of which the last one ends it.

use super::sync::{AtomicUsize, Ordering};

/// The number of owners.
#[derive(Debug)]
pub struct Owners(AtomicUsize);

impl Owners {
    /// The count of a new value.
    pub fn one() -> Owners {
        Owners(AtomicUsize::new(1))
    }

    /// One owner more.
    pub fn join(&self) {
        // Relaxed: the caller is an owner, so the count is not 0 meanwhile.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One owner less. Returns whether it was the last.
    pub fn leave(&self) -> bool {
        // Release: what this owner did comes before the end. Acquire: the last one sees it.
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
