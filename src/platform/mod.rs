//! The system below the library.

pub(crate) mod cancel_guard;
pub(crate) mod clock;
pub(crate) mod file;
pub mod file_error;
pub mod file_name;
pub(crate) mod fork;
pub mod limits;
pub(crate) mod loaded;
pub(crate) mod local_time;
pub mod owners;
#[cfg(feature = "caffe2")]
pub(crate) mod shared;
pub(crate) mod sync;
pub(crate) mod text;
pub(crate) mod thread;
