//! The file of a loaded object, mapped.
#![expect(unsafe_code, reason = "open(2) and mmap(2), without std's allocations")]

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use crate::platform::file;
use crate::platform::file_error::FileError;

pub struct File {
    begin: *mut c_void,
    bytes: usize,
}

impl File {
    /// Follows links, because the loader has opened the same path.
    pub fn open(path: &CStr) -> Result<File, FileError> {
        const ACCESS: i32 = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: the path is NUL-terminated. The call is a `syscall`, because open(2) is a cancellation point.
        let opened = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), ACCESS) };
        let descriptor = file::result(opened)? as i32;
        let mapped = file::status(descriptor).and_then(|status| File::map(descriptor, status.st_size as usize));
        file::close(descriptor);
        mapped
    }

    fn map(descriptor: i32, bytes: usize) -> Result<File, FileError> {
        // SAFETY: the kernel places the new mapping where nothing is.
        let begin = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ, libc::MAP_PRIVATE, descriptor, 0) };
        if begin == libc::MAP_FAILED {
            return Err(FileError::System(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)));
        }
        Ok(File { begin, bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `map` made the mapping, which `drop` ends. Linkers and package managers replace a file that is executed
        // instead of writing to it, because the kernel maps the program's own code from it too.
        unsafe { std::slice::from_raw_parts(self.begin.cast(), self.bytes) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: nothing refers to it any more.
        unsafe { libc::munmap(self.begin, self.bytes) };
    }
}
