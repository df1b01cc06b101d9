//! Return addresses as functions, files and lines: names from symbol tables, lines from DWARF where there is any.

mod files;
mod stacks;
mod symbols;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use addr2line::Loader;
use serde::Serialize;

use files::Found;
pub use stacks::Stacks;
use symbols::Symbols;

/// A file that the process had loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// An address in memory less that in the file.
    pub bias: u64,
    /// Empty if it has none.
    pub build_id: Vec<u8>,
    pub path: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// Without parameters; `None` if no table has its name.
    pub function: Option<String>,
    /// File name of the module; empty if no module has the address.
    pub module: String,
    pub offset: u64,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The compiler made it a part of the next frame.
    pub inlined: bool,
}

impl fmt::Display for Frame {
    /// `caffe::Net<float>::Init at net.cpp:120 (libcaffe.so.1)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Frame { function, module, offset, file, line, inlined } = self;
        match function {
            Some(function) => f.write_str(function)?,
            None if module.is_empty() => return write!(f, "{offset:#x}"),
            None => write!(f, "{module}+{offset:#x}")?,
        }
        if let (Some(file), Some(line)) = (file, line) {
            write!(f, " at {file}:{line}")?;
        }
        if *inlined {
            f.write_str(", inlined")?;
        }
        if function.is_some() { write!(f, " ({module})") } else { Ok(()) }
    }
}

/// The modules of a process. Their files are read when an address needs them.
pub struct Resolver {
    modules: Vec<Loaded>,
}

struct Loaded {
    module: Module,
    file: OnceCell<Option<OpenedModule>>,
}

struct OpenedModule {
    found: Found,
    symbols: Symbols,
    /// Read when a line is asked for.
    lines: OnceCell<Option<Loader>>,
}

impl Resolver {
    pub fn new(modules: impl IntoIterator<Item = Module>) -> Resolver {
        let loaded = |module| Loaded { module, file: OnceCell::new() };
        let mut modules: Vec<_> = modules.into_iter().map(loaded).collect();
        modules.sort_by_key(|loaded| loaded.module.bias);
        Resolver { modules }
    }

    /// The frames of a return address, the innermost first: several where functions were inlined.
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let is_inside = |(loaded, offset): &(&Loaded, u64)| loaded.file().is_none_or(|file| file.symbols.has(*offset));
        let Some((loaded, offset)) = self.nearest(address).filter(is_inside) else {
            return vec![Frame { offset: address, ..Frame::default() }];
        };
        // The file may be gone, or replaced.
        let mut frames = loaded.file().map_or_else(|| vec![Frame::default()], |file| file.frames(offset));
        for frame in &mut frames {
            frame.module = loaded.name();
            frame.offset = offset + 1;
        }
        frames
    }

    /// The function that a return address is in.
    pub fn function(&self, address: u64) -> Option<String> {
        let (loaded, offset) = self.nearest(address)?;
        loaded.file()?.symbols.at(offset).map(plain)
    }

    /// The module that a return address may be in, and the call's address there.
    fn module_at(&self, address: u64) -> Option<(String, u64)> {
        self.nearest(address).map(|(loaded, offset)| (loaded.name(), offset))
    }

    /// The module with the nearest beginning, and the call's address there: modules do not overlap, so the address is in this one or
    /// in none. The return address itself may lie behind the end of its function, if the call is the last instruction.
    fn nearest(&self, address: u64) -> Option<(&Loaded, u64)> {
        let call = address.checked_sub(1)?;
        let behind = self.modules.partition_point(|loaded| loaded.module.bias <= call);
        let loaded = &self.modules[behind.checked_sub(1)?];
        Some((loaded, call - loaded.module.bias))
    }

    /// Whether an address is in the library that names memory.
    fn is_ours(&self, address: u64) -> bool {
        self.nearest(address).is_some_and(|(loaded, _)| loaded.name().starts_with("libsyncedmem_names.so"))
    }
}

impl Loaded {
    fn name(&self) -> String {
        self.module.path.file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
    }

    fn file(&self) -> Option<&OpenedModule> {
        self.file.get_or_init(|| OpenedModule::of(&self.module)).as_ref()
    }
}

impl OpenedModule {
    fn of(module: &Module) -> Option<OpenedModule> {
        let found = files::find(&module.path, &module.build_id)?;
        let symbols = Symbols::of(&found.itself, found.debug.as_deref())?;
        Some(OpenedModule { found, symbols, lines: OnceCell::new() })
    }

    fn lines(&self) -> Option<&Loader> {
        let Found { itself, debug, shared } = &self.found;
        let load = || Loader::new_with_sup(debug.as_ref().unwrap_or(itself), shared.as_ref()).ok();
        self.lines.get_or_init(load).as_ref()
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        let found = self.lines().and_then(|lines| lines.find_frames(address).ok());
        if let Some(mut found) = found {
            while let Ok(Some(frame)) = found.next() {
                let (file, line) = frame.location.and_then(|at| Some((at.file?.to_string(), at.line?))).unzip();
                let function = frame.function.and_then(|function| Some(plain(&function.raw_name().ok()?)));
                frames.push(Frame { function, file, line, inlined: true, ..Frame::default() });
            }
        }
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.inlined = false;
            // A unit may have lines and no functions (-g1 of some compilers).
            outermost.function = outermost.function.take().or_else(|| self.symbols.at(address).map(plain));
        }
        frames
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
