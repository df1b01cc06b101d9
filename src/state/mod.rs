//! The state machine, the word of an object, and the gate of the fast path.

pub mod fast_path;
pub mod flags;
pub mod step;
pub mod word;
