//! The output after the program has ended: its report, or why there is none.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use syncedmem_core::new_file::NewFile;

use super::child::{Ended, Finished};
use super::recordings::{IS_LINK, NO_FILE, Recordings};
use crate::doctor::examine::{Examined, Verdict};
use crate::doctor::object::{Object, Unreadable};
use crate::report::Shown;
use crate::report::facts::{How, Trace};
use crate::{doctor, output, report, say};

#[derive(Debug)]
pub enum Report {
    Shown,
    File(PathBuf),
    /// The recording is kept instead.
    Kept,
}

impl Report {
    pub fn begin(file: Option<&Path>, is_kept: bool) -> Result<Report, String> {
        let Some(path) = file else { return Ok(if is_kept { Report::Kept } else { Report::Shown }) };
        // Absolute: the program may change its working directory.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        check(&path).map_err(|why| format!("{} cannot be written: {why}", path.display()))?;
        Ok(Report::File(path))
    }

    pub fn end(
        self,
        finished: &Finished,
        command: &[OsString],
        library: &Path,
        shown: Shown,
        mut recordings: Recordings,
    ) {
        let program = &command[0];
        let followed = recordings.stop_following();
        if !recordings.are_there() {
            return say::error(nothing_recorded(finished, command, library, recordings.folder()));
        }
        match report::read::folder(recordings.folder(), followed) {
            Ok(mut trace) => {
                trace.name =
                    Path::new(program).file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
                explain(&mut trace, finished);
                self.give(&trace, shown);
            }
            Err(why) => say::error(format_args!("{}: {why}", recordings.folder().display())),
        }
        match recordings.keep() {
            Ok(None) => {}
            Ok(Some(file)) => {
                let file = file.display();
                say::error(format_args!("the trace is in {file}; look at it with: syncedmem report {file}"));
            }
            Err(why) => say::error(why),
        }
    }

    fn give(self, trace: &Trace, shown: Shown) {
        let text = report::text::of(trace, shown);
        match self {
            Report::Shown => say::beside(format_args!("\n{}", text.trim_end())),
            Report::Kept => trace.processes.iter().flat_map(report::facts::Process::first_lines).for_each(say::error),
            Report::File(path) => match output::all(&path, text.as_bytes()) {
                Ok(()) => say::error(format_args!("the report is in {}", path.display())),
                Err(error) => _ = say::not_written(&path, &error),
            },
        }
    }
}

/// Adds the end of the program as the system reports it, and what that shows about a process that the program waited for.
fn explain(trace: &mut Trace, finished: &Finished) {
    let signal_of_another = match finished.ended {
        // A shell's status for a signal.
        Ended::Exited(status @ 129..=192) => Some(i32::from(status) - 128),
        _ => None,
    };
    let unknown = trace.processes.iter().filter(|process| process.ending.how == How::Unknown).count();
    for process in &mut trace.processes {
        let is_unknown = process.ending.how == How::Unknown;
        let ending = &mut process.ending;
        if process.id == finished.process {
            if let Ended::Exited(status) = finished.ended {
                ending.status = Some(status);
            }
            match finished.ended {
                Ended::Signalled(signal) => ending.how = How::Killed { signal },
                // The process called _exit or quick_exit: only the end mark is missing.
                Ended::Exited(_) if is_unknown => ending.how = How::Whole,
                Ended::Exited(_) => {}
            }
            ending.resident_peak.get_or_insert(finished.resident_peak);
            ending.elapsed.get_or_insert(finished.elapsed);
            ending.processor_time.get_or_insert(finished.processor_time);
        } else if let (true, 1, Some(signal)) = (is_unknown, unknown, signal_of_another) {
            ending.how = How::Killed { signal };
        }
    }
}

/// Refuses the files that the library refuses, before the program starts.
fn check(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => Err(IS_LINK.to_string()),
        Ok(about) if about.file_type().is_char_device() => Ok(()),
        Ok(about) if !about.is_file() => Err(NO_FILE.to_string()),
        _ => NewFile::new(path).map(drop).map_err(|error| error.to_string()),
    }
}

fn nothing_recorded(finished: &Finished, command: &[OsString], library: &Path, folder: &Path) -> String {
    let probe = folder.join("probe");
    // A process that found no space has said so, and left no file.
    if let Err(error) = fs::write(&probe, [0; 4096]).and_then(|()| fs::remove_file(&probe)) {
        return format!(
            "nothing was recorded: {} cannot be written: {}; make room, or set TMPDIR",
            folder.display(),
            say::reason(&error)
        );
    }
    match finished.ended {
        Ended::Signalled(signal) => {
            format!("{} was killed by signal {signal} before it recorded anything", command[0].to_string_lossy())
        }
        Ended::Exited(_) => never_called(command, library),
    }
}

/// The reason if the program's `SyncedMemory` is another class, which the library would corrupt.
pub fn must_not_run(program: &OsStr) -> Option<String> {
    let examined = Examined::read(&doctor::locate(program)?).ok()?;
    let other = examined.other_layout()?;
    Some(format!(
        "{} was not started, because the library would overwrite its memory: {}",
        program.to_string_lossy(),
        other.reason()
    ))
}

/// The reason why the library was not called, as far as the program's files show it.
fn never_called(command: &[OsString], library: &Path) -> String {
    let name = command[0].to_string_lossy();
    let unknown = format!("{name} recorded nothing");
    let needs = Object::read(library).ok().and_then(|object| object.glibc);
    let verdict = match doctor::verdict(command, needs) {
        None => return unknown,
        Some(Ok(verdict)) => verdict,
        Some(Err(error @ (Unreadable::Script(_) | Unreadable::NotElf))) => {
            // The shell runs a text whose first line names no interpreter.
            let interpreter = if let Unreadable::Script(interpreter) = error { interpreter } else { "/bin/sh".into() };
            return format!(
                "{unknown}: it is a script, run by {}. Check the program that it starts: syncedmem doctor PROGRAM",
                interpreter.display()
            );
        }
        Some(Err(error)) => return format!("{unknown}: {error}"),
    };
    match &verdict {
        Verdict::Preload | Verdict::TakeOver { .. } | Verdict::Linked => format!(
            "{unknown}: its Caffe can use the library. Either it ended before it made an object, or the environment did not reach it \
             (sudo, env -i and containers drop LD_PRELOAD and SYNCEDMEM_TRACE)"
        ),
        Verdict::Later => format!(
            "{unknown}: it is not linked with a Caffe. If it loaded one, either it ended before it made an object, or that Caffe's calls do not \
             reach the library. If it starts other programs, LD_PRELOAD may not have reached them. syncedmem doctor \
             LIBCAFFE|PROGRAM says whether --take-over is needed, or what else"
        ),
        Verdict::NoCaffe => format!(
            "{name} never called the library: it contains no Caffe. If it starts a program that has one, LD_PRELOAD did not reach that \
             (sudo, env -i and containers drop it); check that one: syncedmem doctor PROGRAM"
        ),
        other => {
            format!("{name} never called the library: {}. {}", other.reason(), other.advice().unwrap_or_default())
        }
    }
}
