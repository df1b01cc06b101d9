//! An ELF file: its functions of Caffe's memory, whether its own calls can be replaced, and which Caffe it is.

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
use syncedmem_caffe_file::generation::{Generation, Signs};
use syncedmem_caffe_file::limit::Limit;
use syncedmem_caffe_file::names::MEMORY;
use syncedmem_caffe_file::{entries, hooks};

use crate::parts::{self, Elf, Table, names};

#[derive(Debug)]
pub enum Unreadable {
    File(io::Error),
    /// The file begins with `#!` and this interpreter.
    Script(PathBuf),
    NotElf,
    /// The file is ELF of another class, byte order or machine.
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
    /// The file is linked with `-Bsymbolic`: the dynamic linker looks in the file itself first.
    pub symbolic: bool,
    /// The functions whose names [`tells`] accepts, by mangled name.
    pub functions: BTreeMap<String, Function>,
    /// Number of them that can be replaced at their entries: all that the file defines, or none.
    pub entries: usize,
    /// If they can be replaced: the number of functions of nets and solvers that can be replaced too, for the names of layers, or the
    /// reason why not.
    pub hooks: Option<Result<usize, Limit>>,
    /// The reason why they cannot be replaced.
    pub limit: Option<Limit>,
    /// The file defines other parts of Caffe: such a library should call `SyncedMemory`.
    pub has_caffe: bool,
    /// The file exports the C API of this library.
    pub is_ours: bool,
    /// The file is this library, or is linked with the static one.
    pub has_ours: bool,
    /// The newest `GLIBC_2.x` among its names: the C library offers it, other files need it.
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
                // A static, position-independent program names no interpreter, and has this flag.
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
        // Names that the dynamic linker does not know are only in the full table, which strip removes.
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
        // Sections may overlap: at most as many relocations are read as fit into the file.
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
        if !name.starts_with(b"_ZN") {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        self.has_caffe |= BLOB_AND_NET.iter().any(|begin| name.starts_with(begin));
        tells(name).then(|| self.functions.entry(name.to_owned()).or_default())
    }

    /// Whether the text is in the file's read-only data.
    pub fn says(&self, words: &[u8]) -> bool {
        let Ok(Some(file)) = parts::open(&self.path) else { return false };
        let Ok(elf) = Elf::parse(&file) else { return false };
        let is_text = |kind| matches!(kind, SectionKind::ReadOnlyString | SectionKind::ReadOnlyData);
        let sections = elf.sections().filter(|section| is_text(section.kind()));
        let mut ranges: Vec<_> = sections.filter_map(|section| section.file_range()).collect();
        ranges.sort_unstable();
        // The sections of a damaged file may overlap.
        let mut read = 0;
        ranges.into_iter().any(|(begin, bytes)| {
            let range = begin.max(read)..begin.saturating_add(bytes);
            read = read.max(range.end);
            file.says(words, range)
        })
    }

    /// Whether the file has the code of `SyncedMemory`.
    pub fn defines(&self) -> bool {
        ACCESSORS.iter().any(|&name| self.functions.get(name).is_some_and(|function| function.defined))
    }

    /// Whether the file calls `SyncedMemory` in another file.
    pub fn imports(&self) -> bool {
        self.memory().any(|(_, function)| !function.defined && function.dynamic)
    }

    pub fn memory(&self) -> impl Iterator<Item = (&str, &Function)> {
        let functions = self.functions.iter().map(|(name, function)| (name.as_str(), function));
        functions.filter(|(name, _)| name.starts_with(MEMORY))
    }

    fn has(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// `None` if the file has no names of `SyncedMemory`.
    pub fn generation(&self) -> Option<Generation> {
        let mut signs = Signs::default();
        self.memory().for_each(|(name, _)| signs.see(name));
        signs.generation()
    }

    /// Whether the file is a GPU build; `None` if its names do not show it.
    pub fn build(&self) -> Option<&'static str> {
        match GPU_MEMCPY.iter().any(|name| self.has(name)) {
            true => Some("a GPU build (it has caffe_gpu_memcpy)"),
            false => self.has_caffe.then_some("a CPU_ONLY build (it has no caffe_gpu_memcpy)"),
        }
    }

    pub fn is_nvidia(&self) -> bool {
        NVIDIA.iter().chain([&THREAD_COUNT]).any(|name| self.has(name))
    }
}

/// The beginnings of the names of `caffe::Blob` and `caffe::Net`.
const BLOB_AND_NET: [&str; 2] = ["_ZN5caffe4Blob", "_ZN5caffe3Net"];

/// Every version of Caffe defines these functions, and every user of them calls some.
pub const ACCESSORS: [&str; 4] = [
    "_ZN5caffe12SyncedMemory8cpu_dataEv",
    "_ZN5caffe12SyncedMemory8gpu_dataEv",
    "_ZN5caffe12SyncedMemory16mutable_cpu_dataEv",
    "_ZN5caffe12SyncedMemory16mutable_gpu_dataEv",
];

/// `caffe_gpu_memcpy`, which CPU_ONLY builds lack. From 0.16.6 on NVIDIA's has one more parameter.
const GPU_MEMCPY: [&str; 2] = ["_ZN5caffe16caffe_gpu_memcpyEmPKvPv", "_ZN5caffe16caffe_gpu_memcpyEmPKvPvi"];
/// Only NVIDIA's fork has these names, one for each series of releases.
const NVIDIA: [&str; 4] = [
    "_ZN5caffe13MemoryHandler3GetEv",
    "_ZN5caffe10gpu_memory11getPoolNameEv",
    "_ZN5caffe16GPUMemoryManager9pool_nameEv",
    "_ZN5caffe9GPUMemory4mgr_E",
];
/// Only NVIDIA's fork has this name, from 0.16.1 on.
const THREAD_COUNT: &str = "_ZN5caffe5Caffe13thread_count_E";

/// Whether a name distinguishes one Caffe from another.
fn tells(name: &str) -> bool {
    name.starts_with(MEMORY)
        || GPU_MEMCPY.contains(&name)
        || NVIDIA.contains(&name)
        || name == THREAD_COUNT
        || name.starts_with("_ZN5caffe15CaffeMallocHost")
}

/// The symbols of a table and their names.
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

/// The minor version in a name: 17 for `GLIBC_2.17`.
fn glibc_version(name: &[u8]) -> Option<u32> {
    let minor = name.strip_prefix(b"GLIBC_2.")?;
    std::str::from_utf8(minor.split(|&byte| byte == b'.').next()?).ok()?.parse().ok()
}
