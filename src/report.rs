//! What is known about memory when there was too little of it: who holds what, and what the limits are.

use std::fmt;

use crate::cuda::blocks::{self, Held};
use crate::error::{Cause, Error};
use crate::head::Side;
use crate::limits;
use crate::text::Bytes;
use crate::{settings, stats};

/// What there is to add to an error, and what to do. Empty unless memory ran out.
pub struct Circumstances(pub Error);

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Error::OutOfMemory { cause: Cause::Absurd, .. } => Ok(()),
            Error::OutOfMemory { side: Side::Device, .. } => {
                on_device(f)?;
                f.write_str("; make the batch or the input smaller, or give back other programs' memory")
            }
            Error::OutOfMemory { side: Side::Host, .. } => {
                on_host(f)?;
                f.write_str("; free some memory, make the batch or the input smaller, or raise the limit")
            }
            _ => Ok(()),
        }
    }
}

fn on_host(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let held = Bytes(stats::held());
    if settings::host_limit().is_some() {
        write!(f, "; libsyncedmem holds {held} of host memory")?;
    } else {
        write!(f, "; libsyncedmem holds {held} of pageable host memory in blocks of 4 KiB and more")?;
    }
    let pinned = blocks::held(Side::Host);
    if pinned.bytes > 0 {
        write!(f, ", and page-locked {}", Bytes(pinned.bytes))?;
    }
    if let Some(limit) = limits::address_space() {
        write!(f, "; the limit on the address space (ulimit -v) is {}", Bytes(limit))?;
    }
    if let Some(limit) = limits::cgroup() {
        write!(f, "; the limit of the control group is {}", Bytes(limit))?;
    }
    Ok(())
}

fn on_device(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Held { blocks, bytes, largest } = blocks::held(Side::Device);
    write!(f, "; libsyncedmem holds {} of device memory in {blocks} blocks", Bytes(bytes))?;
    let mut separator = ", the largest for";
    for (object, bytes) in largest.into_iter().filter(|&(_, bytes)| bytes > 0) {
        write!(f, "{separator} the object at {object:#x}: {}", Bytes(bytes as u64))?;
        separator = ",";
    }
    Ok(())
}
