//! Files of which parts are read: programs, libraries and debug information. They are not mapped: if another process truncates a
//! mapped file, this command would end by SIGBUS.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use object::elf::FileHeader64;
use object::read::elf::{ElfFile64, SectionHeader, SymbolTable};
use object::{Endianness, ReadCache, ReadRef};

/// The tables of a damaged file may overlap, and each is kept. So at most this many times the bytes of the file are read.
const TIMES: u64 = 8;
/// Bytes that are read at most. A file with holes may be larger than the disk.
const MOST: u64 = 4 << 30;
const BLOCK: usize = 1 << 20;

/// A file that keeps the parts that were read.
pub struct Parts {
    cache: ReadCache<Arc<File>>,
    file: Arc<File>,
    /// Bytes that may still be read.
    left: Cell<u64>,
}

pub type Elf<'p> = ElfFile64<'p, Endianness, &'p Parts>;
pub type Table<'p> = SymbolTable<'p, FileHeader64<Endianness>, &'p Parts>;

/// The section with the names of a table.
pub fn names<'p>(elf: &Elf<'p>, table: &Table<'p>) -> &'p [u8] {
    let section = elf.elf_section_table().section(table.string_section());
    section.and_then(|section| section.data(elf.endian(), elf.data())).unwrap_or_default()
}

/// Opens a file. `None`: it is a folder, a pipe or a device. A recording of another machine may name anything.
pub fn open(path: &Path) -> io::Result<Option<Parts>> {
    let Some((file, bytes)) = caffemodel::open_regular(path)? else { return Ok(None) };
    let (file, left) = (Arc::new(file), Cell::new(bytes.saturating_mul(TIMES).min(MOST)));
    Ok(Some(Parts { cache: ReadCache::new(Arc::clone(&file)), file, left }))
}

impl Parts {
    /// The first bytes of the file.
    pub fn beginning(&self) -> &[u8] {
        const PAGE: u64 = 4096;
        let bytes = self.len().unwrap_or(0).min(PAGE);
        self.read_bytes_at(0, bytes).unwrap_or_default()
    }

    /// Whether the range contains the words.
    pub fn says(&self, words: &[u8], Range { mut start, end }: Range<u64>) -> bool {
        let (mut block, mut kept) = (vec![0; BLOCK], 0);
        while start < end {
            let room = (BLOCK - kept).min(usize::try_from(end - start).unwrap_or(BLOCK));
            let Ok(read @ 1..) = self.file.read_at(&mut block[kept..kept + room], start) else { return false };
            let found = &block[..kept + read];
            if found.windows(words.len()).any(|window| window == words) {
                return true;
            }
            // The words may end in the next block.
            let from = found.len().saturating_sub(words.len() - 1);
            block.copy_within(from..kept + read, 0);
            (kept, start) = (kept + read - from, start + read as u64);
        }
        false
    }
}

impl<'p> ReadRef<'p> for &'p Parts {
    fn len(self) -> Result<u64, ()> {
        self.cache.len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'p [u8], ()> {
        self.left.set(self.left.get().checked_sub(size).ok_or(())?);
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'p [u8], ()> {
        self.cache.read_bytes_at_until(range, delimiter)
    }
}
