//! The output after the program has ended: its report, or why there is none.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::child::Ended;
use super::trace::Trace;
use crate::doctor::examine::{Examined, Verdict};
use crate::doctor::object::{Object, Unreadable};
use crate::{doctor, report, say};

/// The report that the library writes.
#[derive(Debug)]
pub struct Report {
    file: PathBuf,
    /// Whether this command created the file, and removes it.
    private: bool,
    /// Whether it is printed.
    shown: bool,
    /// Length of the file before, in bytes; `None` for a device, which cannot be read back.
    before: Option<u64>,
    trace: Option<Trace>,
}

impl Report {
    /// Creates the file. Done even if no report was requested: an empty report shows that the library was never called.
    pub fn begin(requested: Option<&Option<PathBuf>>, is_traced: bool) -> Result<Report, String> {
        if let Some(Some(file)) = requested {
            // Absolute, because the program may change its folder.
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let before = length(&file).map_err(|why| format!("{} cannot be written: {why}", file.display()))?;
            return Ok(Report { file, private: false, shown: false, before, trace: None });
        }
        let file = private_file().map_err(|error| {
            format!("the report's file cannot be created in {}: {error}; set TMPDIR", std::env::temp_dir().display())
        })?;
        Ok(Report { file, private: true, shown: requested.is_some() || !is_traced, before: Some(0), trace: None })
    }

    /// Adds the trace that is written as well.
    pub fn beside(self, trace: Option<Trace>) -> Report {
        Report { trace, ..self }
    }

    /// The variables for the library.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![("SYNCEDMEM_REPORT", self.file.clone().into())]
    }

    /// Replaces an earlier trace, once the program has started.
    pub fn begin_trace(&mut self) {
        if let Some(Err(why)) = self.trace.as_mut().map(Trace::begin) {
            say::error(why);
        }
    }

    /// Removes the files of a program that was not started.
    pub fn abandon(self) {
        if let Some(trace) = self.trace {
            trace.abandon();
        }
        if self.private {
            // Ignored: an empty file may stay.
            let _ = fs::remove_file(&self.file);
        }
    }

    /// Prints the report, or why there is none.
    pub fn end(self, ended: &Ended, program: &OsStr, library: &Path) {
        let Some(before) = self.before else { return self.name_trace() };
        let text = fs::read(&self.file).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(before as usize..).unwrap_or_default()).into_owned();
        if self.private {
            // Ignored: only an empty file or a report may stay.
            let _ = fs::remove_file(&self.file);
        }
        if !text.trim().is_empty() {
            if self.shown {
                say::beside(format_args!("\n{}", text.trim_end()));
            } else if !self.private {
                say::error(format_args!("the report is in {}", self.file.display()));
            }
            self.name_trace();
            return;
        }
        if self.trace.as_ref().is_some_and(Trace::is_there) {
            // The program ended before it could report; the trace holds the events up to then.
            if self.shown {
                self.show_trace();
            }
            self.name_trace();
            return;
        }
        match ended {
            Ended::Signalled(signal) => say::error(format_args!(
                "signal {signal} ended {} before its report; --trace FILE keeps the events up to then, for syncedmem report \
                 FILE",
                program.to_string_lossy()
            )),
            Ended::Exited(_) => say::error(never_called(program, library)),
        }
    }

    /// Prints the report of the trace, if this command can read it.
    fn show_trace(&self) {
        let Some(file) = self.trace.as_ref().and_then(Trace::readable) else { return };
        match report::text_of(file, report::Shown::default()) {
            Ok(text) => say::beside(format_args!("\n{}", text.trim_end())),
            Err(why) => say::error(format_args!("{}: {why}", file.display())),
        }
    }

    /// Prints where the trace is, if it holds something.
    fn name_trace(&self) {
        let Some(trace) = self.trace.as_ref().filter(|trace| trace.is_there()) else { return };
        match trace.readable().map(Path::display) {
            Some(file) => say::error(format_args!("the trace is in {file}; look at it with: syncedmem report {file}")),
            None => say::error(format_args!("the trace is in {}", trace.name.to_string_lossy())),
        }
    }
}

/// The length of a file that the library can append to; `None` for a device. Creates the file if it is missing. Refuses
/// the same files as the library.
fn length(file: &Path) -> Result<Option<u64>, String> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    let about = options.open(file).and_then(|file| file.metadata());
    let no_file = || "it is not a regular file; name one".to_string();
    match about {
        Ok(about) if about.is_file() => Ok(Some(about.len())),
        Ok(about) if about.file_type().is_char_device() => Ok(None),
        Ok(_) => Err(no_file()),
        Err(error) => match error.raw_os_error() {
            // A FIFO without a reader.
            Some(libc::ENXIO) => Err(no_file()),
            Some(libc::ELOOP) => Err("it is a symbolic link, which is not followed; name the file itself".to_string()),
            _ => Err(error.to_string()),
        },
    }
}

/// Creates a file with an unused name.
fn private_file() -> io::Result<PathBuf> {
    let folder = std::env::temp_dir();
    for number in 0..100 {
        let file = folder.join(format!("syncedmem-report-{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
            Ok(_) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The reason why a program must not be started: its `SyncedMemory` is another class, which the library would corrupt.
pub fn must_not_run(program: &OsStr) -> Option<String> {
    let examined = Examined::read(&doctor::locate(program)?).ok()?;
    match examined.verdict(None) {
        verdict @ Verdict::OtherLayout { .. } => Some(format!(
            "{} was not started, because the library would overwrite its memory: {}",
            program.to_string_lossy(),
            verdict.reason()
        )),
        _ => None,
    }
}

/// The reason why the library was never called, as far as the program's files show it.
fn never_called(program: &OsStr, library: &Path) -> String {
    let name = program.to_string_lossy();
    let begin = format!("{name} never called the library");
    let Some(path) = doctor::locate(program) else { return begin };
    let needs = Object::read(library).ok().and_then(|object| object.glibc);
    let examined = match Examined::read(&path) {
        Ok(examined) => examined,
        Err(Unreadable::Script(interpreter)) => {
            return format!(
                "{begin}: it is a script, run by {}. Check the program that it starts: syncedmem doctor PROGRAM",
                interpreter.display()
            );
        }
        Err(error) => return format!("{begin}: {error}"),
    };
    let verdict = examined.verdict(needs);
    let why = match &verdict {
        Verdict::Preload | Verdict::Linked => {
            "its Caffe can use the library. Either it ended before it made an object, or by _exit(2), or LD_PRELOAD did \
             not reach it (sudo, env -i and containers drop it)"
                .to_owned()
        }
        Verdict::Later => {
            "it is not linked with a Caffe. If it loaded one, that one calls its own functions directly; if it starts other \
             programs, LD_PRELOAD did not reach them. Check them: syncedmem doctor LIBCAFFE|PROGRAM"
                .to_owned()
        }
        Verdict::NoCaffe => {
            "it contains no Caffe. If it starts a program that has one, LD_PRELOAD did not reach that (sudo, env -i and \
             containers drop it); check that one: syncedmem doctor PROGRAM"
                .to_owned()
        }
        other => format!("{}. {}", other.reason(), other.advice().unwrap_or_default()),
    };
    format!("{begin}: {why}")
}
