//! A file that appears under its name once it is whole.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Written beside its place under another name; removed unless it is published.
pub struct NewFile {
    file: File,
    temporary: PathBuf,
    wanted: PathBuf,
    is_published: bool,
}

impl NewFile {
    pub fn new(wanted: &Path) -> io::Result<Self> {
        let name =
            wanted.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is no file's name"))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let temporary = wanted.with_file_name(hidden);
        let file = File::create_new(&temporary)?;
        Ok(Self { file, temporary, wanted: wanted.to_path_buf(), is_published: false })
    }

    /// Gives the file its name, once its contents are on the disk.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.temporary, &self.wanted)?;
        self.is_published = true;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_published {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}
