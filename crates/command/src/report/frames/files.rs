//! Finds debug information, by the rules of GDB ("Debugging Information in Separate Files").

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use object::Object;

use crate::mapped;

const DEBUG: &str = "/usr/lib/debug";

pub struct Found {
    pub itself: PathBuf,
    /// Another file with its debug information.
    pub debug: Option<PathBuf>,
    /// The file with what several debug files share (dwz).
    pub shared: Option<PathBuf>,
}

/// The files of a module. `None` if its own is gone, or was replaced since it was loaded.
pub fn find(path: &Path, build_id: &[u8]) -> Option<Found> {
    find_below(Path::new(DEBUG), path, build_id)
}

pub fn find_below(folder: &Path, path: &Path, build_id: &[u8]) -> Option<Found> {
    let data = opened(path)?;
    let file = object::File::parse(&*data).ok()?;
    if file.build_id().ok()?.unwrap_or_default() != build_id {
        return None;
    }
    let itself = path.to_path_buf();
    if file.section_by_name(".debug_info").is_some() {
        return Some(Found { shared: shared(folder, &itself, &file), itself, debug: None });
    }
    let by_link = file.gnu_debuglink().ok().flatten().map(|(name, checksum)| (OsStr::from_bytes(name), checksum));
    let mut candidates = Vec::from_iter(by_build_id(folder, build_id).map(|path| (path, None)));
    if let (Some((name, checksum)), Some(beside)) =
        (by_link, path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_path_buf())))
    {
        let below = folder.join(beside.strip_prefix("/").unwrap_or(&beside));
        for place in [beside.join(name), beside.join(".debug").join(name), below.join(name)] {
            candidates.push((place, Some(checksum)));
        }
    }
    let debug = candidates.into_iter().find(|(path, checksum)| belongs(path, build_id, *checksum).is_some());
    let debug = debug.map(|(path, _)| path);
    let shared = debug.as_ref().and_then(|path| {
        let data = opened(path)?;
        shared(folder, path, &object::File::parse(&*data).ok()?)
    });
    Some(Found { itself, debug, shared })
}

pub fn opened(path: &Path) -> Option<Mmap> {
    mapped::open(path).ok().flatten()
}

/// `.build-id/ab/cdef….debug`
fn by_build_id(folder: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(folder.join(".build-id").join(format!("{first:02x}")).join(rest + ".debug"))
}

/// `Some` if a debug file is the module's, by its build id, else by its checksum.
fn belongs(path: &Path, build_id: &[u8], checksum: Option<u32>) -> Option<()> {
    let data = opened(path)?;
    let is_its = match object::File::parse(&*data).ok()?.build_id().ok()? {
        Some(id) => id == build_id,
        None => checksum == Some(crc32fast::hash(&data)),
    };
    is_its.then_some(())
}

/// The file that a debug file names for what it shares with others.
fn shared(folder: &Path, of: &Path, file: &object::File<'_>) -> Option<PathBuf> {
    let (name, build_id) = file.gnu_debugaltlink().ok()??;
    let beside = of.parent()?.join(OsStr::from_bytes(name));
    [Some(beside), by_build_id(folder, build_id)].into_iter().flatten().find(|path| path.is_file())
}
