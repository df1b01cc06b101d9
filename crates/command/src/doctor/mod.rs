//! `syncedmem doctor`.

pub mod examine;
pub mod machine;
pub mod object;
mod python;
pub mod search;
mod settings;
mod show;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueHint};

use crate::{library, say};
use examine::{Examined, Verdict};
use object::{Object, Unreadable};
use python::Python;
use search::Search;

/// Check whether this machine, a program or a libcaffe can use the library, and say what to do if not. Runs none of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  syncedmem doctor
      this machine: driver, limits, settings
  syncedmem doctor caffe
      a program on PATH
  syncedmem doctor python3 train.py
      the Caffe that the script would import
  syncedmem doctor ./libcaffe.so
  LD_LIBRARY_PATH=lib syncedmem doctor ./my-program
      as the program would find its libraries

Exit status: 0 if it works (without a program: always), 1 if it does not or the files do not show it, 2 if the command line is wrong.")]
pub struct Options {
    /// A program (on PATH, or with its folder) and its arguments, or a libcaffe.so or other library.
    #[arg(value_name = "PROGRAM|LIBCAFFE", trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
    /// The libsyncedmem.so to preload [default: this command's].
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    library: Option<PathBuf>,
}

pub fn run(options: &Options) -> ExitCode {
    let library = library::find(options.library.as_deref());
    if options.library.is_some() {
        if let Err(error) = &library {
            return say::failed(error);
        }
    }
    let needs = library.as_ref().ok().and_then(|path| Object::read(path).ok()).and_then(|object| object.glibc);
    let Some((name, arguments)) = options.command.split_first() else {
        show::machine(&library, needs);
        return ExitCode::SUCCESS;
    };
    let Some(path) = locate(name) else {
        return say::failed(format_args!(
            "{} is neither a program on PATH, nor a file, nor a library that the dynamic linker finds; give its path",
            name.to_string_lossy()
        ));
    };
    let status = match examine(&path, arguments) {
        Ok(subject) => show::subject(&subject, &options.command, needs),
        Err(Unreadable::Script(interpreter)) => show::script(&path, &interpreter),
        Err(error) => return say::failed(format_args!("{}: {error}", path.display())),
    };
    say::line("");
    show::machine(&library, needs);
    status
}

struct Subject {
    examined: Examined,
    /// Python, and the Caffe that it would import.
    python: Option<(Python, Option<Examined>)>,
}

impl Subject {
    /// Returns the verdict and, if it is about that, the Caffe that Python would import: Python itself has none.
    fn verdict(&self, needs: Option<u32>) -> (Verdict, Option<&Examined>) {
        match (self.examined.verdict(needs), &self.python) {
            (Verdict::Later, Some((_, Some(module)))) => (module.verdict(needs), Some(module)),
            (verdict, _) => (verdict, None),
        }
    }
}

/// The verdict on a program, or on the Caffe that it would import. `None` if there is no such program.
pub fn verdict(command: &[OsString], needs: Option<u32>) -> Option<Result<Verdict, Unreadable>> {
    let (name, arguments) = command.split_first()?;
    Some(examine(&locate(name)?, arguments).map(|subject| subject.verdict(needs).0))
}

/// Whether the files of the program show that only `SYNCEDMEM_TAKE_OVER` reaches its Caffe, and not a preload alone.
pub fn is_to_be_taken_over(command: &[OsString]) -> bool {
    matches!(verdict(command, None), Some(Ok(Verdict::TakeOver { .. })))
}

fn examine(path: &Path, arguments: &[OsString]) -> Result<Subject, Unreadable> {
    let (path, examined) = match Examined::read(path) {
        // A script that Python runs is examined as Python with an argument.
        Err(Unreadable::Script(interpreter)) if python::is_python(interpreter.as_os_str()) => {
            let Some(interpreter) = locate(interpreter.as_os_str()) else {
                return Err(Unreadable::Script(interpreter));
            };
            return examine(&interpreter, &[path.into()]);
        }
        // A script named python, such as pyenv's: the next Python on PATH stands for its choice.
        Err(Unreadable::Script(interpreter)) if python::is_python(path.as_os_str()) => {
            let others = search::programs(path.file_name().unwrap_or_default()).into_iter();
            let mut others = others.filter_map(|path| Examined::read(&path).ok().map(|examined| (path, examined)));
            others.next().ok_or(Unreadable::Script(interpreter))?
        }
        examined => (path.to_path_buf(), examined?),
    };
    let python = examined.is_python().then(|| Python::new(&path, arguments));
    let python = python.map(|python| {
        let module = python.caffe().and_then(|module| Examined::read(&module).ok());
        (python, module)
    });
    Ok(Subject { examined, python })
}

pub fn locate(name: &OsStr) -> Option<PathBuf> {
    search::program(name).or_else(|| {
        let here = Path::new(name);
        if here.exists() {
            return Some(here.to_path_buf());
        }
        let none = Object::default();
        Search::new().find(name.to_str()?, &none, &none).map(|object| object.path)
    })
}
