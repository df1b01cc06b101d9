//! The advice, from events that are written down here: what triggers each rule and what does not quite.

pub mod copies;
mod found;
pub mod memory;
mod story;
pub mod sums;
