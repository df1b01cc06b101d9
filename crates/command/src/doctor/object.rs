//! One ELF file: the functions of Caffe's memory in it, and whether its own calls can be replaced.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use object::read::RelocationTarget;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, Object as _, ObjectSection, ReadRef, SectionKind, elf};

use syncedmem_caffe_file::entries::name_at;
use syncedmem_caffe_file::limit::Limit;
use syncedmem_caffe_file::{entries, hooks};

use super::names as known;
use crate::parts::{self, Elf, Table, names};

#[derive(Debug)]
pub enum Unreadable {
    File(io::Error),
    /// The interpreter of a file that begins with `#!`.
    Script(PathBuf),
    NotElf,
    /// ELF of another class, byte order or machine than this command's.
    OtherMachine(String),
    Broken(object::Error),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Unreadable::File(error) => error.fmt(formatter),
            Unreadable::Script(interpreter) => {
                write!(formatter, "it is a script that {} runs", interpreter.display())
            }
            Unreadable::NotElf => formatter.write_str("it is neither a program, nor a shared library, nor a script"),
            Unreadable::OtherMachine(which) => write!(formatter, "it is for {which}"),
            Unreadable::Broken(error) => write!(formatter, "its ELF tables cannot be read: {error}"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub defined: bool,
    /// The dynamic linker knows its name.
    pub dynamic: bool,
    /// The file's own calls go through the dynamic linker, so they can be replaced.
    pub relocated: bool,
}

#[derive(Debug, Default)]
pub struct Object {
    pub path: PathBuf,
    pub interpreter: Option<PathBuf>,
    pub is_program: bool,
    pub needed: Vec<String>,
    pub rpath: Vec<OsString>,
    pub runpath: Vec<OsString>,
    /// Linked with `-Bsymbolic`: the dynamic linker looks in the file itself first.
    pub symbolic: bool,
    /// The functions that [`known::tells`], by mangled name.
    pub functions: BTreeMap<String, Function>,
    /// How many of them can be replaced at their entries: all that the file defines, or none.
    pub entries: usize,
    /// If they can: how many functions of nets and solvers can be, too, for the names of layers, or what keeps them from it.
    pub hooks: Option<Result<usize, Limit>>,
    /// What keeps them from being replaced.
    pub limit: Option<Limit>,
    /// It defines other parts of Caffe: such a library should call `SyncedMemory`.
    pub has_caffe: bool,
    /// It exports the C API of this library.
    pub is_ours: bool,
    /// It is this library, or is linked with the static one.
    pub has_ours: bool,
    /// The newest `GLIBC_2.x` among its names: the C library offers it, others need it.
    pub glibc: Option<u32>,
    pub opens_libraries: bool,
}

/// Text that the checks of Caffe's own `syncedmem.cpp` print: identifies a file without names.
pub const CAFFES_WORDS: &[u8] = b"syncedmem.cpp";
/// Text of this library. A file with this library has Caffe's text as well.
pub const OUR_WORDS: &[u8] = b"libsyncedmem: ";

impl Object {
    pub fn read(path: &Path) -> Result<Object, Unreadable> {
        let file = parts::open(path).map_err(Unreadable::File)?.ok_or(Unreadable::NotElf)?;
        check_beginning(file.beginning())?;
        let elf = Elf::parse(&file).map_err(Unreadable::Broken)?;
        let (entries, limit) = match entries::find(&file) {
            Ok(entries) => (entries.iter().flatten().count(), None),
            Err(limit) => (0, Some(limit)),
        };
        let count_hooks = || hooks::find(&file).map(|hooks| hooks.iter().flatten().count());
        let hooks = limit.is_none().then(count_hooks);
        let mut found = Object { path: path.to_path_buf(), entries, hooks, limit, ..Object::default() };
        found.read_headers(&elf).map_err(Unreadable::Broken)?;
        found.read_symbols(&elf);
        Ok(found)
    }

    fn read_headers(&mut self, elf: &Elf<'_>) -> object::Result<()> {
        let (endian, data, headers) = (elf.endian(), elf.data(), elf.elf_program_headers());
        self.is_program = elf.elf_header().e_type(endian) == elf::ET_EXEC;
        let first = |kind| headers.iter().find(|header| header.p_type(endian) == kind);
        if let Some(interpreter) = first(elf::PT_INTERP).map(|header| header.interpreter(endian, data)).transpose()? {
            self.interpreter = interpreter.map(|path| OsString::from_vec(path.to_vec()).into());
            self.is_program = true;
        }
        let dynamic = first(elf::PT_DYNAMIC).map(|header| header.dynamic(endian, data)).transpose()?.flatten();
        let texts = names(elf, elf.elf_dynamic_symbol_table());
        let (mut rpath, mut runpath) = (None, None);
        for entry in dynamic.unwrap_or_default() {
            let (tag, value) = (entry.tag32(endian).unwrap_or(0), entry.d_val(endian));
            match tag {
                elf::DT_NULL => break,
                elf::DT_NEEDED => {
                    let name = name_at(texts, value as u32).unwrap_or_default();
                    self.needed.push(String::from_utf8_lossy(name).into_owned());
                }
                elf::DT_RPATH => rpath = Some(value as usize),
                elf::DT_RUNPATH => runpath = Some(value as usize),
                elf::DT_SYMBOLIC => self.symbolic = true,
                elf::DT_FLAGS => self.symbolic |= value & u64::from(elf::DF_SYMBOLIC) != 0,
                // A static, position-independent program names no interpreter, but has this flag.
                elf::DT_FLAGS_1 => self.is_program |= value & u64::from(elf::DF_1_PIE) != 0,
                _ => {}
            }
        }
        let text = |at: usize| texts.get(at..)?.split(|&byte| byte == 0).next();
        [self.rpath, self.runpath] = [rpath, runpath].map(|at| at.and_then(text).map(folders).unwrap_or_default());
        Ok(())
    }

    fn read_symbols(&mut self, elf: &Elf<'_>) {
        let endian = elf.endian();
        // Only the full table, which strip removes, has names that the dynamic linker does not know.
        for (symbol, name) in named(elf, elf.elf_symbol_table()) {
            self.has_ours |= name.starts_with(b"syncedmem_") && symbol.is_definition(endian);
            if let Some(function) = self.function(name) {
                function.defined |= symbol.is_definition(endian);
            }
        }
        for (symbol, name) in named(elf, elf.elf_dynamic_symbol_table()) {
            let is_definition = symbol.is_definition(endian);
            self.has_ours |= name.starts_with(b"syncedmem_") && is_definition;
            self.is_ours |= name == b"syncedmem_version" && is_definition;
            self.opens_libraries |= name == b"dlopen" && !is_definition;
            if let Some(function) = self.function(name) {
                function.dynamic = true;
                function.defined |= is_definition;
            }
        }
        if !self.functions.is_empty() {
            self.read_relocations(elf);
        }
        let texts = names(elf, elf.elf_dynamic_symbol_table());
        self.glibc = texts.split(|&byte| byte == 0).filter_map(glibc_version).max();
    }

    fn read_relocations(&mut self, elf: &Elf<'_>) {
        let (symbols, texts) = (elf.elf_dynamic_symbol_table(), names(elf, elf.elf_dynamic_symbol_table()));
        // Sections may overlap: the file bounds how many relocations are read.
        let most = elf.data().len().unwrap_or(0) as usize / size_of::<elf::Rel64<Endianness>>();
        for (_, relocation) in elf.dynamic_relocations().into_iter().flatten().take(most) {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let Ok(symbol) = symbols.symbol(index) else { continue };
            if let Some(function) = name_at(texts, symbol.st_name(elf.endian())).and_then(|name| self.function(name)) {
                function.relocated = true;
            }
        }
    }

    fn function(&mut self, name: &[u8]) -> Option<&mut Function> {
        if !name.starts_with(known::CAFFE) {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        self.has_caffe |= name.starts_with(known::BLOB) || name.starts_with(known::NET);
        known::tells(name).then(|| self.functions.entry(name.to_owned()).or_default())
    }

    /// Whether the text is in the file's read-only data.
    pub fn says(&self, words: &[u8]) -> bool {
        let Ok(Some(file)) = parts::open(&self.path) else { return false };
        let Ok(elf) = Elf::parse(&file) else { return false };
        let is_text = |kind| matches!(kind, SectionKind::ReadOnlyString | SectionKind::ReadOnlyData);
        let sections = elf.sections().filter(|section| is_text(section.kind()));
        let mut ranges: Vec<_> = sections.filter_map(|section| section.file_range()).collect();
        ranges.sort_unstable();
        // Those of a damaged file overlap.
        let mut read = 0;
        ranges.into_iter().any(|(begin, bytes)| {
            let range = begin.max(read)..begin.saturating_add(bytes);
            read = read.max(range.end);
            file.says(words, range)
        })
    }

    /// Whether it has the code of `SyncedMemory`.
    pub fn defines(&self) -> bool {
        known::ACCESSORS.iter().any(|&name| self.functions.get(name).is_some_and(|function| function.defined))
    }

    /// Whether it calls `SyncedMemory` in another file.
    pub fn imports(&self) -> bool {
        self.memory().any(|(_, function)| !function.defined && function.dynamic)
    }

    pub fn memory(&self) -> impl Iterator<Item = (&str, &Function)> {
        let functions = self.functions.iter().map(|(name, function)| (name.as_str(), function));
        functions.filter(|(name, _)| name.starts_with(known::MEMORY))
    }

    pub fn has(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }
}

/// The table's symbols and their names.
fn named<'f>(elf: &Elf<'f>, table: &Table<'f>) -> impl Iterator<Item = (&'f elf::Sym64<Endianness>, &'f [u8])> {
    let (texts, endian) = (names(elf, table), elf.endian());
    table.iter().filter_map(move |symbol| Some((symbol, name_at(texts, symbol.st_name(endian))?)))
}

fn check_beginning(beginning: &[u8]) -> Result<(), Unreadable> {
    if let Some(line) = beginning.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let mut words = line.split(|&byte| byte == b' ' || byte == b'\t');
        let mut interpreter = words.next().unwrap_or_default();
        if interpreter.ends_with(b"/env") {
            interpreter = words.find(|word| !word.starts_with(b"-") && !word.is_empty()).unwrap_or(interpreter);
        }
        return Err(Unreadable::Script(OsString::from_vec(interpreter.to_vec()).into()));
    }
    if !beginning.starts_with(&elf::ELFMAG) || beginning.len() < 20 {
        return Err(Unreadable::NotElf);
    }
    let wide = beginning[4] == elf::ELFCLASS64;
    let little = beginning[5] == elf::ELFDATA2LSB;
    let machine = [beginning[18], beginning[19]];
    let machine = if little { u16::from_le_bytes(machine) } else { u16::from_be_bytes(machine) };
    let here = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 };
    if wide && little && machine == here {
        return Ok(());
    }
    let name = match machine {
        elf::EM_386 => "32-bit x86".to_owned(),
        elf::EM_X86_64 if wide => "x86-64".to_owned(),
        elf::EM_X86_64 => "x32".to_owned(),
        elf::EM_AARCH64 => "64-bit ARM".to_owned(),
        elf::EM_ARM => "32-bit ARM".to_owned(),
        elf::EM_PPC64 => "64-bit POWER".to_owned(),
        other => format!("machine {other} (ELF's number)"),
    };
    Err(Unreadable::OtherMachine(format!("{name}, and this is {}", std::env::consts::ARCH)))
}

fn folders(list: &[u8]) -> Vec<OsString> {
    list.split(|&byte| byte == b':')
        .filter(|folder| !folder.is_empty())
        .map(|f| OsString::from_vec(f.to_vec()))
        .collect()
}

/// 17 for `GLIBC_2.17`.
fn glibc_version(name: &[u8]) -> Option<u32> {
    let minor = name.strip_prefix(b"GLIBC_2.")?;
    std::str::from_utf8(minor.split(|&byte| byte == b'.').next()?).ok()?.parse().ok()
}
