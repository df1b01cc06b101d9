//! The entries of the functions of `SyncedMemory` in a file, by its tables of symbols.

use std::ffi::CStr;

use object::elf::{FileHeader64, PT_LOAD, ProgramHeader64, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, ReadRef};

use crate::generation::Signs;
use crate::jump::{Jump, MACHINE, is_padding, padding};
use crate::limit::Limit;
use crate::names::{ACCESSORS, DESTRUCTORS, FUNCTIONS, OURS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static CStr,
    /// Address of the entry, relative to the load address.
    pub address: u64,
    /// Offset of the entry in the file.
    pub offset: usize,
    /// Bytes of the function.
    pub size: usize,
    /// Bytes that may be replaced.
    pub room: usize,
}

/// Entries by index in `FUNCTIONS`.
pub type Entries = [Option<Entry>; FUNCTIONS.len()];

type Header = FileHeader64<Endianness>;

/// All functions that the file defines, if each of them can be replaced.
pub fn find<'f>(file: impl ReadRef<'f>) -> Result<Entries, Limit> {
    let (mut entries, mut signs) = ([None; FUNCTIONS.len()], Signs::default());
    read(file, &mut entries, &mut signs)?;
    let entries = entries;
    let generation = signs.generation().ok_or(Limit::NoNames)?;
    if !generation.is_served {
        return Err(Limit::OtherLayout(generation.of));
    }
    let has = |index: usize| entries[index].is_some();
    if !(0..ACCESSORS).any(has) {
        return Err(Limit::NoNames);
    }
    // All functions must be replaced: two libraries cannot share an object.
    let needed = (0..ACCESSORS).chain(DESTRUCTORS.into_iter().filter(|_| !DESTRUCTORS.into_iter().any(has)));
    if let Some(missing) = needed.into_iter().find(|&index| !has(index)) {
        return Err(Limit::Missing(FUNCTIONS[missing]));
    }
    judge(file, entries.iter().flatten().map(|entry| (entry, jump(file, entry))))?;
    Ok(entries)
}

/// Bytes of the jump at this entry.
pub fn jump<'f>(file: impl ReadRef<'f>, entry: &Entry) -> usize {
    let begin = file.read_bytes_at(entry.offset as u64, entry.room.min(LANDING_MARK) as u64).unwrap_or_default();
    Jump::far(begin, 0).bytes().len()
}

/// Whether in each of these functions so many first bytes can be replaced.
pub fn judge<'f, 'e>(
    file: impl ReadRef<'f>,
    functions: impl Iterator<Item = (&'e Entry, usize)> + Clone,
) -> Result<(), Limit> {
    let end = |entry: &Entry, replaced: usize| entry.address.saturating_add(entry.size.max(replaced) as u64);
    for (entry, replaced) in functions.clone() {
        if entry.room < replaced {
            return Err(Limit::TooShort { function: entry.name, room: entry.room, jump: replaced });
        }
        for (other, _) in functions.clone().filter(|(other, _)| other.name != entry.name) {
            if other.address == entry.address && !are_variants(other.name, entry.name) {
                return Err(Limit::Folded(entry.name, other.name));
            }
            if other.address > entry.address && other.address < end(entry, replaced) {
                return Err(Limit::Overlap(entry.name, other.name));
            }
        }
    }
    symbols(file, |symbol| {
        let is_within = |(entry, replaced): &(&Entry, usize)| {
            symbol.is_function
                && symbol.address.checked_sub(entry.address).is_some_and(|at| at > 0 && at < *replaced as u64)
        };
        match functions.clone().find(is_within) {
            Some((entry, replaced)) => Err(Limit::Entered(entry.name, replaced)),
            None => Ok(()),
        }
    })
}

/// A constructor or destructor of a complete object and that of a base: one function in a class without virtual bases.
fn are_variants(one: &CStr, other: &CStr) -> bool {
    let (one, other) = (one.to_bytes(), other.to_bytes());
    let is_number = |byte: &u8| *byte == b'1' || *byte == b'2';
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b || is_number(a) && is_number(b))
}

fn read<'f>(file: impl ReadRef<'f>, entries: &mut Entries, signs: &mut Signs) -> Result<(), Limit> {
    symbols(file, |function| {
        if function.name == OURS {
            return Err(Limit::Ours);
        }
        signs.see(function.name);
        let Some(index) = index_of(function.name, &FUNCTIONS)? else { return Ok(()) };
        function.enter(FUNCTIONS[index], &mut entries[index])
    })
}

/// A function or a variable that a file defines.
pub struct Symbol<'f, R> {
    /// The first [`LONGEST`] bytes of the name.
    pub name: &'f str,
    /// Relative to the load address.
    pub address: u64,
    /// Bytes.
    pub size: usize,
    is_function: bool,
    segments: &'f [ProgramHeader64<Endianness>],
    endian: Endianness,
    file: R,
}

impl<'f, R: ReadRef<'f>> Symbol<'f, R> {
    /// Fills the place of one function, which has one entry.
    pub fn enter(&self, name: &'static CStr, place: &mut Option<Entry>) -> Result<(), Limit> {
        if let Some(other) = place {
            let is_same = (other.address, other.size) == (self.address, self.size);
            return if is_same { Ok(()) } else { Err(Limit::Divided(name)) };
        }
        let offset = self.offset().ok_or(Limit::Broken)?;
        *place = Some(Entry { name, address: self.address, offset, size: self.size, room: self.room(offset) });
        Ok(())
    }

    /// Offset in the file. Addresses of a program, and of a library whose first segment is above 0, are not offsets.
    fn offset(&self) -> Option<usize> {
        let of = |segment: &ProgramHeader64<Endianness>| {
            let from = self.address.checked_sub(segment.p_vaddr(self.endian))?;
            let is_here = segment.p_type(self.endian) == PT_LOAD && from < segment.p_filesz(self.endian);
            is_here.then(|| segment.p_offset(self.endian).checked_add(from))?
        };
        let offset = self.segments.iter().find_map(of)?;
        usize::try_from(offset).ok().filter(|_| self.file.len().is_ok_and(|length| offset <= length))
    }

    /// Bytes from the entry that no other function uses: the function's own, and the padding after it.
    fn room(&self, offset: usize) -> usize {
        let padding = self.address.checked_add(self.size as u64).and_then(padding).unwrap_or(0);
        let after = offset.checked_add(self.size).and_then(|end| self.file.read_bytes_at(end as u64, padding).ok());
        match after {
            Some(after) if is_padding(after) => self.size + after.len(),
            _ => self.size.min(self.file.len().map_or(0, |length| length as usize - offset)),
        }
    }
}

/// Bytes of the longest landing mark.
const LANDING_MARK: usize = 4;

/// Bytes of a name that are looked at. The names of many symbols may be one text without end.
pub const LONGEST: usize = 4096;

/// The name at an offset of a table of texts, or its beginning.
pub fn name_at(texts: &[u8], offset: u32) -> Option<&[u8]> {
    let text = texts.get(offset as usize..)?;
    let text = &text[..text.len().min(LONGEST)];
    Some(CStr::from_bytes_until_nul(text).map_or(text, CStr::to_bytes))
}

/// Visits all functions and variables that the file defines and names, some twice.
pub fn symbols<'f, R: ReadRef<'f>>(
    file: R,
    mut visit: impl FnMut(Symbol<'f, R>) -> Result<(), Limit>,
) -> Result<(), Limit> {
    let header = Header::parse(file).map_err(|_| Limit::Broken)?;
    let endian = header.endian().map_err(|_| Limit::Broken)?;
    if header.e_machine(endian) != MACHINE {
        return Err(Limit::OtherMachine);
    }
    let segments = header.program_headers(endian, file).map_err(|_| Limit::Broken)?;
    let sections = header.sections(endian, file).map_err(|_| Limit::Broken)?;
    for table in [SHT_DYNSYM, SHT_SYMTAB] {
        let symbols = sections.symbols(endian, file, table).map_err(|_| Limit::Broken)?;
        let texts = sections.section(symbols.string_section()).and_then(|section| section.data(endian, file));
        let texts = texts.unwrap_or_default();
        for symbol in symbols.iter().filter(|it| it.is_definition(endian)) {
            let name = name_at(texts, symbol.st_name(endian)).and_then(|name| std::str::from_utf8(name).ok());
            let Some(name) = name else { continue };
            let (address, size) = (symbol.st_value(endian), symbol.st_size(endian) as usize);
            let is_function = symbol.st_type() == STT_FUNC;
            visit(Symbol { name, address, size, is_function, segments, endian, file })?;
        }
    }
    Ok(())
}

/// An error for a part of a function, such as `….part.0`. One that is seldom executed (`.cold`) is entered only from the function, and
/// `.localalias` is another name of the entry.
pub fn index_of(name: &str, functions: &[&'static CStr]) -> Result<Option<usize>, Limit> {
    let (whole, part) = name.split_once('.').unwrap_or((name, ""));
    let found = functions.iter().position(|function| function.to_bytes() == whole.as_bytes());
    match found {
        Some(index) if !["", "cold", "localalias"].contains(&part) => Err(Limit::Divided(functions[index])),
        _ => Ok(found.filter(|_| part.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::Range;

    use super::*;

    #[test]
    fn complete_objects_and_bases_have_one_function() {
        assert!(are_variants(c"_ZN5caffe12SyncedMemoryC1Em", c"_ZN5caffe12SyncedMemoryC2Em"));
        assert!(are_variants(c"_ZN5caffe12SyncedMemoryD2Ev", c"_ZN5caffe12SyncedMemoryD1Ev"));
        assert!(!are_variants(c"_ZN5caffe12SyncedMemoryC1Em", c"_ZN5caffe12SyncedMemoryC1Ev"));
        assert!(!are_variants(c"_ZN5caffe12SyncedMemory8cpu_dataEv", c"_ZN5caffe12SyncedMemory8gpu_dataEv"));
    }

    #[test]
    fn a_part_that_others_may_call_is_distinguished_from_one_that_they_may_not() {
        assert_eq!(index_of("_ZN5caffe12SyncedMemory8cpu_dataEv", &FUNCTIONS), Ok(Some(0)));
        assert_eq!(index_of("_ZN5caffe12SyncedMemory8cpu_dataEv.cold", &FUNCTIONS), Ok(None));
        assert_eq!(
            index_of("_ZN5caffe12SyncedMemory8cpu_dataEv.part.0", &FUNCTIONS),
            Err(Limit::Divided(FUNCTIONS[0]))
        );
        assert_eq!(index_of("_ZN5caffe12SyncedMemory6to_cpuEv.part.0", &FUNCTIONS), Ok(None));
        assert_eq!(index_of("memcpy", &FUNCTIONS), Ok(None));
    }

    /// A file whose full table has functions of these names, addresses and sizes, and 256 bytes of code at address 0. The last name has
    /// no end.
    fn file(functions: &[(u32, u64, u64)], names: &[u8]) -> Vec<u8> {
        const HEADERS: u64 = 64 + 56 + 3 * 64;
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let (symbols, code) = (24 * functions.len() as u64, [0x53; 256]);
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        // A library; where the segments and sections are described, and how many there are of 56 and 64 bytes.
        file.extend(words(&[
            3 | u64::from(MACHINE) << 16 | 1 << 32,
            0,
            64,
            120,
            64 << 32 | 56 << 48,
            1 | 64 << 16 | 3 << 32 | 2 << 48,
        ]));
        file.extend(words(&[PT_LOAD.into(), HEADERS, 0, 0, 256, 256, 16]));
        file.extend([0; 64]);
        file.extend(words(&[u64::from(SHT_SYMTAB) << 32, 0, 0, HEADERS + 256, symbols, 2, 8, 24]));
        file.extend(words(&[3 << 32, 0, 0, HEADERS + 256 + symbols, names.len() as u64, 0, 1, 0]));
        file.extend(code);
        // Global functions of section 1.
        let symbol =
            |&(name, address, size): &(u32, u64, u64)| words(&[u64::from(name) | 0x12 << 32 | 1 << 48, address, size]);
        file.extend(functions.iter().flat_map(symbol));
        file.extend(names);
        file
    }

    /// Counts the bytes that are read.
    #[derive(Clone, Copy)]
    struct Counted<'c>(&'c [u8], &'c Cell<u64>);

    impl<'c> ReadRef<'c> for Counted<'c> {
        fn len(self) -> Result<u64, ()> {
            Ok(self.0.len() as u64)
        }

        fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'c [u8], ()> {
            self.1.set(self.1.get() + size);
            self.0.read_bytes_at(offset, size)
        }

        fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'c [u8], ()> {
            let found = self.0.read_bytes_at_until(range.clone(), delimiter);
            self.1.set(self.1.get() + found.map_or(range.end - range.start, |found| found.len() as u64));
            found
        }
    }

    #[test]
    fn a_bounded_part_is_read_of_many_names_that_are_one_long_text() {
        const COUNT: u32 = 1000;
        let functions: Vec<_> = (0..COUNT).map(|at| (at, 0, 16)).collect();
        let file = file(&functions, &vec![b'a'; 100_000]);
        let (read, mut names) = (Cell::new(0), 0);
        let visited = symbols(Counted(&file, &read), |symbol| {
            names += symbol.name.len();
            Ok(())
        });
        assert_eq!(visited, Ok(()));
        assert_eq!(names, COUNT as usize * LONGEST);
        assert!(read.get() <= 2 * file.len() as u64, "{} bytes of {}", read.get(), file.len());
    }

    #[test]
    fn a_functions_room_ends_with_the_file_and_with_the_numbers() {
        let room = |address, size| {
            let (file, mut place) = (file(&[(0, address, size)], b"f\0"), None);
            symbols(&file[..], |symbol| symbol.enter(c"f", &mut place)).map(|()| place.map(|entry| entry.room))
        };
        assert_eq!(room(0x40, 16), Ok(Some(16)));
        assert_eq!(room(0x40, 8), Ok(Some(8)), "another function follows");
        // 256 bytes of code, a symbol and the name follow the headers.
        assert_eq!(room(0x40, u64::MAX), Ok(Some(256 - 0x40 + 24 + 2)));
        assert_eq!(room(u64::MAX, 1), Err(Limit::Broken), "in no segment");
    }

    #[test]
    fn a_file_that_is_not_elf_is_broken() {
        assert_eq!(find(&b"#!/bin/sh"[..]), Err(Limit::Broken));
        assert_eq!(find(&[][..]), Err(Limit::Broken));
    }
}
