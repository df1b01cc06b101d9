//! The state in an object's 32 bytes: the head and its transitions, the word that holds it, and the gate of the fast path.

pub mod fast_path;
pub mod flags;
pub mod head;
pub mod kind;
pub mod word;
