//! The advice, from events that are written down here: what triggers each rule and what does not quite, and every rule
//! against a naive one that looks at the whole list afterwards.

pub mod copies;
pub mod fills;
mod found;
pub mod memory;
pub mod naive;
pub mod random;
mod story;
pub mod sums;
mod world;
