//! What went wrong, in words, and which version says so.

use std::ffi::c_char;

use crate::abi::per_thread;
use crate::abi::status::NAMES;

/// The major number of the version that this header belongs to.
pub const SYNCEDMEM_VERSION_MAJOR: i32 = 0;
/// The minor number of the version that this header belongs to.
pub const SYNCEDMEM_VERSION_MINOR: i32 = 1;
/// The patch number of the version that this header belongs to.
pub const SYNCEDMEM_VERSION_PATCH: i32 = 0;

/// The name of a `syncedmem_status_t`, such as "SYNCEDMEM_ERROR_NO_GPU"; of another number, "unknown status".
/// The string lives for ever.
#[expect(unsafe_code, reason = "a C function")]
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_status_name(status: i32) -> *const c_char {
    let known = NAMES.iter().find(|(number, _)| *number as i32 == status);
    known.map_or(c"unknown status".as_ptr(), |(_, name)| name.as_ptr())
}

/// What went wrong in the calling thread's last call that failed, as a sentence: what was asked, what is wrong,
/// what to do. Empty if none has failed. Calls that succeed leave it as it is. The string lives until the next
/// call that fails on this thread, or the thread's end.
#[expect(unsafe_code, reason = "a C function")]
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_last_error() -> *const c_char {
    per_thread::last_error()
}

/// The version of the library that runs, such as "1.2.3". The string lives for ever.
#[expect(unsafe_code, reason = "a C function")]
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_version_is_the_packages() {
        let numbers = [SYNCEDMEM_VERSION_MAJOR, SYNCEDMEM_VERSION_MINOR, SYNCEDMEM_VERSION_PATCH];
        assert_eq!(numbers.map(|n| n.to_string()).join("."), env!("CARGO_PKG_VERSION"));
    }
}
