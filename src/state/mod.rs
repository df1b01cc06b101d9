//! The word of an object, and the gate of the fast path. The head is of `syncedmem_trace`.

pub mod fast_path;
pub mod flags;
pub mod word;
