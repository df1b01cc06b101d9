//! The work of this library beside Caffe's functions.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does work that only reads Caffe's objects: a bug in it must not end the program.
pub fn naming<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok().flatten()
}
