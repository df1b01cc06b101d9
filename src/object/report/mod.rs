pub mod at_exit;
mod circumstances;
pub mod process;

pub use circumstances::Circumstances;
