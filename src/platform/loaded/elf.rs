//! Exports of a loaded object, from the tables of the ELF specification and the GNU hash table, which all common linkers
//! write. An object without a GNU hash table is skipped. `dlsym` would search dependencies too, and wait for each `dlopen`
//! that is under way.
#![expect(unsafe_code, reason = "the tables of a mapped object are read")]

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::ptr::{NonNull, with_exposed_provenance};

use libc::{Elf64_Phdr, Elf64_Sym, PT_DYNAMIC};

use super::segment;

#[repr(C)]
#[derive(Clone, Copy)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// The loader writes the address of the symbol in `info` at `offset` from the object's base.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

const DT_NULL: i64 = 0;
const DT_NEEDED: i64 = 1;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_SONAME: i64 = 14;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// Section number of imported symbols.
const SHN_UNDEF: u16 = 0;
const STT_OBJECT: u8 = 1;
const STT_FUNC: u8 = 2;

/// Types of relocations by a symbol's address: the absolute one, GLOB_DAT and JUMP_SLOT.
#[cfg(target_arch = "x86_64")]
const ADDRESSES: [u32; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const ADDRESSES: [u32; 3] = [257, 1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ADDRESSES: [u32; 0] = [];

/// Words before the Bloom filter.
const HEADER: usize = 4;

pub struct Reference {
    /// The object's own entry for a foreign function, in programs at a fixed address: the address in the whole process.
    pub entry: Option<usize>,
    /// The word that the loader wrote: before the first call of a lazily bound function, an address in the object itself.
    pub word: usize,
}

pub struct Symbols<'o> {
    base: usize,
    names: usize,
    symbols: usize,
    hash: usize,
    /// Address and number of the relocations of data, and of those of functions.
    relocations: [(usize, usize); 2],
    /// Address and number of entries of the dynamic section.
    section: (usize, usize),
    object: PhantomData<&'o Elf64_Phdr>,
}

impl<'o> Symbols<'o> {
    /// `None` if the object lacks the tables.
    ///
    /// # Safety
    /// The mapping contract: the headers are those of an object that is mapped at `base` for all of `'o`.
    pub unsafe fn of(headers: &'o [Elf64_Phdr], base: usize) -> Option<Self> {
        let within = |address: usize| segment::contains(headers, base, address, 1);
        let section = headers.iter().find(|header| header.p_type == PT_DYNAMIC)?;
        let begin = base.wrapping_add(section.p_vaddr as usize);
        let (mut names, mut symbols, mut hash) = (None, None, None);
        let mut relocations = [(0, 0); 2];
        let entries = section.p_memsz as usize / size_of::<Dynamic>();
        for index in 0..entries {
            // SAFETY: the entry lies in the dynamic section, which the mapping contract covers.
            let entry: Dynamic = unsafe { read(begin, index) };
            let value = entry.value as usize;
            // Some loaders leave the offset; most replace it by the address.
            let address = Some(value).filter(|&value| within(value)).unwrap_or(base.wrapping_add(value));
            match entry.tag {
                DT_NULL => break,
                DT_STRTAB => names = Some(address),
                DT_SYMTAB => symbols = Some(address),
                DT_GNU_HASH => hash = Some(address),
                DT_RELA => relocations[0].0 = address,
                DT_RELASZ => relocations[0].1 = value / size_of::<Relocation>(),
                DT_JMPREL => relocations[1].0 = address,
                DT_PLTRELSZ => relocations[1].1 = value / size_of::<Relocation>(),
                _ => {}
            }
        }
        for table in &mut relocations {
            if !within(table.0) {
                *table = (0, 0);
            }
        }
        let (names, symbols, hash) = (names?, symbols?, hash?);
        let found = Symbols { base, names, symbols, hash, relocations, section: (begin, entries), object: PhantomData };
        [found.names, found.symbols, found.hash].into_iter().all(within).then_some(found)
    }

    pub fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let [buckets, first, words, shift] = [0, 1, 2, 3].map(|index| self.hash_word(index));
        let (buckets, first, words) = (buckets as usize, first as usize, words as usize);
        if buckets == 0 || words == 0 {
            return None;
        }
        let hash = gnu_hash(name);
        // A Bloom filter of 64-bit words ends most searches here.
        // SAFETY: the table's header gives the number of its words, which the mapping contract covers.
        let filter: u64 = unsafe { read(self.hash + HEADER * size_of::<u32>(), hash as usize / 64 % words) };
        if filter >> (hash % 64) & filter >> (hash.wrapping_shr(shift) % 64) & 1 == 0 {
            return None;
        }
        let chains = HEADER + 2 * words + buckets;
        let mut index = self.hash_word(HEADER + 2 * words + hash as usize % buckets) as usize;
        if index < first {
            return None;
        }
        loop {
            let link = self.hash_word(chains + index - first);
            let found = if link | 1 == hash | 1 { self.symbol_if(index, name) } else { None };
            // The lowest bit marks the end of a chain.
            if found.is_some() || link & 1 == 1 {
                return found;
            }
            index += 1;
        }
    }

    pub fn references(&self, name: &CStr) -> impl Iterator<Item = Reference> {
        let tables = self.relocations.into_iter();
        // SAFETY: the dynamic section gives address and number of entries, which the mapping contract covers.
        let all = tables.flat_map(|(table, count)| (0..count).map(move |at| unsafe { read::<Relocation>(table, at) }));
        all.filter_map(move |relocation| {
            let (symbol, kind) = ((relocation.info >> 32) as usize, relocation.info as u32);
            let word = self.base.wrapping_add(relocation.offset as usize);
            if symbol == 0 || !ADDRESSES.contains(&kind) || word % align_of::<usize>() != 0 {
                return None;
            }
            let symbol = self.symbol(symbol);
            if self.name(&symbol) != name {
                return None;
            }
            let has_entry = symbol.st_shndx == SHN_UNDEF && symbol.st_value != 0;
            let entry = has_entry.then(|| self.base.wrapping_add(symbol.st_value as usize));
            // SAFETY: the loader wrote this word, and the program reads it.
            Some(Reference { entry, word: unsafe { read(word, 0) } })
        })
    }

    pub fn needed(&self) -> impl Iterator<Item = &'o CStr> {
        self.strings(DT_NEEDED)
    }

    pub fn own_name(&self) -> Option<&'o CStr> {
        self.strings(DT_SONAME).next()
    }

    fn strings(&self, tag: i64) -> impl Iterator<Item = &'o CStr> {
        let (section, entries) = self.section;
        // SAFETY: the entry lies in the dynamic section, which the mapping contract covers.
        let all = (0..entries).map(move |index| unsafe { read::<Dynamic>(section, index) });
        let all = all.take_while(|entry| entry.tag != DT_NULL);
        all.filter(move |entry| entry.tag == tag).map(|entry| self.string(entry.value as usize))
    }

    pub fn function_at(&self, address: usize) -> Option<&'o CStr> {
        self.exported().find_map(|index| {
            let symbol = self.symbol(index);
            let begin = self.base.wrapping_add(symbol.st_value as usize);
            let has_it = symbol.st_info & 0xf == STT_FUNC
                && symbol.st_shndx != SHN_UNDEF
                && address.wrapping_sub(begin) < symbol.st_size as usize;
            has_it.then(|| self.name(&symbol))
        })
    }

    /// Indices of the exported symbols: from the first one to the end of the last chain.
    fn exported(&self) -> std::ops::Range<usize> {
        let [buckets, first, words] = [0, 1, 2].map(|index| self.hash_word(index) as usize);
        let begin = HEADER + 2 * words;
        let last = (0..buckets).map(|bucket| self.hash_word(begin + bucket) as usize).max().unwrap_or(0);
        if last < first {
            return 0..0;
        }
        let chains = begin + buckets;
        let ends = |index: &usize| self.hash_word(chains + index - first) & 1 == 1;
        first..(last..).find(ends).map_or(last, |end| end + 1)
    }

    fn hash_word(&self, index: usize) -> u32 {
        // SAFETY: the table's header gives the number of words, which the mapping contract covers.
        unsafe { read(self.hash, index) }
    }

    fn symbol(&self, index: usize) -> Elf64_Sym {
        // SAFETY: the hash table and relocations contain indices of existing symbols, which the mapping contract covers.
        unsafe { read(self.symbols, index) }
    }

    fn symbol_if(&self, index: usize, name: &CStr) -> Option<NonNull<c_void>> {
        let symbol = self.symbol(index);
        let is_defined = symbol.st_shndx != SHN_UNDEF && matches!(symbol.st_info & 0xf, STT_FUNC | STT_OBJECT);
        let address = self.base.wrapping_add(symbol.st_value as usize);
        let found = is_defined && self.name(&symbol) == name;
        found.then(|| NonNull::new(std::ptr::with_exposed_provenance_mut(address)))?
    }

    fn name(&self, symbol: &Elf64_Sym) -> &'o CStr {
        self.string(symbol.st_name as usize)
    }

    fn string(&self, offset: usize) -> &'o CStr {
        let name = with_exposed_provenance::<c_char>(self.names + offset);
        // SAFETY: the offset comes from the object's own tables, whose strings are NUL-terminated and which the mapping
        // contract covers.
        unsafe { CStr::from_ptr(name) }
    }
}

/// # Safety
/// Element `index` of the array at `address` exists and is aligned.
unsafe fn read<T: Copy>(address: usize, index: usize) -> T {
    // SAFETY: the caller of `read` guarantees the element.
    unsafe { with_exposed_provenance::<T>(address + index * size_of::<T>()).read() }
}

fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::loaded;

    fn find_in(object: &str, name: &CStr) -> Option<NonNull<c_void>> {
        let is_it = |each: &loaded::Object| each.name().to_string_lossy().contains(object);
        loaded::find_map(|each| is_it(each).then(|| each.symbols()?.find(name))).flatten()
    }

    #[test]
    fn names_hash_as_the_linker_hashes_them() {
        assert_eq!(gnu_hash(c""), 0x1505);
        assert_eq!(gnu_hash(c"printf"), 0x156b_2bb8);
    }

    #[test]
    fn functions_and_variables_are_where_dlsym_finds_them() {
        for name in [c"malloc", c"getenv", c"environ", c"strtol"] {
            // SAFETY: any name may be asked for.
            let expected = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            assert_eq!(find_in("libc.so", name).map_or(std::ptr::null_mut(), NonNull::as_ptr), expected, "{name:?}");
        }
    }

    #[test]
    fn a_symbol_is_found_only_in_objects_that_export_it() {
        assert!(find_in("libgcc_s", c"_Unwind_Resume").is_some());
        assert_eq!(find_in("libgcc_s", c"malloc"), None, "an import");
        for name in [c"", c"_ZN5caffe5Caffe3GetEv", c"no such name"] {
            assert_eq!(find_in("libc.so", name), None, "{name:?}");
        }
    }
}
