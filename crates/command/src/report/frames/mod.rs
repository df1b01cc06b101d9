//! Return addresses as functions, files and lines: names from symbol tables, lines from DWARF where a file has it, or a file with its
//! debug information is installed. Done here and not in the process, which must not wait for it.

mod files;
mod symbols;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::PathBuf;

use addr2line::Loader;

use symbols::Symbols;

/// A file that the process had loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The difference between an address in memory and one in the file.
    pub bias: u64,
    /// Its build id; empty if it has none.
    pub build_id: Vec<u8>,
    pub path: PathBuf,
}

/// A function that was running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Without its parameters; `None` if no table has its name.
    pub function: Option<String>,
    /// File name of the module; empty if no module has the address.
    pub module: String,
    /// The address within the module.
    pub offset: u64,
    /// Source file and line; `None` without debug information.
    pub line: Option<(String, u32)>,
    /// Whether the compiler made it a part of the next frame.
    pub inlined: bool,
}

/// The modules of a process. Their files are read when an address needs them.
pub struct Resolver {
    modules: Vec<Loaded>,
}

struct Loaded {
    module: Module,
    file: OnceCell<Option<Opened>>,
}

/// A module's file, as it was when it was loaded.
struct Opened {
    symbols: Symbols,
    /// `None` if there is no debug information.
    lines: Option<Loader>,
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
        // It may lie behind the end of its function, if the call is the function's last instruction.
        let call = address.wrapping_sub(1);
        let behind = self.modules.partition_point(|loaded| loaded.module.bias <= call);
        // Modules do not overlap: the address is in the nearest one below it, or in none.
        let Some(loaded) = behind.checked_sub(1).map(|place| &self.modules[place]) else {
            return vec![Frame { offset: address, ..Frame::default() }];
        };
        let offset = call - loaded.module.bias;
        let mut frames = match loaded.file() {
            Some(file) if !file.symbols.has(offset) => return vec![Frame { offset: address, ..Frame::default() }],
            Some(file) => file.frames(offset),
            // The file is gone, or another one by now.
            None => vec![Frame::default()],
        };
        for frame in &mut frames {
            frame.module = loaded.name();
            frame.offset = offset + 1;
        }
        frames
    }
}

impl Loaded {
    fn name(&self) -> String {
        self.module.path.file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
    }

    fn file(&self) -> Option<&Opened> {
        self.file.get_or_init(|| Opened::of(&self.module)).as_ref()
    }
}

impl Opened {
    fn of(module: &Module) -> Option<Opened> {
        let found = files::find(&module.path, &module.build_id)?;
        let symbols = Symbols::of(&found.itself, found.debug.as_deref())?;
        let lines = found.debug.as_deref().unwrap_or(&found.itself);
        let lines = Loader::new_with_sup(lines, found.shared.as_deref()).ok();
        Some(Opened { symbols, lines })
    }

    fn frames(&self, address: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        let found = self.lines.as_ref().and_then(|lines| lines.find_frames(address).ok());
        if let Some(mut found) = found {
            while let Ok(Some(frame)) = found.next() {
                let line = frame.location.and_then(|at| Some((at.file?.to_string(), at.line?)));
                let function = frame.function.and_then(|function| Some(plain(&function.raw_name().ok()?)));
                frames.push(Frame { function, line, inlined: true, ..Frame::default() });
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

/// A name without parameters and return type, as the library's own texts have it; of C and unknown languages, the name itself.
fn plain(name: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        return format!("{name:#}");
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let symbol = cpp_demangle::Symbol::new(name).ok();
    symbol.and_then(|symbol| symbol.demangle(&options).ok()).unwrap_or_else(|| name.to_string())
}
