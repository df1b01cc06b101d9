//! Reports about memory, for an error or of the whole process.

pub mod at_exit;
mod circumstances;
pub mod process;

pub use circumstances::Circumstances;
