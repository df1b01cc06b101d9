//! The entries of the functions of `SyncedMemory` in a file, by its tables of symbols.

use std::ffi::CStr;

use object::Endianness;
use object::elf::{FileHeader64, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, Sym};

use crate::generation::Signs;
use crate::jump::{Jump, MACHINE, room};
use crate::limit::Limit;
use crate::names::{ACCESSORS, DESTRUCTORS, FUNCTIONS, OURS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static CStr,
    /// Of the entry, from the address at which the file is loaded.
    pub address: u64,
    /// Of the entry in the file.
    pub offset: usize,
    /// Bytes of the function.
    pub size: usize,
    /// Bytes that may be replaced.
    pub room: usize,
}

/// By the function's index in `FUNCTIONS`.
pub type Entries = [Option<Entry>; FUNCTIONS.len()];

type Header = FileHeader64<Endianness>;

/// All functions that the file defines, if each of them can be replaced.
pub fn find(file: &[u8]) -> Result<Entries, Limit> {
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
    // An object of which one function is not replaced would have two masters.
    let needed = (0..ACCESSORS).chain(DESTRUCTORS.into_iter().filter(|_| !DESTRUCTORS.into_iter().any(has)));
    if let Some(missing) = needed.into_iter().find(|&index| !has(index)) {
        return Err(Limit::Missing(FUNCTIONS[missing]));
    }
    entries.iter().flatten().try_for_each(|entry| judge(file, entry, &entries))?;
    Ok(entries)
}

fn judge(file: &[u8], entry: &Entry, entries: &Entries) -> Result<(), Limit> {
    let jump = Jump::far(file.get(entry.offset..).unwrap_or_default(), 0).bytes().len();
    if entry.room < jump {
        return Err(Limit::TooShort { function: entry.name, room: entry.room, jump });
    }
    let is_folded = |other: &&Entry| other.address == entry.address && !are_variants(other.name, entry.name);
    match entries.iter().flatten().find(is_folded) {
        Some(other) => Err(Limit::Folded(entry.name, other.name)),
        None => Ok(()),
    }
}

/// A constructor or destructor of a complete object and that of a base: one function in a class without virtual bases.
fn are_variants(one: &CStr, other: &CStr) -> bool {
    let (one, other) = (one.to_bytes(), other.to_bytes());
    let is_number = |byte: &u8| *byte == b'1' || *byte == b'2';
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a == b || is_number(a) && is_number(b))
}

fn read(file: &[u8], entries: &mut Entries, signs: &mut Signs) -> Result<(), Limit> {
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
pub struct Symbol<'f> {
    pub name: &'f str,
    /// From the address at which the file is loaded.
    pub address: u64,
    /// Bytes.
    pub size: usize,
    /// Its bytes, and all behind it in the file; `None` if the file has none.
    code: Option<&'f [u8]>,
    file: &'f [u8],
}

impl Symbol<'_> {
    /// Fills the place of one function, which has one entry.
    pub fn enter(&self, name: &'static CStr, place: &mut Option<Entry>) -> Result<(), Limit> {
        let code = self.code.ok_or(Limit::Broken)?;
        let offset = self.file.len() - code.len();
        let entry =
            Entry { name, address: self.address, offset, size: self.size, room: room(code, self.address, self.size) };
        if place.is_some_and(|other| other != entry) {
            return Err(Limit::Divided(name));
        }
        *place = Some(entry);
        Ok(())
    }
}

/// Visits all functions and variables that the file defines and names, some twice.
pub fn symbols<'f>(file: &'f [u8], mut visit: impl FnMut(Symbol<'f>) -> Result<(), Limit>) -> Result<(), Limit> {
    let header = Header::parse(file).map_err(|_| Limit::Broken)?;
    let endian = header.endian().map_err(|_| Limit::Broken)?;
    if header.e_machine(endian) != MACHINE {
        return Err(Limit::OtherMachine);
    }
    let segments = header.program_headers(endian, file).map_err(|_| Limit::Broken)?;
    // The address of a program is its own; a library's first segment may lie above 0 as well.
    let offset_of = |address: u64| {
        let of = |segment: &<Header as FileHeader>::ProgramHeader| {
            let from = address.checked_sub(segment.p_vaddr(endian))?;
            let is_here = segment.p_type(endian) == PT_LOAD && from < segment.p_filesz(endian);
            is_here.then(|| segment.p_offset(endian).checked_add(from))?
        };
        segments.iter().find_map(of)
    };
    let sections = header.sections(endian, file).map_err(|_| Limit::Broken)?;
    for table in [SHT_DYNSYM, SHT_SYMTAB] {
        let symbols = sections.symbols(endian, file, table).map_err(|_| Limit::Broken)?;
        for symbol in symbols.iter().filter(|it| it.is_definition(endian)) {
            let name = symbol.name(endian, symbols.strings()).ok().and_then(|name| std::str::from_utf8(name).ok());
            let Some(name) = name else { continue };
            let (address, size) = (symbol.st_value(endian), symbol.st_size(endian) as usize);
            let offset = offset_of(address).and_then(|offset| usize::try_from(offset).ok());
            let code = offset.and_then(|offset| file.get(offset..));
            visit(Symbol { name, address, size, code, file })?;
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
    use super::*;

    #[test]
    fn complete_objects_and_bases_have_one_function() {
        assert!(are_variants(c"_ZN5caffe12SyncedMemoryC1Em", c"_ZN5caffe12SyncedMemoryC2Em"));
        assert!(are_variants(c"_ZN5caffe12SyncedMemoryD2Ev", c"_ZN5caffe12SyncedMemoryD1Ev"));
        assert!(!are_variants(c"_ZN5caffe12SyncedMemoryC1Em", c"_ZN5caffe12SyncedMemoryC1Ev"));
        assert!(!are_variants(c"_ZN5caffe12SyncedMemory8cpu_dataEv", c"_ZN5caffe12SyncedMemory8gpu_dataEv"));
    }

    #[test]
    fn a_part_that_others_may_call_is_told_from_one_that_they_may_not() {
        assert_eq!(index_of("_ZN5caffe12SyncedMemory8cpu_dataEv", &FUNCTIONS), Ok(Some(0)));
        assert_eq!(index_of("_ZN5caffe12SyncedMemory8cpu_dataEv.cold", &FUNCTIONS), Ok(None));
        assert_eq!(
            index_of("_ZN5caffe12SyncedMemory8cpu_dataEv.part.0", &FUNCTIONS),
            Err(Limit::Divided(FUNCTIONS[0]))
        );
        assert_eq!(index_of("_ZN5caffe12SyncedMemory6to_cpuEv.part.0", &FUNCTIONS), Ok(None));
        assert_eq!(index_of("memcpy", &FUNCTIONS), Ok(None));
    }

    #[test]
    fn what_is_no_elf_file_is_broken() {
        assert_eq!(find(b"#!/bin/sh"), Err(Limit::Broken));
        assert_eq!(find(&[]), Err(Limit::Broken));
    }
}
