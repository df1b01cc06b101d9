//! The output of a command: standard output, a pipe or a device, or a file, which gets its name when it is complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use syncedmem_core::new_file::NewFile;

use crate::{say, signals};

/// The name of standard input and of standard output.
pub const STANDARD: &str = "-";

/// Number of links that are followed, as by the kernel.
const MOST_LINKS: usize = 40;

pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// Calls `write` with the output that `path` names. An error of standard output is ignored here: `say::end` reports it.
pub fn to<E: From<io::Error>>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
    match place(path) {
        Destination::Standard => match write(&mut say::Output) {
            Err(_) if say::is_output_in_trouble() => Ok(()),
            written => written,
        },
        Destination::There(path) => write(&mut File::options().append(true).open(path)?),
        Destination::New(path) => {
            let mut file = new_file(&path)?;
            write(&mut file)?;
            Ok(file.publish()?)
        }
    }
}

pub fn all(path: &Path, contents: &[u8]) -> io::Result<()> {
    to(path, |output| output.write_all(contents))
}

/// Creates a file, which a signal that ends this process removes. A link of the name is replaced.
pub fn new_file(path: &Path) -> io::Result<NewFile> {
    signals::remove_new_files_of(path);
    NewFile::new(path)
}

pub fn is_standard_output(path: &Path) -> bool {
    matches!(place(path), Destination::Standard)
}

enum Destination {
    Standard,
    /// A pipe or a device, or an open file of this process, such as /dev/stderr.
    There(PathBuf),
    New(PathBuf),
}

/// Follows links, also to a file that does not exist yet.
fn place(path: &Path) -> Destination {
    if is_standard(path) {
        return Destination::Standard;
    }
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        let folder = path.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
        let (Some(Ok(folder)), Some(name)) = (folder.map(fs::canonicalize), path.file_name()) else { break };
        // A link in /proc stands for an open file; its text may name no file.
        if folder.starts_with("/proc") {
            let is_output = folder.join(name) == Path::new(&format!("/proc/{}/fd/1", std::process::id()));
            return if is_output { Destination::Standard } else { Destination::There(path) };
        }
        path = folder.join(target);
    }
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        Destination::There(path)
    } else {
        Destination::New(path)
    }
}
