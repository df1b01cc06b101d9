//! Finds the names of functions that their files do not export. The process recorded addresses; the symbol tables of the files
//! have more names than the dynamic linker knows.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::PathBuf;

use object::Object;
use object::elf::{STT_FUNC, Sym64};
use object::read::elf::Sym;
use syncedmem_caffe_file::entries::name_at;
use syncedmem_trace::event::Site;

use crate::parts::{self, Elf};

/// A file that the process had loaded.
#[derive(Clone, Debug)]
pub struct Module {
    /// The difference between an address in memory and in the file.
    pub bias: u64,
    /// Empty if the file has none.
    pub build_id: Vec<u8>,
    pub path: PathBuf,
}

/// The return addresses of a process's call sites.
#[derive(Default)]
pub struct Stacks {
    pub modules: Vec<Module>,
    /// Return addresses, the innermost first.
    pub addresses: HashMap<Site, Vec<u64>>,
}

impl Stacks {
    /// Replaces `program+0x1234`, and `the program+0x1234`, by `train (program)`.
    pub fn name(self, places: &mut HashMap<Site, String>) {
        // Functions by the place of their module in the list.
        let mut functions = HashMap::new();
        for (site, place) in places {
            let addresses = self.addresses.get(site).map_or(&[][..], Vec::as_slice);
            let Some((at, call)) = self.call(place, addresses) else { continue };
            let module = &self.modules[at];
            let functions = functions.entry(at).or_insert_with(|| module.functions().unwrap_or_default());
            if let Some(function) = functions.at(call) {
                *place = format!("{} ({})", plain(function), module.name());
            }
        }
    }

    /// Returns the module of a call that the place names by its address, and the address in the file.
    fn call(&self, place: &str, addresses: &[u64]) -> Option<(usize, u64)> {
        let (name, offset) = place.rsplit_once("+0x")?;
        let call = u64::from_str_radix(offset, 16).ok()?;
        let is_called = |module: &Module| {
            let is_named = name == "the program" || module.name() == name;
            // If the call is the last instruction of its function, the return address lies after the function.
            is_named && addresses.iter().any(|address| module.bias.checked_add(call + 1) == Some(*address))
        };
        Some((self.modules.iter().position(is_called)?, call))
    }
}

#[derive(Default)]
struct Functions {
    /// Ranges of addresses, sorted, with the offsets of the names.
    ranges: Vec<(Range<u64>, u32)>,
    names: Vec<u8>,
}

impl Functions {
    fn at(&self, address: u64) -> Option<&str> {
        let behind = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, name) = self.ranges.get(behind.checked_sub(1)?)?;
        std::str::from_utf8(name_at(&self.names, *name)?).ok().filter(|_| range.contains(&address))
    }
}

impl Module {
    fn name(&self) -> String {
        self.path.file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
    }

    /// `None` if the file is gone, or was replaced since it was loaded.
    fn functions(&self) -> Option<Functions> {
        let file = parts::open(&self.path).ok().flatten()?;
        let elf = Elf::parse(&file).ok()?;
        if elf.build_id().ok()?.unwrap_or_default() != self.build_id {
            return None;
        }
        let (table, endian) = (elf.elf_symbol_table(), elf.endian());
        let names = parts::names(&elf, table);
        // A symbol without a size would stand for everything after it.
        let is_function = |symbol: &&Sym64<_>| {
            symbol.st_type() == STT_FUNC && symbol.is_definition(endian) && symbol.st_size(endian) > 0
        };
        let ranged = |symbol: &Sym64<_>| {
            let begin = symbol.st_value(endian);
            (begin..begin.saturating_add(symbol.st_size(endian)), symbol.st_name(endian))
        };
        let mut ranges: Vec<_> = table.iter().filter(is_function).map(ranged).collect();
        // If a function has several names, the first in the alphabet.
        ranges.sort_by(|(a, one), (b, other)| {
            (a.start, a.end, name_at(names, *one)).cmp(&(b.start, b.end, name_at(names, *other)))
        });
        ranges.dedup_by(|(later, _), (earlier, _)| later.start == earlier.start);
        Some(Functions { ranges, names: names.to_vec() })
    }
}

/// A name without parameters and return type, as in the library's own texts.
fn plain(name: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        return format!("{name:#}");
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let symbol = cpp_demangle::Symbol::new(name).ok();
    symbol.and_then(|symbol| symbol.demangle(&options).ok()).unwrap_or_else(|| name.to_string())
}
