//! What is told about memory: with an error that it ran out, and as the whole report of the process.

pub mod at_exit;
mod circumstances;
pub mod whole;

pub use circumstances::Circumstances;
