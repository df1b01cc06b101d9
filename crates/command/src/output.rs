//! Where a command writes: standard output, a pipe or a device, or a file, which takes its name once it is whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use syncedmem_core::new_file::NewFile;

use crate::{say, signals};

/// Standard input, and standard output.
pub const STANDARD: &str = "-";

/// As many as the system follows.
const MOST_LINKS: usize = 40;

pub fn is_standard(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// `write` gets what `path` names. An error of standard output is none here: `say::end` reports it.
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

/// Also removed by a signal that ends this process. A link of the name is replaced.
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

/// Follows links, also to a file that is not there yet.
fn place(path: &Path) -> Destination {
    if is_standard(path) {
        return Destination::Standard;
    }
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        let folder = path.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
        let (Some(Ok(folder)), Some(name)) = (folder.map(fs::canonicalize), path.file_name()) else { break };
        // An open file has its name here; the link's text may name none.
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
