//! Checks that a CUDA driver keeps the rules that programs rely on, by driver calls alone.
//!
//! Every check is a sentence and names the place in CUDA's documentation that it leans on. It accepts every
//! outcome that the documentation allows, leaves the device as it found it, and uses nothing that is undefined: no
//! handle that was destroyed, no address that a kernel would fault on. So the same program runs on a real driver
//! and on a simulated one, and where the two differ the simulation is wrong, or the check is.
#![deny(unsafe_code)]

mod checks;
mod describe;
mod driver;
mod options;
mod run;
mod supervise;
mod verdict;

use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match options::parse(std::env::args_os().skip(1)) {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("driver-conformance: {sentence}; see --help");
            return ExitCode::from(2);
        }
    };
    match options.action {
        options::Action::Help => {
            print!("{}", options::USAGE);
            ExitCode::SUCCESS
        }
        options::Action::List => {
            run::list(&options);
            ExitCode::SUCCESS
        }
        options::Action::Describe => exit(describe::describe(&options)),
        options::Action::Run => supervise::run(&options),
        options::Action::RunFrom(first) => exit(run::run(&options, first)),
    }
}

/// The number of checks that failed decides, or the sentence that says why none could be run.
pub(crate) fn exit(outcome: Result<usize, String>) -> ExitCode {
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("driver-conformance: {sentence}");
            ExitCode::from(2)
        }
    }
}
