//! `syncedmem run`: runs a program on the library, and reports on its memory.

mod child;
mod follow;
mod outcome;
mod recordings;
pub mod settings;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueHint};

use crate::report::Shown;
use crate::{doctor, library, say};
use child::Ended;
use outcome::Report;
use recordings::Recordings;
use settings::Settings;

/// Run a program with the library preloaded, and report on its memory at its end.
///
/// The report goes to standard error, after the output of the program. The program gets its arguments, input, output,
/// signals and alarms as if it had been started directly, and its exit status becomes that of this command. SIGKILL to
/// this command ends the program too. Programs that it starts also use the library. (A signal to the whole process group
/// reaches the program twice, as from timeout(1) without --foreground.)
#[derive(Debug, Args)]
#[command(override_usage = "syncedmem run [OPTIONS] [--] <PROGRAM> [ARGUMENT]...")]
#[command(after_help = "\
Examples:
  syncedmem run --fit 8G -- caffe train --solver=solver.prototxt
      which batch would fit in 8 GiB
  syncedmem run --trace train.trace -- caffe train --solver=solver.prototxt
  syncedmem run -o memory.txt -- python3 classify.py
  syncedmem run --on-error throw --pinned-limit 2G -- python3 serve.py

Exit status: the program's own; 128+n if signal n ended it; 127 if it was not found, 126 if it could not be started, 125 if \
the library was not found or does not fit its Caffe.")]
pub struct Options {
    /// Keep the recording of every event in FILE, for `syncedmem report` and `syncedmem export`. Further
    /// processes have FILE.PID.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    trace: Option<PathBuf>,
    /// Write the report to standard error. This is the default without --trace.
    #[arg(long)]
    report: bool,
    /// Write the report to FILE, in place of what is there.
    #[arg(short, long, value_name = "FILE", conflicts_with = "report", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write no report to standard error, only what is wrong with the run.
    #[arg(short, long, conflicts_with = "report")]
    quiet: bool,
    /// The libsyncedmem.so to preload, or its folder [default: the one that belongs to this command].
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    library: Option<PathBuf>,
    /// Do not name memory after the layers of Caffe's nets; reports then show the functions that hold it.
    #[arg(long)]
    no_names: bool,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    settings: Settings,
    /// The program, and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM", num_args = 1..)]
    #[arg(value_hint = ValueHint::CommandWithArguments)]
    program: Vec<OsString>,
}

/// Exit status if this command could not start the program.
const NOT_STARTED: u8 = 125;

pub fn run(options: &Options) -> ExitCode {
    child::forward_signals();
    let Prepared { library, environment, report, recordings } = match prepare(options) {
        Ok(prepared) => prepared,
        Err(why) => {
            say::error(why);
            return ExitCode::from(NOT_STARTED);
        }
    };
    let program = &options.program[0];
    match child::run(&options.program, &environment) {
        Ok(finished) => {
            report.end(&finished, &options.program, &library, options.shown, recordings);
            match finished.ended {
                Ended::Exited(status) => ExitCode::from(status),
                Ended::Signalled(signal) => child::end_by(signal),
            }
        }
        Err(error) => {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let hint = if missing { "; check its path, or that it is on PATH" } else { "" };
            say::error(format_args!("{} could not be started: {error}{hint}", program.to_string_lossy()));
            ExitCode::from(if missing { 127 } else { 126 })
        }
    }
}

struct Prepared {
    library: PathBuf,
    environment: Vec<(&'static str, OsString)>,
    report: Report,
    recordings: Recordings,
}

fn prepare(options: &Options) -> Result<Prepared, String> {
    options.settings.check()?;
    let library = library::find(options.library.as_deref()).map_err(|error| error.to_string())?;
    if let Some(why) = outcome::must_not_run(&options.program[0]) {
        return Err(why);
    }
    let mut environment = options.settings.environment();
    let is_given = |name| std::env::var_os(name).is_some() || environment.iter().any(|(given, _)| *given == name);
    if !is_given("SYNCEDMEM_TAKE_OVER") && doctor::is_to_be_taken_over(&options.program) {
        environment.push(("SYNCEDMEM_TAKE_OVER", "1".into()));
    }
    let net = if options.no_names { None } else { library::net(&library) };
    environment.push(("LD_PRELOAD", preload(net.iter().chain([&library]))?));
    let recordings = Recordings::begin(options.trace.as_deref())?;
    environment.push(("SYNCEDMEM_TRACE", recordings.setting()));
    let is_kept = !options.report && (options.quiet || options.trace.is_some());
    let report = Report::begin(options.output.as_deref(), is_kept)?;
    Ok(Prepared { library, environment, report, recordings })
}

/// Words that the dynamic linker replaces.
const TOKENS: [&str; 6] = ["$ORIGIN", "$LIB", "$PLATFORM", "${ORIGIN}", "${LIB}", "${PLATFORM}"];

/// LD_PRELOAD: the libraries, before its earlier value.
fn preload<'a>(libraries: impl Iterator<Item = &'a PathBuf>) -> Result<OsString, String> {
    let mut files = Vec::new();
    for library in libraries {
        let path = library.to_string_lossy();
        if path.contains([' ', ':']) || TOKENS.iter().any(|token| path.contains(token)) {
            return Err(format!(
                "{path} has a space, a colon, $ORIGIN, $LIB or $PLATFORM in its path, which LD_PRELOAD does not take as they stand; give a \
                 path without them: --library PATH"
            ));
        }
        files.push(library.as_os_str().to_owned());
    }
    files.extend(std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()));
    Ok(files.join(OsStr::new(":")))
}
