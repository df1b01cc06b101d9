//! Checks that a CUDA driver keeps the rules that the library relies on, by driver calls alone; README.md says what a
//! check may do.
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
