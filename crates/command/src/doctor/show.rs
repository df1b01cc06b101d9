//! The output of `syncedmem doctor`, and the verdict in words.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::examine::{Bound, Examined, Verdict};
use super::object::Object;
use super::python::Python;
use super::{Subject, machine, settings};
use crate::library::NotFound;
use crate::say;

/// Writes a name of at most 12 letters, and a text.
fn line(name: &str, text: &str) {
    for (index, text) in text.lines().enumerate() {
        say::line(format_args!("{:<13}{text}", if index == 0 { name } else { "" }));
    }
}

/// `needs` is the minor version of glibc that the library needs.
pub fn machine(library: &Result<PathBuf, NotFound>, needs: Option<u32>) {
    line("syncedmem", &format!("version {}", env!("CARGO_PKG_VERSION")));
    match library {
        Ok(path) => {
            let needs = needs.map(|minor| format!(", needs glibc 2.{minor}")).unwrap_or_default();
            line("libsyncedmem", &format!("{}{needs}", path.display()));
        }
        Err(error) => line("libsyncedmem", &error.to_string()),
    }
    for (name, text) in machine::facts(library.as_deref().ok()) {
        line(name, &text);
    }
    for (index, text) in settings::lines().iter().enumerate() {
        line(if index == 0 { "settings" } else { "" }, text);
    }
}

pub fn subject(subject: &Subject, command: &[OsString], needs: Option<u32>) -> ExitCode {
    let (verdict, loaded) = subject.verdict(needs);
    let Subject { examined, python } = subject;
    let subject = examined.subject();
    conclude(&verdict, command, subject.is_program);
    say::line("");
    line(if subject.is_program { "program" } else { "library" }, &subject.path.display().to_string());
    if let Some((python, _)) = python {
        script_of(python, loaded);
    }
    for object in [Some(examined), loaded].into_iter().flatten().flat_map(|examined| &examined.objects) {
        if object.memory().next().is_some() {
            caffe(object);
        }
    }
    for (missing, wanted_by) in [Some(examined), loaded].into_iter().flatten().flat_map(|examined| &examined.missing) {
        line("missing", &format!("{missing}, which {} needs", wanted_by.display()));
    }
    say::status(verdict.is_good())
}

fn script_of(python: &Python, loaded: Option<&Examined>) {
    if let Some(script) = &python.script {
        let imports = match python.imports_caffe() {
            Some(true) => "",
            Some(false) => ", which does not import caffe itself; a module that it imports may",
            None => ", which cannot be read",
        };
        line("script", &format!("{}{imports}", script.display()));
    }
    match loaded {
        Some(module) => line("", &format!("Python would load {}", module.subject().path.display())),
        None => line("", "Python finds no module caffe beside the script, on PYTHONPATH and among its packages"),
    }
}

fn conclude(verdict: &Verdict, command: &[OsString], is_program: bool) {
    line("verdict", &verdict.to_string());
    if let Some(advice) = verdict.advice() {
        line("", advice);
    }
    if matches!(verdict, Verdict::Preload | Verdict::TakeOver { .. }) {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let program = if is_program { words.join(" ") } else { "PROGRAM".to_string() };
        let more = if words.len() == 1 { " ..." } else { "" };
        line("", &format!("syncedmem run -- {program}{more}"));
    }
}

pub fn script(path: &Path, interpreter: &Path) -> ExitCode {
    line("verdict", "cannot tell: only a run shows what a script starts or loads");
    line("", "A preload reaches every program that it starts. Check that program, or its libcaffe.so:");
    line("", "syncedmem doctor PROGRAM|LIBCAFFE");
    say::line("");
    line("script", &format!("{}, run by {}", path.display(), interpreter.display()));
    say::status(false)
}

fn caffe(object: &Object) {
    line(if object.defines() && !object.has_ours { "Caffe" } else { "" }, &object.path.display().to_string());
    if object.is_ours {
        line("", "  libsyncedmem itself");
        return;
    }
    if object.has_ours {
        line("", "  libsyncedmem is linked into it");
        return;
    }
    let functions: Vec<_> = object.memory().map(|(_, function)| function).collect();
    let defined = functions.iter().filter(|function| function.defined).count();
    let hidden = functions.iter().filter(|function| function.defined && !function.dynamic).count();
    let replaceable = functions.iter().filter(|function| function.relocated).count();
    if object.defines() {
        if let Some(generation) = object.generation() {
            let fork = if object.is_nvidia() { "; NVIDIA's fork" } else { "" };
            line("", &format!("  {}{fork}", generation.of));
        }
        if let Some(build) = object.build() {
            line("", &format!("  {build}"));
        }
        let hidden = if hidden > 0 { format!(", {hidden} of them hidden") } else { String::new() };
        line(
            "",
            &format!("  defines {}{hidden}; calls {replaceable} of them through the dynamic linker", count(defined)),
        );
    } else {
        line("", &format!("  calls {}, through the dynamic linker", count(replaceable)));
    }
}

fn count(functions: usize) -> String {
    format!("{functions} function{} of SyncedMemory", if functions == 1 { "" } else { "s" })
}

impl Verdict {
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked)
    }

    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked => return None,
            Verdict::Later => {
                "If it loads a Caffe while it runs (as Python does), check that one: syncedmem doctor LIBCAFFE. Or run the \
                 program: syncedmem run -- PROGRAM says whether its Caffe called the library."
            }
            Verdict::NoCaffe => "Name the program that uses Caffe, or its libcaffe.so.",
            Verdict::Bound { mixed: Some(_), .. } => {
                "Link Caffe against libsyncedmem instead of its own syncedmem.cpp. A preload replaces only some of the \
                 calls: with one, set SYNCEDMEM_HOST_BLOCKS=malloc (run: --host-blocks malloc)."
            }
            Verdict::Bound { how: Bound::Symbolic, .. } => {
                "Link that library without -Bsymbolic and -Bsymbolic-functions, or against libsyncedmem instead of \
                 syncedmem.cpp."
            }
            Verdict::Bound { .. } | Verdict::Static => {
                "Build it again, linked against libsyncedmem (libsyncedmem.a serves static programs) instead of \
                 src/caffe/syncedmem.cpp."
            }
            Verdict::OtherLayout { .. } => "The library cannot replace it: that class is another one.",
            Verdict::Privileged(_) => {
                "Run a copy of it without these rights, or link Caffe against libsyncedmem instead of its own \
                 syncedmem.cpp."
            }
            Verdict::Incomplete { .. } => "Set LD_LIBRARY_PATH to the folder that has it, or install it.",
            Verdict::OldGlibc { .. } => {
                "Use the library that scripts/package builds, which needs glibc 2.17: syncedmem run --library PATH, or \
                 SYNCEDMEM_LIBRARY=PATH."
            }
        })
    }

    fn word(&self) -> &'static str {
        match self {
            Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked => "works",
            Verdict::Later => "cannot tell",
            Verdict::NoCaffe => "does nothing",
            Verdict::Incomplete { .. } => "does not start",
            Verdict::Bound { .. } | Verdict::OtherLayout { .. } | Verdict::Static | Verdict::Privileged(_) => {
                "does not work"
            }
            Verdict::OldGlibc { .. } => "does not work with this build of the library",
        }
    }

    pub fn reason(&self) -> String {
        match self {
            Verdict::Preload => "Caffe's calls go through the dynamic linker".to_owned(),
            Verdict::Linked => "it is linked with libsyncedmem, and needs no preload".to_owned(),
            Verdict::Later => "it is not linked with a Caffe, but can load one while it runs".to_owned(),
            Verdict::NoCaffe => "it contains no Caffe".to_owned(),
            Verdict::TakeOver { object, how, functions, hooks } => {
                let names = match hooks {
                    // It has no nets.
                    None | Some(Ok(0)) => String::new(),
                    Some(Ok(hooks)) => format!(", and {hooks} for the names of layers and for sharing"),
                    Some(Err(why)) => format!("; its layers get no names, and share nothing: {why}"),
                };
                format!(
                    "{}, and can be taken over: syncedmem run, or SYNCEDMEM_TAKE_OVER=1 with a preload, replaces all {functions} \
                     functions at their entries{names}",
                    how.of(object)
                )
            }
            Verdict::Bound { object, how, mixed, limit } => {
                let nothing = if *how == Bound::Symbolic { "none of these calls" } else { "nothing" };
                let limit = limit.map(|limit| format!(". It cannot be taken over: {limit}")).unwrap_or_default();
                let bound = format!("{}, so a preload replaces {nothing}{limit}", how.of(object));
                match mixed {
                    Some(other) => {
                        format!("{bound}; calls from {} would be replaced, and the two would mix", other.display())
                    }
                    None => bound,
                }
            }
            Verdict::OtherLayout { object, of } => format!("{} is {of}", object.display()),
            Verdict::Static => {
                "the program is linked statically, without the dynamic linker that would preload the library".to_owned()
            }
            Verdict::Privileged(how) => format!("{how}, and the dynamic linker ignores preloads for such programs"),
            Verdict::Incomplete { missing, wanted_by } => {
                format!("{} needs {missing}, which is not found", wanted_by.display())
            }
            Verdict::OldGlibc { has, needs } => {
                format!("the library needs glibc 2.{needs}, and the program's is 2.{has}")
            }
        }
    }
}

impl Bound {
    fn of(self, object: &Path) -> String {
        let object = object.display();
        match self {
            Bound::InProgram => {
                format!("Caffe is linked statically into {object}, which calls its own SyncedMemory directly")
            }
            Bound::Symbolic => {
                format!("{object} calls its own SyncedMemory directly (linked with -Bsymbolic-functions or the like)")
            }
            Bound::Hidden => format!("SyncedMemory is hidden inside {object}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.word(), self.reason())
    }
}
