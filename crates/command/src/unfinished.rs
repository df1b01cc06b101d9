//! Finds the folder in which a run keeps its recording until its end.

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Between the name of a recording and the numbers of its run, in the name of the folder beside it.
pub const RUN: &str = "-run-";

/// The folder of a run that has not given its recording the name: it still goes on, or was cut off.
#[derive(Debug)]
pub struct Unfinished {
    pub folder: PathBuf,
    process: u32,
    is_going_on: bool,
    /// There is a file of the name.
    pub has_earlier: bool,
}

impl Unfinished {
    /// One that goes on, else the newest; where there is a file, only one that goes on.
    pub fn of(file: &Path) -> Option<Unfinished> {
        let has_earlier = file.exists();
        let (name, folder) = (file.file_name()?, file.with_file_name("."));
        let name = [name.as_bytes(), RUN.as_bytes()].concat();
        let all = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
            let other = entry.file_name();
            let (process, _) = std::str::from_utf8(other.as_bytes().strip_prefix(&*name)?).ok()?.split_once('-')?;
            let process = process.parse().ok()?;
            let changed = entry.metadata().ok().filter(fs::Metadata::is_dir)?.modified().ok()?;
            let is_going_on = is_of_this_command(process);
            let found = Unfinished { folder: file.with_file_name(other), process, is_going_on, has_earlier };
            Some(((is_going_on, changed), found))
        });
        let newest = all.max_by_key(|(order, _)| *order).map(|(_, found)| found);
        newest.filter(|found| found.is_going_on || !has_earlier)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unfinished { folder, process, is_going_on, has_earlier } = self;
        let folder = folder.display();
        match (is_going_on, has_earlier) {
            (true, true) => {
                write!(f, "this is an earlier run: that of process {process} goes on, and records to {folder}")
            }
            (true, false) => {
                write!(f, "the run of process {process} goes on: this is what it has recorded to {folder}")
            }
            (false, _) => {
                write!(f, "the run of process {process} was cut off: this is what it had recorded to {folder}")
            }
        }
    }
}

/// By its name: numbers are used again.
fn is_of_this_command(process: u32) -> bool {
    let name = |process: &dyn fmt::Display| fs::read(format!("/proc/{process}/comm")).ok();
    name(&"self").is_some_and(|own| name(&process) == Some(own))
}
