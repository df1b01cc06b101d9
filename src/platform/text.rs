//! Text to standard error and to files, through fixed buffers.

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use syncedmem_core::text::{Escaped, Text};

use super::file;

/// If the reader has gone, SIGPIPE is raised as for any writer. A closed or full standard error does not stop the program.
pub fn to_stderr(text: &[u8]) {
    let _ = file::write(libc::STDERR_FILENO, text);
}

#[cold]
pub fn warn(message: fmt::Arguments) {
    to_stderr(Text::<600>::of(format_args!("libsyncedmem: {message}\n")).as_bytes());
}

#[cold]
pub fn warn_once(has_warned: &AtomicBool, message: fmt::Arguments) {
    if !has_warned.swap(true, Relaxed) {
        warn(message);
    }
}

/// /dev/stderr and /dev/stdout are links, which `file::open` would refuse.
pub fn is_stream(destination: &CStr) -> bool {
    matches!(destination.to_bytes(), b"stderr" | b"/dev/stderr" | b"/dev/stdout")
}

/// `destination` is a setting's value. If it cannot be written, standard error gets an error that calls the text `what`, and
/// the text.
pub fn append_to(destination: &CStr, variable: &str, what: &str, text: &[u8]) {
    let written = match destination.to_bytes() {
        b"stderr" | b"/dev/stderr" => return to_stderr(text),
        b"/dev/stdout" => file::write(libc::STDOUT_FILENO, text),
        _ => file::append(destination, text),
    };
    if let Err(trouble) = written {
        let name = Text::<400>::of(format_args!("{}", Escaped(destination.to_bytes())));
        warn(format_args!("{variable}={name}: {trouble}; {what} here"));
        to_stderr(text);
    }
}
