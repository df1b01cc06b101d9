//! Files as slices: programs, libraries and debug information, of which little is read.
#![expect(unsafe_code, reason = "mmap(2)")]

use std::io;
use std::path::Path;

use memmap2::Mmap;

/// `None`: it is a folder, a pipe or a device. A recording may come from elsewhere and name anything.
pub fn open(path: &Path) -> io::Result<Option<Mmap>> {
    let Some((file, _)) = caffemodel::open_regular(path)? else { return Ok(None) };
    // SAFETY: linkers and package managers replace such files instead of writing to them, because programs have them mapped, too.
    unsafe { Mmap::map(&file) }.map(Some)
}
