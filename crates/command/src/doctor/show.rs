//! The output of `syncedmem doctor`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::examine::{Examined, Verdict};
use super::generation;
use super::object::Object;
use super::python::Python;
use super::{Subject, machine, settings};
use crate::library::NotFound;
use crate::say;

/// A name of at most 12 letters, and a text.
fn line(name: &str, text: &str) {
    for (index, text) in text.lines().enumerate() {
        say::line(format_args!("{:<13}{text}", if index == 0 { name } else { "" }));
    }
}

/// `needs`: minor version of glibc.
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
        if let Some(generation) = generation::of(object) {
            let fork = if generation::is_nvidia(object) { "; NVIDIA's fork" } else { "" };
            line("", &format!("  {}{fork}", generation.of));
        }
        if let Some(build) = generation::build(object) {
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
