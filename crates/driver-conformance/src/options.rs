//! The command line.

use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

pub(crate) const USAGE: &str = "\
usage: driver-conformance [--driver PATH] [--device N] [--only TEXT] [--limit SECONDS] [--list | --describe]

  --driver PATH    the driver's library; default: libcuda.so.1, as programs find it
  --device N       the device to check, as cuDeviceGet counts; default: 0
  --only TEXT      only the checks whose name or source has TEXT in it
  --limit SECONDS  a check that takes longer is killed, counted as failed and passed over; default: 30
  --list           print the checks and what each leans on, and run nothing
  --describe       print the driver's version, the device's name and attributes, and run nothing
  --from N         only the checks from the Nth on, unsupervised: the program runs itself so

The checks run in another process. When one hangs or crashes, the others run in a new one. Prints a line for each
check: ok, not ok or skipped. Exit status: 0 if none failed, 1 if one did, 2 if there is no driver, or no device, to
check.
";

pub(crate) enum Action {
    Help,
    List,
    Describe,
    Run,
    /// From this check on, in this process.
    RunFrom(usize),
}

pub(crate) struct Options {
    pub(crate) action: Action,
    pub(crate) driver: OsString,
    pub(crate) device: i32,
    pub(crate) only: String,
    pub(crate) limit: Duration,
}

/// The error is a sentence without its end.
pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options {
        action: Action::Run,
        driver: "libcuda.so.1".into(),
        device: 0,
        only: String::new(),
        limit: Duration::from_secs(30),
    };
    while let Some(argument) = arguments.next() {
        let name = argument.to_string_lossy().into_owned();
        match name.as_str() {
            "-h" | "--help" => options.action = Action::Help,
            "--list" => options.action = Action::List,
            "--describe" => options.action = Action::Describe,
            "--driver" | "--device" | "--only" | "--limit" | "--from" => {
                let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
                match name.as_str() {
                    "--driver" => options.driver = value,
                    "--only" => options.only = value.to_string_lossy().into_owned(),
                    "--limit" => options.limit = Duration::from_secs(number(&name, &value)?),
                    "--from" => options.action = Action::RunFrom(number(&name, &value)?),
                    _ => options.device = number(&name, &value)?,
                }
            }
            _ => return Err(format!("unknown option: {name}")),
        }
    }
    Ok(options)
}

fn number<T: FromStr>(name: &str, value: &OsString) -> Result<T, String> {
    let text = value.to_string_lossy();
    text.parse().map_err(|_| format!("{name}: {text} is not a number"))
}
