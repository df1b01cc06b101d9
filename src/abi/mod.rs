//! The functions that others link: Caffe's C++ symbols, and the C API of each header. An entry point checks its arguments, calls one
//! safe method and converts the result. Only the form of a failure is decided here.

mod arguments;
#[cfg(feature = "blob")]
pub mod blob;
pub mod c;
pub mod caffe;
#[cfg(feature = "caffe2")]
pub mod caffe2;
mod call;
pub mod element;
mod guard;
#[cfg(feature = "blob")]
mod handle;
#[cfg(feature = "blob")]
pub mod model;
mod opaque;
mod pass;
mod per_thread;
pub mod status;
