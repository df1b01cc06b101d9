//! Reports about memory: the addition to an out-of-memory error, and the report of the whole process.

pub mod at_exit;
mod circumstances;
pub mod process;

pub use circumstances::Circumstances;
