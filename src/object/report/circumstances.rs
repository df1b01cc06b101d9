//! The second half of an out-of-memory error: owners, limits, advice.

use std::fmt;

use syncedmem_core::head::Side;
use syncedmem_core::text::Bytes;

use crate::error::{Cause, Error};
use crate::memory::blocks::{self, Held};
use crate::memory::limit;
use crate::platform::limits;
use crate::settings;

/// Empty unless memory ran out.
pub struct Circumstances(pub Error);

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error::OutOfMemory { side, cause, .. } = self.0 else { return Ok(()) };
        if cause == Cause::Absurd {
            return Ok(());
        }
        let advice = match side {
            Side::Device => {
                on_device(f)?;
                "make the batch or the input smaller, or give back other programs' memory"
            }
            Side::Host => {
                on_host(f)?;
                if matches!(cause, Cause::System | Cause::Bookkeeping) {
                    mappings(f)?;
                }
                "free some memory, make the batch or the input smaller, or raise the limit"
            }
        };
        write!(f, "; {advice}")
    }
}

fn on_host(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let held = Bytes(limit::held());
    if settings::host_limit().is_some() {
        write!(f, "; libsyncedmem holds {held} of host memory")?;
    } else {
        write!(f, "; libsyncedmem holds {held} of pageable host memory in blocks of more than 4 KiB")?;
    }
    let pinned = blocks::held(Side::Host).bytes;
    if pinned > 0 {
        write!(f, ", and page-locked {}", Bytes(pinned))?;
    }
    if let Some(limit) = limits::of(libc::RLIMIT_AS) {
        write!(f, "; the limit on the address space (ulimit -v) is {}", Bytes(limit))?;
    }
    if let Some(limit) = limits::cgroup() {
        write!(f, "; the limit of the control group is {}", Bytes(limit.get()))?;
    }
    Ok(())
}

fn mappings(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some((count, limit)) = limits::mappings() else { return Ok(()) };
    write!(
        f,
        "; the process has {count} memory mappings, and the limit (sysctl vm.max_map_count) is {limit}, whatever memory is \
         free: raise it, or unmap some"
    )
}

fn on_device(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Held { blocks, bytes, largest, .. } = blocks::held(Side::Device);
    write!(f, "; libsyncedmem holds {} of device memory in {blocks} blocks", Bytes(bytes))?;
    let mut separator = ", the largest for";
    for (object, bytes) in largest.into_iter().filter(|&(_, bytes)| bytes > 0) {
        write!(f, "{separator} the object at {object:#x}: {}", Bytes(bytes as u64))?;
        separator = ",";
    }
    Ok(())
}
