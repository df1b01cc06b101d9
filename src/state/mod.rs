//! The state in an object's 32 bytes: the word, and the gate of the fast path. The head is of `syncedmem_trace`.

pub mod fast_path;
pub mod flags;
pub mod word;
