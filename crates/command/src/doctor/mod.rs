//! `syncedmem doctor`: examines this machine, and whether a program or a libcaffe can use the library.

pub mod examine;
mod generation;
pub mod machine;
mod names;
pub mod object;
pub mod search;
mod settings;
mod show;
mod verdict;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};

use crate::{library, say};
use examine::Examined;
use object::{Object, Unreadable};
use search::Search;

/// Check whether this machine, a program or a libcaffe can use the library, and say what to do if not.
///
/// It reads the files of the program and of all libraries that it is linked with, and runs none of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem doctor                                  this machine: driver, limits, settings
  syncedmem doctor caffe                            a program on PATH
  syncedmem doctor /usr/lib/x86_64-linux-gnu/libcaffe.so.1
  LD_LIBRARY_PATH=... syncedmem doctor ./my-program   as the program would find its libraries

Exit status: 0 if it works (without a program: always), 1 if it does not or the files do not show it, 2 if the command line is wrong.")]
pub struct Options {
    /// A program (as on the command line: on PATH, or with its folder), or a libcaffe.so or other library.
    #[arg(value_name = "PROGRAM|LIBCAFFE", value_hint = ValueHint::AnyPath)]
    subject: Option<OsString>,
    /// The libsyncedmem.so that would be preloaded [default: the one that belongs to this command].
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    library: Option<PathBuf>,
}

pub fn run(options: &Options) -> ExitCode {
    let library = library::find(options.library.as_deref());
    show::machine(&library);
    if options.library.is_some() {
        if let Err(error) = &library {
            return say::failed(error);
        }
    }
    let Some(name) = &options.subject else { return ExitCode::SUCCESS };
    say::line("");
    let Some(path) = locate(name) else {
        return say::failed(format_args!(
            "{} is neither a program on PATH, nor a file, nor a library that the dynamic linker finds; give its path",
            name.to_string_lossy()
        ));
    };
    let needs = library.ok().and_then(|path| Object::read(&path).ok()).and_then(|object| object.glibc);
    match Examined::read(&path) {
        Ok(examined) => show::subject(&examined, name, needs),
        Err(Unreadable::Script(interpreter)) => show::script(&path, &interpreter),
        Err(error) => say::failed(format_args!("{}: {error}", path.display())),
    }
}

/// The file that a name stands for.
pub fn locate(name: &OsStr) -> Option<PathBuf> {
    search::program(name).or_else(|| {
        let here = Path::new(name);
        if here.exists() {
            return Some(here.to_path_buf());
        }
        let none = Object::default();
        Search::new().find(name.to_str()?, &none, &none).map(|(path, _)| path)
    })
}
