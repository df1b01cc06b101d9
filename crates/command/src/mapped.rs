//! Files as slices: programs, libraries and debug information, of which little is read.
#![expect(unsafe_code, reason = "mmap(2)")]

use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// `None`: it is a folder, a pipe or a device. A recording may come from elsewhere and name anything.
///
/// Private, as the dynamic linker maps programs: some file systems have no shared mappings.
pub fn open(path: &Path) -> io::Result<Option<Mmap>> {
    let Some((file, _)) = caffemodel::open_regular(path)? else { return Ok(None) };
    // SAFETY: linkers and package managers replace such files instead of writing to them, because programs have them
    // mapped, too. A file that is truncated all the same ends this command by SIGBUS: so recordings and models, which
    // another process may be writing, are read and not mapped.
    unsafe { MmapOptions::new().map_copy_read_only(&file) }.map(Some)
}
