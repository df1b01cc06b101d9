//! Zip archives of files that are not compressed, of any size, written as they come.

use std::io::{self, Seek, SeekFrom, Write};

use crc32fast::Hasher;

/// From here on a size or an offset has 64 bits in a field of its own, and this in its place.
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
    /// `LARGE`, but in a test.
    large: u64,
}

/// A file of the archive while it is written.
pub struct Entry<'a, W: Write + Seek> {
    archive: &'a mut Archive<W>,
    file: Listed,
    hasher: Hasher,
}

impl<W: Write + Seek> Archive<W> {
    pub fn new(out: W) -> Self {
        Self { out, files: Vec::new(), end: 0, large: LARGE }
    }

    /// Begins a file of `bytes`, which are to be written to the entry.
    pub fn begin(&mut self, name: String, bytes: u64) -> io::Result<Entry<'_, W>> {
        let file = Listed { name, bytes, offset: self.end, checksum: 0 };
        // The checksum follows when the file has ended.
        self.put(&local(&file, self.large)?)?;
        Ok(Entry { archive: self, file, hasher: Hasher::new() })
    }

    /// Writes the list of the files.
    pub fn end(mut self) -> io::Result<()> {
        let start = self.end;
        for file in std::mem::take(&mut self.files) {
            self.put(&central(&file, self.large)?)?;
            self.files.push(file);
        }
        let (count, bytes, end) = (self.files.len() as u64, self.end - start, self.end);
        if count >= u64::from(u16::MAX) || end >= self.large {
            self.put(&end_64(count, bytes, start, end))?;
        }
        let count = (count.min(u64::from(u16::MAX)) as u16).to_le_bytes();
        let [bytes, start] = [bytes, start].map(|value| narrow(value, self.large));
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
        let Archive { out, end, files, large } = self.archive;
        out.seek(SeekFrom::Start(self.file.offset))?;
        out.write_all(&local(&self.file, *large)?)?;
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

/// A number in 32 bits, or what says that it is elsewhere.
fn narrow(value: u64, large: u64) -> [u8; 4] {
    (if value >= large { LARGE } else { value } as u32).to_le_bytes()
}

/// What a file's entries have in common, from the flags to the lengths of its name and of the fields behind it.
fn common(file: &Listed, extra: &[u8], large: u64) -> io::Result<Vec<u8>> {
    let length = |bytes: usize| u16::try_from(bytes).map_err(|_| io::Error::other("a name is too long for an archive"));
    let bytes = narrow(file.bytes, large);
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
fn sizes(file: &Listed, large: u64) -> Vec<u64> {
    if file.bytes >= large { vec![file.bytes; 2] } else { Vec::new() }
}

/// What lies before a file.
fn local(file: &Listed, large: u64) -> io::Result<Vec<u8>> {
    let extra = extra(&sizes(file, large));
    Ok([b"PK\x03\x04", &common(file, &extra, large)?[..], file.name.as_bytes(), &extra].concat())
}

/// A file's entry in the list.
fn central(file: &Listed, large: u64) -> io::Result<Vec<u8>> {
    let mut numbers = sizes(file, large);
    numbers.extend(Some(file.offset).filter(|offset| *offset >= large));
    let extra = extra(&numbers);
    let offset = narrow(file.offset, large);
    let common = common(file, &extra, large)?;
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::Command;

    use super::*;

    #[test]
    fn pythons_zipfile_reads_archives_of_any_size() {
        let path = std::env::temp_dir().join(format!("syncedmem-zip-{}", std::process::id()));
        // With 64-bit fields for none, for the second file's offset, and for all.
        for large in [LARGE, 100, 1] {
            let mut archive = Archive { large, ..Archive::new(File::create(&path).unwrap()) };
            for (name, contents) in [("first/a.npy", &[7; 90][..]), ("second.npy", b"123456789"), ("none", b"")] {
                let mut entry = archive.begin(name.to_string(), contents.len() as u64).unwrap();
                entry.write_all(contents).unwrap();
                entry.end().unwrap();
            }
            archive.end().unwrap();
            let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None\n\
                print([(file.filename, file.file_size, file.header_offset > 0) for file in z.infolist()])";
            let output = Command::new("python3").args(["-c", script]).arg(&path).output().unwrap();
            let expected = "[('first/a.npy', 90, False), ('second.npy', 9, True), ('none', 0, True)]\n";
            let [said, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
            assert_eq!((said.as_str(), error.as_str()), (expected, ""), "fields of 64 bits from {large} on");
        }
        std::fs::remove_file(path).unwrap();
    }
}
