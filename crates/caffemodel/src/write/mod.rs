//! Writing of files with new values.

mod blob_file;
mod edit;
mod output;
mod values;

pub use blob_file::write_blob;
pub use edit::Edit;
pub use values::Values;
