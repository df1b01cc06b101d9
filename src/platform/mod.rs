//! The system below the library.

pub(crate) mod cancel_guard;
pub(crate) mod clock;
#[cfg_attr(not(feature = "caffe2"), allow(dead_code, reason = "the room caffe2 uses all of it"))]
pub(crate) mod fallible_arc;
pub(crate) mod file;
pub mod file_error;
pub mod file_name;
pub(crate) mod fork;
pub(crate) mod loaded;
pub(crate) mod local_time;
pub(crate) mod nesting;
pub mod owners;
pub(crate) mod program;
pub(crate) mod sync;
pub(crate) mod text;
pub(crate) mod thread;
pub(crate) mod thread_pointer;

pub(crate) use syncedmem_core::limits;
