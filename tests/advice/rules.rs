//! Each rule: what triggers it, and what does not quite.

mod copies;
mod fills;
mod memory;
mod sums;
