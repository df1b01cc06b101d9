//! The command line.

use std::ffi::OsString;

pub(crate) const USAGE: &str = "\
usage: driver-conformance [--driver PATH] [--device N] [--only TEXT] [--list | --describe]

  --driver PATH  the driver's library; default: libcuda.so.1, as programs find it
  --device N     the device to check, as cuDeviceGet counts; default: 0
  --only TEXT    only the checks whose name or source has TEXT in it
  --list         print the checks and what each leans on, and run nothing
  --describe     print the driver's version, the device's name and the like, and run nothing

Prints a line for each check: ok, not ok or skipped. Exit status: 0 if none failed, 1 if one did, 2 if there is
no driver, or no device, to check.
";

pub(crate) enum Action {
    Help,
    List,
    Describe,
    Run,
}

pub(crate) struct Options {
    pub(crate) action: Action,
    pub(crate) driver: OsString,
    pub(crate) device: i32,
    pub(crate) only: String,
}

/// Reads the arguments; the error is a sentence without its end.
pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options { action: Action::Run, driver: "libcuda.so.1".into(), device: 0, only: String::new() };
    while let Some(argument) = arguments.next() {
        let name = argument.to_string_lossy().into_owned();
        match name.as_str() {
            "-h" | "--help" => options.action = Action::Help,
            "--list" => options.action = Action::List,
            "--describe" => options.action = Action::Describe,
            "--driver" | "--device" | "--only" => {
                let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
                match name.as_str() {
                    "--driver" => options.driver = value,
                    "--only" => options.only = value.to_string_lossy().into_owned(),
                    _ => {
                        let number = value.to_string_lossy();
                        options.device = number.parse().map_err(|_| format!("--device: {number} is not a number"))?;
                    }
                }
            }
            _ => return Err(format!("unknown option: {name}")),
        }
    }
    Ok(options)
}
