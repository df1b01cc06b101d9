//! The file of `SYNCEDMEM_REPORT`. The first process of a run removes the report of an earlier run when it begins to count.
//! Each process, forked children too, appends its report.

use std::ffi::CStr;

use syncedmem_core::settings as table;

use crate::platform::file;
use crate::platform::file_error::FileError;
use crate::platform::file_name::Name;
use crate::platform::text::{append_to, is_stream, warn};
use crate::settings;

/// The beginning of a report. A file that begins otherwise is not emptied.
const OPENING: &[u8] = b"libsyncedmem: memory of ";

static NAME: Name = Name::empty();
static PATH: Name = Name::empty();

/// Returns whether a report is wanted. Called once, when the settings are read.
pub fn begin() -> bool {
    let Some(name) = settings::given(&table::REPORT) else { return false };
    // An error in the name is reported by `append`, once.
    let _ = with_path(name, |path| if is_stream(path) { Ok(()) } else { empty(path) });
    true
}

pub fn append(name: &CStr, report: &[u8]) {
    let written = with_path(name, |path| {
        append_to(path, table::REPORT.name(), "the report follows", report);
        Ok(())
    });
    if let Err(trouble) = written {
        warn(format_args!("{}: {trouble}; there is no report", table::REPORT.name()));
    }
}

/// Calls `then` with the path. Only one thread at a time calls this: the one that reads the settings, or the one that writes the report.
#[expect(unsafe_code, reason = "the path is kept in a static")]
fn with_path<R>(name: &CStr, then: impl FnOnce(&CStr) -> Result<R, FileError>) -> Result<R, FileError> {
    NAME.set(name)?;
    PATH.set_path(&NAME, std::process::id(), 0)?;
    // SAFETY: `set_path` succeeded, and its callers guarantee that no other thread changes the path.
    then(unsafe { PATH.as_c_str() })
}

fn empty(path: &CStr) -> Result<(), FileError> {
    let (descriptor, _) = file::open(path, libc::O_RDWR)?;
    let mut start = [0; OPENING.len()];
    let read = file::read_start(descriptor, &mut start);
    let emptied = read.and_then(|()| if start == OPENING { file::empty(descriptor) } else { Ok(()) });
    file::close(descriptor);
    emptied
}
