//! New files.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file beside its place under another name, removed unless it is published. Until then a file of the name stays. The
/// mode is that of the file that it replaces, if the same user owns both, else 0666 less the umask.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    temporary: PathBuf,
    wanted: PathBuf,
    is_published: bool,
}

/// How many files this process has made.
static NUMBER: AtomicU32 = AtomicU32::new(0);

fn prefix() -> String {
    format!(".syncedmem-{}-", std::process::id())
}

/// How many names may be taken: killed processes of this number may have left files.
const MOST_TAKEN: usize = 1000;

impl NewFile {
    /// Creates the file that becomes `wanted`.
    ///
    /// # Errors
    /// Errors of the system, and an error if `wanted` is a folder, a pipe or a device, which would be replaced.
    pub fn new(wanted: &Path) -> io::Result<Self> {
        let refused = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        if wanted.file_name().is_none() {
            return refused("it is no file's name");
        }
        let before = std::fs::metadata(wanted).ok();
        if before.as_ref().is_some_and(|found| !found.is_file()) {
            return refused("it is a folder, a pipe or a device");
        }
        for _ in 0..MOST_TAKEN {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            // The wanted name may have the greatest length, so it is no part of the temporary one.
            let temporary = wanted.with_file_name(format!("{}{number}.tmp", prefix()));
            match File::create_new(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let (file, wanted) = (created?, wanted.to_path_buf());
                    let new = Self { file, temporary, wanted, is_published: false };
                    new.take_mode(before);
                    return Ok(new);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn take_mode(&self, before: Option<Metadata>) {
        let is_of_one_user = |before: &Metadata| self.file.metadata().is_ok_and(|new| new.uid() == before.uid());
        if let Some(before) = before.filter(is_of_one_user) {
            // Ignored: some file systems have no modes.
            let _ = self.file.set_permissions(before.permissions());
        }
    }

    /// Removes the unpublished files of this process from a folder, for a program that a signal ends.
    pub fn remove_all(folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Gives the file its name once its contents are on the disk.
    ///
    /// # Errors
    /// Errors of the system. A file that had the name is still there then.
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
