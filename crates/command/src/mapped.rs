//! Files as slices: those of programs, libraries and their debug information are large, and little of each is read.
#![expect(unsafe_code, reason = "mmap(2)")]

use std::io;
use std::path::Path;

use memmap2::Mmap;

/// `None`: it is a folder, a pipe or a device. A recording may come from elsewhere and name anything.
pub fn open(path: &Path) -> io::Result<Option<Mmap>> {
    let Some((file, _)) = caffemodel::open_regular(path)? else { return Ok(None) };
    // SAFETY: linkers and package managers replace such files instead of writing to them, because programs have them mapped as
    // well. The `object` crate checks what it reads, so that other contents would yield an error.
    unsafe { Mmap::map(&file) }.map(Some)
}
