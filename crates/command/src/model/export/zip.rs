//! Zip archives of files that are not compressed, of any size, written as they come.

use std::io::{self, Seek, SeekFrom, Write};

use crc32fast::Hasher;

/// From here on a size or an offset has 64 bits in a field of its own.
const LARGE: u64 = u32::MAX as u64;
/// The version of the format that has such fields.
const VERSION: u16 = 45;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// The first of January 1980: archives of the same files are the same.
const DATE: u16 = 1 << 5 | 1;

struct Listed {
    name: String,
    bytes: u64,
    offset: u64,
    checksum: u32,
}

pub struct Archive<W: Write + Seek> {
    out: W,
    files: Vec<Listed>,
    /// Offset behind what is written.
    end: u64,
}

/// A file of the archive while it is written.
pub struct Entry<'a, W: Write + Seek> {
    archive: &'a mut Archive<W>,
    file: Listed,
    hasher: Hasher,
}

impl<W: Write + Seek> Archive<W> {
    pub fn new(out: W) -> Self {
        Self { out, files: Vec::new(), end: 0 }
    }

    /// Begins a file of `bytes`, which are to be written to the entry.
    pub fn begin(&mut self, name: String, bytes: u64) -> io::Result<Entry<'_, W>> {
        let file = Listed { name, bytes, offset: self.end, checksum: 0 };
        // The checksum follows when the file has ended.
        self.put(&local(&file)?)?;
        Ok(Entry { archive: self, file, hasher: Hasher::new() })
    }

    /// Writes the list of the files.
    pub fn end(mut self) -> io::Result<()> {
        let start = self.end;
        for file in std::mem::take(&mut self.files) {
            self.put(&central(&file)?)?;
            self.files.push(file);
        }
        let (count, bytes, end) = (self.files.len() as u64, self.end - start, self.end);
        if count >= u64::from(u16::MAX) || end >= LARGE {
            self.put(&end_64(count, bytes, start, end))?;
        }
        let count = (count.min(u64::from(u16::MAX)) as u16).to_le_bytes();
        let [bytes, start] = [bytes, start].map(|value| (value.min(LARGE) as u32).to_le_bytes());
        self.put(&[b"PK\x05\x06", &[0; 4][..], &count, &count, &bytes, &start, &[0; 2]].concat())?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

impl<W: Write + Seek> Entry<'_, W> {
    /// Ends the file: its checksum goes into what was written before it.
    pub fn end(mut self) -> io::Result<()> {
        self.file.checksum = self.hasher.finalize();
        let Archive { out, end, files } = self.archive;
        out.seek(SeekFrom::Start(self.file.offset))?;
        out.write_all(&local(&self.file)?)?;
        out.seek(SeekFrom::Start(*end))?;
        files.push(self.file);
        Ok(())
    }
}

impl<W: Write + Seek> Write for Entry<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.archive.put(bytes)?;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.archive.out.flush()
    }
}

/// What a file's entries have in common, from the flags to the lengths of its name and of the fields behind it.
fn common(file: &Listed, extra: &[u8]) -> io::Result<Vec<u8>> {
    let length = |bytes: usize| u16::try_from(bytes).map_err(|_| io::Error::other("a name is too long for an archive"));
    let bytes = (file.bytes.min(LARGE) as u32).to_le_bytes();
    let [name, extra] = [length(file.name.len())?, length(extra.len())?].map(u16::to_le_bytes);
    let [version, flags, date] = [VERSION, FLAGS, DATE].map(u16::to_le_bytes);
    // Method 0 and time 0.
    let parts = [&version[..], &flags, &[0; 4], &date, &file.checksum.to_le_bytes(), &bytes, &bytes, &name, &extra];
    Ok(parts.concat())
}

/// The field of 64-bit numbers.
fn extra(numbers: &[u64]) -> Vec<u8> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let head = [1, numbers.len() as u16 * 8].map(u16::to_le_bytes).concat();
    [head, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()].concat()
}

/// The size, compressed and not, if it needs 64 bits.
fn sizes(file: &Listed) -> Vec<u64> {
    if file.bytes >= LARGE { vec![file.bytes; 2] } else { Vec::new() }
}

/// What lies before a file.
fn local(file: &Listed) -> io::Result<Vec<u8>> {
    let extra = extra(&sizes(file));
    Ok([b"PK\x03\x04", &common(file, &extra)?[..], file.name.as_bytes(), &extra].concat())
}

/// A file's entry in the list.
fn central(file: &Listed) -> io::Result<Vec<u8>> {
    let mut large = sizes(file);
    large.extend(Some(file.offset).filter(|offset| *offset >= LARGE));
    let extra = extra(&large);
    let offset = (file.offset.min(LARGE) as u32).to_le_bytes();
    let common = common(file, &extra)?;
    // No comment, on the first disk, without attributes.
    let parts = [b"PK\x01\x02", &VERSION.to_le_bytes()[..], &common, &[0; 10], &offset, file.name.as_bytes(), &extra];
    Ok(parts.concat())
}

/// The end of a large archive's list, and where that end lies.
fn end_64(count: u64, bytes: u64, start: u64, end: u64) -> Vec<u8> {
    let [count, bytes, start, end] = [count, bytes, start, end].map(u64::to_le_bytes);
    let version = VERSION.to_le_bytes();
    // The record has 44 bytes behind its length.
    let record =
        [&b"PK\x06\x06"[..], &44u64.to_le_bytes(), &version, &version, &[0; 8], &count, &count, &bytes, &start];
    let place = [&b"PK\x06\x07"[..], &[0; 4], &end, &1u32.to_le_bytes()];
    [record.concat(), place.concat()].concat()
}
