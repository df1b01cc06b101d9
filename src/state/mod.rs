//! The word of an object's 32 bytes, and the gate of the fast path. The head is of `syncedmem_trace`.

pub mod fast_path;
pub mod flags;
pub mod word;
