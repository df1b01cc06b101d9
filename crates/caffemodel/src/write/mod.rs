//! Files with other values.

mod blob;
mod edit;
mod encode;
mod new_file;
mod plan;
mod values;

pub use edit::{Edit, write_blob};
pub use new_file::NewFile;
pub use values::Values;
