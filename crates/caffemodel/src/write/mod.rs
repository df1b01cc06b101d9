//! Files with other values: all that is not replaced is copied byte for byte.

mod blob;
mod edit;
mod encode;
mod new_file;
mod plan;
mod values;

pub use edit::{Edit, write_blob};
pub use new_file::NewFile;
pub use values::Values;
