//! The driver and the device in a few lines, for reports.

use crate::driver::{calls, table};
use crate::options::Options;
use crate::run;
use crate::verdict::{Must, Verdict};

pub(crate) fn describe(options: &Options) -> Result<usize, String> {
    run::open(options)?;
    run::initialize(options.device)?;
    lines(options.device).map_err(|verdict| match verdict {
        Verdict::Failed { expected, got } => format!("expected {expected}, got {got}"),
        Verdict::Skipped(why) | Verdict::Found(why) => why,
    })?;
    Ok(0)
}

fn lines(device: i32) -> Result<(), Verdict> {
    let name = calls::device_name(device, 256).must()?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let (major, minor) = calls::compute_capability(device).must()?;
    let version = calls::driver_version().must()?;
    println!("simulated: {}", if table::is_simulated() { "yes" } else { "no" });
    println!("cuda: {}.{}", version / 1000, version % 1000 / 10);
    println!("device: {}", String::from_utf8_lossy(&name[..end]));
    println!("memory: {} MiB", calls::device_memory(device).must()? >> 20);
    println!("capability: {major}.{minor}");
    println!("devices: {}", calls::device_count().must()?);
    Ok(())
}
