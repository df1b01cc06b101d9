//! Why an object is not taken over.

use std::ffi::CStr;
use std::fmt;

use syncedmem_caffe_file::limit::Limit;

use crate::platform::file_error::FileError;

#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    Unreadable(FileError),
    File(Limit),
    Changed(&'static CStr),
    /// The functions lie in several segments, or in one that is not executable.
    Scattered,
    Forbidden(FileError),
    Threads,
    /// The loader's function for debuggers is not found, or is not the known one.
    Loader(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Unreadable(why) => write!(formatter, "its file cannot be read: {why}"),
            Refusal::File(limit) => limit.fmt(formatter),
            Refusal::Changed(function) => write!(
                formatter,
                "{} in memory differs from the file (a breakpoint, another library that replaces it, or a file replaced meanwhile)",
                function.to_str().unwrap_or_default()
            ),
            Refusal::Scattered => formatter.write_str("its functions are in several segments"),
            Refusal::Forbidden(why) => write!(formatter, "the system forbids to change code: {why}"),
            Refusal::Threads => formatter.write_str(
                "the library was loaded when several threads ran; preload it (LD_PRELOAD), or load it before them",
            ),
            Refusal::Loader(what) => write!(formatter, "the dynamic linker's function for debuggers {what}"),
        }
    }
}
