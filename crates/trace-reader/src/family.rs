//! Finds the recordings that belong together: those of one run, or those in a folder.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use syncedmem_trace::recording::HEADER;
use syncedmem_trace::recording::header::{Header, NoHeader, is_unfinished};

use crate::ReadError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub path: PathBuf,
    pub process: u32,
    /// 0: none.
    pub parent: u32,
    pub run: u64,
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub start: u64,
}

/// The members, sorted by start, and the files that cannot be read.
type Found = (Vec<Member>, Vec<(PathBuf, ReadError)>);

/// Returns FILE and the recordings FILE.PID and FILE.PID.PID of its run, or all recordings in a folder.
pub fn of(path: &Path) -> Result<Found, ReadError> {
    if fs::metadata(path)?.is_dir() {
        let found = in_folder(path, |_| true)?;
        let is_foreign = |error: &ReadError| matches!(error, ReadError::Text | ReadError::Header(NoHeader::Foreign));
        let is_none = found.0.is_empty() && found.1.iter().all(|(_, error)| is_foreign(error));
        return if is_none { Err(ReadError::NoRecordings) } else { Ok(found) };
    }
    let first = read(path)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok((vec![first], Vec::new())) };
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    // If the folder cannot be listed, the file is the only member.
    let (mut members, _) = in_folder(folder, |other| is_numbered(other, name)).unwrap_or_default();
    members.retain(|member| member.run == first.run);
    members.push(first);
    Ok((sorted(members), Vec::new()))
}

fn in_folder(folder: &Path, is_wanted: impl Fn(&OsStr) -> bool) -> io::Result<Found> {
    let (mut members, mut unreadable) = Found::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_wanted(&entry.file_name()) && entry.file_type()?.is_file() {
            match read(&entry.path()) {
                Ok(member) => members.push(member),
                Err(error) => unreadable.push((entry.path(), error)),
            }
        }
    }
    unreadable.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok((sorted(members), unreadable))
}

/// Sorts by start: a process starts before those that it forks.
fn sorted(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_by_key(|member| (member.start, member.process));
    members
}

/// Whether `other` is `name` with numbers after points. Each execve adds a number.
fn is_numbered(other: &OsStr, name: &OsStr) -> bool {
    let numbers = other.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"."));
    let is_number = |number: &[u8]| !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    numbers.is_some_and(|numbers| numbers.split(|&byte| byte == b'.').all(is_number))
}

fn read(path: &Path) -> Result<Member, ReadError> {
    let Header { about, .. } = header(&File::open(path)?)?;
    Ok(Member {
        path: path.to_path_buf(),
        process: about.process,
        parent: about.parent,
        run: about.run,
        start: about.start,
    })
}

/// Does not move the file's position.
pub(crate) fn header(file: &File) -> Result<Header, ReadError> {
    // One byte more than a header: `is_unfinished` accepts only a file of exactly a header.
    let (mut page, mut length) = ([0; HEADER as usize + 1], 0);
    loop {
        match file.read_at(&mut page[length..], length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    header_in(&page[..length])
}

/// Reads the header at the beginning of a file. Pass one byte more than a header, if the file has it.
pub fn header_in(bytes: &[u8]) -> Result<Header, ReadError> {
    Header::read(bytes).map_err(|error| match (error, bytes.trim_ascii_start()) {
        (NoHeader::Foreign, _) if bytes.is_empty() || is_unfinished(bytes) => ReadError::Empty,
        (NoHeader::Foreign, [b'[' | b'{', ..]) if begins_as_text(bytes) => ReadError::Text,
        (error, _) => ReadError::Header(error),
    })
}

/// Whether the bytes are UTF-8. The end may cut a character.
fn begins_as_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).err().is_none_or(|error| error.error_len().is_none())
}
