//! The driver and the device in a few lines, for reports.

use crate::driver::numbers::device;
use crate::driver::{calls, table};
use crate::options::Options;
use crate::run;
use crate::verdict::{Must, Verdict};

/// They decide what the library may do there. Flags are 0 or 1.
const ATTRIBUTES: &[(i32, &str)] = &[
    (device::UNIFIED_ADDRESSING, "unified addressing"),
    (device::MANAGED_MEMORY, "managed memory"),
    (device::CONCURRENT_MANAGED_ACCESS, "concurrent managed access"),
    (device::PAGEABLE_MEMORY_ACCESS, "pageable memory access"),
    (device::PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, "pageable memory access by the host's page tables (ATS)"),
    (device::HOST_REGISTER_SUPPORTED, "host registration"),
    (device::READ_ONLY_HOST_REGISTER_SUPPORTED, "read-only host registration"),
    (device::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, "registered memory by its host pointer"),
    (device::CAN_MAP_HOST_MEMORY, "mapped host memory"),
    (device::INTEGRATED, "integrated"),
    (device::MEMORY_POOLS_SUPPORTED, "memory pools"),
    (device::ASYNC_ENGINE_COUNT, "copy engines"),
    (device::MULTIPROCESSOR_COUNT, "multiprocessors"),
    (device::ECC_ENABLED, "ECC"),
    (device::COMPUTE_MODE, "compute mode (0 default, 2 prohibited, 3 exclusive process)"),
    (device::MPS_ENABLED, "MPS"),
    (device::HOST_NUMA_ID, "host NUMA node"),
];

pub(crate) fn describe(options: &Options) -> Result<usize, String> {
    run::open(options)?;
    run::initialize(options.device)?;
    lines(options.device).map_err(|verdict| match verdict {
        Verdict::Failed { expected, got } => format!("expected {expected}, got {got}"),
        Verdict::Skipped(why) | Verdict::Found(why) => why,
    })?;
    Ok(0)
}

fn lines(ordinal: i32) -> Result<(), Verdict> {
    let name = calls::device_name(ordinal, 256).must()?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let attribute = |attribute| calls::device_attribute(ordinal, attribute).must();
    let version = calls::driver_version().must()?;
    println!("simulated: {}", if table::is_simulated() { "yes" } else { "no" });
    println!("cuda: {}.{}", version / 1000, version % 1000 / 10);
    println!("device: {}", String::from_utf8_lossy(&name[..end]));
    println!("memory: {} MiB", calls::device_memory(ordinal).must()? >> 20);
    let (major, minor) = (device::COMPUTE_CAPABILITY_MAJOR, device::COMPUTE_CAPABILITY_MINOR);
    println!("capability: {}.{}", attribute(major)?, attribute(minor)?);
    println!("devices: {}", calls::device_count().must()?);
    println!("pci: {}", calls::pci_bus_id(ordinal).must().unwrap_or_else(|_| "not known".into()));
    for (number, name) in ATTRIBUTES {
        // The attribute may be newer than the driver.
        let value = attribute(*number).map_or("not known".into(), |it| it.to_string());
        println!("{name}: {value}");
    }
    Ok(())
}
