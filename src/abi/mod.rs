//! The two ABIs over [`crate::object`]. An entry point checks its arguments, calls one safe method and converts
//! the result; nothing is decided here but what a failure looks like from outside.

pub mod c;
pub mod caffe;
mod guard;
mod per_thread;
pub mod status;
