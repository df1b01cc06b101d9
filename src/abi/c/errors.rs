//! Error sentences, status names, and the version.

use std::ffi::c_char;

use crate::abi::per_thread;
use crate::abi::status::NAMES;

/// The major version of this header.
pub const SYNCEDMEM_VERSION_MAJOR: i32 = 0;
/// The minor version of this header.
pub const SYNCEDMEM_VERSION_MINOR: i32 = 1;
/// The patch version of this header.
pub const SYNCEDMEM_VERSION_PATCH: i32 = 0;

/// The name of a `syncedmem_status_t`, such as "SYNCEDMEM_ERROR_NO_GPU"; "unknown status" for other numbers. The string
/// is static.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_status_name(status: i32) -> *const c_char {
    let known = NAMES.iter().find(|(number, _)| *number as i32 == status);
    known.map_or(c"unknown status".as_ptr(), |(_, name)| name.as_ptr())
}

/// The sentence of the calling thread's last failed call; empty without one. It lives until the thread's next failed
/// call, or its end.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_last_error() -> *const c_char {
    per_thread::last_error()
}

/// The version of the running library, such as "1.2.3". The string is static.
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
