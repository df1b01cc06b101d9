//! The machine: system and driver.
#![expect(unsafe_code, reason = "the library's C API, and a version from the C library")]

use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::Path;

use libloading::Library;

pub fn facts(library: Option<&Path>) -> [(&'static str, String); 2] {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    [
        ("system", format!("glibc {}, Linux {}, {}", glibc(), kernel.trim(), std::env::consts::ARCH)),
        ("GPU", library.map_or_else(|| "(unknown: the library looks for it)".into(), gpu)),
    ]
}

fn glibc() -> String {
    // SAFETY: the function has no preconditions.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: the C library returns a static, NUL-terminated string.
    unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned()
}

/// The library's own sentence.
fn gpu(library: &Path) -> String {
    type Status = unsafe extern "C" fn(*mut *const c_char) -> c_int;
    // SAFETY: libsyncedmem documents that a process may load it at any time.
    let loaded = unsafe { Library::new(library) };
    let library = match loaded {
        Ok(library) => library,
        Err(error) => return format!("(unknown: {error})"),
    };
    // SAFETY: syncedmem.h declares it so.
    let Ok(status) = (unsafe { library.get::<Status>(b"syncedmem_cuda_status\0") }) else {
        return "(unknown: this library is too old to say)".into();
    };
    let mut sentence: *const c_char = std::ptr::null();
    // SAFETY: `sentence` is writable.
    unsafe { status(&mut sentence) };
    if sentence.is_null() {
        return "(unknown: the library does not say)".into();
    }
    // SAFETY: the function documents a NUL-terminated string that lives until the process ends.
    unsafe { CStr::from_ptr(sentence) }.to_string_lossy().into_owned()
}
