//! Checks that a CUDA driver keeps the rules that the library relies on, by driver calls alone; README.md says what a
//! check may do.
#![deny(unsafe_code)]

mod blocks;
mod checks;
mod driver;
mod queues;
mod run;

use std::process::ExitCode;
use std::time::Duration;

use driver::*;
use run::Options;

const USAGE: &str = "\
usage: driver-conformance [--driver PATH] [--only TEXT] [--limit SECONDS] [--describe]

  --driver PATH    the driver's library; default: libcuda.so.1, as programs find it
  --only TEXT      only the checks whose name or source has TEXT in it
  --limit SECONDS  a check that takes longer counts as failed; default: 30
  --describe       print the driver's version, the device's name and attributes, and run nothing
  --from N         the checks from the Nth on, in this process: the program runs itself so

Prints a line for each check: ok, not ok or skipped. Exit status: 0 if none failed, 1 if one did, 2 if there is no
driver, or no device, to check.
";

fn main() -> ExitCode {
    main_or_sentence().unwrap_or_else(|sentence| {
        eprintln!("driver-conformance: {sentence}");
        ExitCode::from(2)
    })
}

fn main_or_sentence() -> Result<ExitCode, String> {
    let mut options = Options { driver: "libcuda.so.1".into(), only: String::new(), limit: Duration::from_secs(30) };
    let (mut describes, mut first) = (false, None);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let name = argument.to_string_lossy().into_owned();
        let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value; see --help"));
        let number = |text: std::ffi::OsString| {
            text.to_string_lossy().parse().map_err(|_| format!("{name}: {} is not a number", text.to_string_lossy()))
        };
        match name.as_str() {
            "-h" | "--help" => {
                print!("{USAGE}");
                return Ok(ExitCode::SUCCESS);
            }
            "--describe" => describes = true,
            "--driver" => options.driver = value()?,
            "--only" => options.only = value()?.to_string_lossy().into_owned(),
            "--limit" => options.limit = Duration::from_secs(number(value()?)?),
            "--from" => first = Some(number(value()?)? as usize),
            _ => return Err(format!("unknown option: {name}; see --help")),
        }
    }
    match first {
        _ if describes => describe(&options),
        Some(first) => run::run(&options, first),
        None => run::supervise(&options),
    }
}

/// The attributes on which the library's behaviour depends. Flags are 0 or 1.
const ATTRIBUTES: &[(i32, &str)] = &[
    (UNIFIED_ADDRESSING, "unified addressing"),
    (83, "managed memory"),
    (89, "concurrent managed access"),
    (88, "pageable memory access"),
    (100, "pageable memory access by the host's page tables (ATS)"),
    (99, "host registration"),
    (113, "read-only host registration"),
    (91, "registered memory by its host pointer"),
    (18, "integrated"),
    (40, "copy engines"),
    (16, "multiprocessors"),
    (32, "ECC"),
    (20, "compute mode (0 default, 2 prohibited, 3 exclusive process)"),
    (133, "MPS"),
    (134, "host NUMA node"),
];

/// The driver and the device in a few lines, for reports.
fn describe(options: &Options) -> Result<ExitCode, String> {
    run::open(options)?;
    run::initialise()?;
    let attribute =
        |number| match Verdict::of(|| found(value(|it| cuDeviceGetAttribute(it, number, DEVICE)).to_string())) {
            Verdict::Found(value) => value,
            // The attribute may be newer than the driver.
            _ => "not known".into(),
        };
    let text = |call: fn(&mut [u8; 128], i32, i32) -> Reply| {
        let mut text = [0; 128];
        let _ = Verdict::of(|| call(&mut text, 128, DEVICE).ok());
        String::from_utf8_lossy(text.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
    };
    let version: i32 = value(cuDriverGetVersion);
    println!("simulated: {}", if symbol("simcuda_is_simulated") != 0 { "yes" } else { "no" });
    println!("cuda: {}.{}", version / 1000, version % 1000 / 10);
    println!("device: {}", text(cuDeviceGetName));
    println!("memory: {} MiB", value(|bytes| cuDeviceTotalMem_v2(bytes, DEVICE)) >> 20);
    println!("capability: {}.{}", attribute(75), attribute(76));
    println!("devices: {}", value(cuDeviceGetCount));
    println!("pci: {}", text(cuDeviceGetPCIBusId));
    ATTRIBUTES.iter().for_each(|&(number, name)| println!("{name}: {}", attribute(number)));
    Ok(ExitCode::SUCCESS)
}
