//! New files.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file beside its place under another name, removed unless it is published. Until then a file of the name stays. The
/// mode is 0666 less the umask.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    temporary: PathBuf,
    wanted: PathBuf,
    is_published: bool,
}

/// Files of this process so far.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Names that killed processes of this number may have left.
const MOST_TAKEN: usize = 1000;

impl NewFile {
    /// Creates the file that becomes `wanted`.
    ///
    /// # Errors
    /// Of the system; and if `wanted` is a folder, a pipe or a device, which would be replaced.
    pub fn new(wanted: &Path) -> io::Result<Self> {
        let refused = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        if wanted.file_name().is_none() {
            return refused("it is no file's name");
        }
        if std::fs::metadata(wanted).is_ok_and(|found| !found.is_file()) {
            return refused("it is a folder, a pipe or a device");
        }
        for _ in 0..MOST_TAKEN {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            // Not made of the name, which may be as long as names can be.
            let temporary = wanted.with_file_name(format!(".syncedmem-{}-{number}.tmp", std::process::id()));
            match File::create_new(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let wanted = wanted.to_path_buf();
                    return created.map(|file| Self { file, temporary, wanted, is_published: false });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives the file its name once its contents are on the disk.
    ///
    /// # Errors
    /// Of the system; a file that had the name is still there then.
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
