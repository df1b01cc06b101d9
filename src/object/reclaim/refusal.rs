//! What an allocation failed at, and for whom, for the trace.
#![expect(unsafe_code, reason = "a function of libsyncedmem_net.so is called")]

use std::ffi::c_void;
use std::mem::transmute;

use syncedmem_trace::event::Refusal;

use crate::error::Cause;
use crate::platform::limits::{self, Usage};
use crate::platform::loaded;
use crate::state::flags::{self, TRACE};

/// Lets libsyncedmem_net.so, if it is there, name the layers of a net that is being made. The caller holds no lock.
pub fn name_layers() {
    if !flags::has(TRACE) {
        return;
    }
    if let Some(found) = loaded::find(c"_ZN9syncedmem11name_layersEv") {
        // SAFETY: libsyncedmem_net.so gives this name this signature.
        let name_layers = unsafe { transmute::<*mut c_void, extern "C" fn()>(found.as_ptr()) };
        name_layers();
    }
}

/// The reason, and the limit in bytes, which is the memory of a device. 0 if there is no limit or it is not known.
pub fn of(cause: Cause, asked: usize) -> (Refusal, u64) {
    match cause {
        Cause::Limit(limit) => (Refusal::HostLimit, limit),
        Cause::Device { total, .. } => (Refusal::Device, total),
        Cause::Absurd => (Refusal::Size, 0),
        Cause::System | Cause::Bookkeeping | Cause::PinnedLimit(_) => by_system(asked as u64),
    }
}

/// The first limit that so many bytes more would exceed.
fn by_system(asked: u64) -> (Refusal, u64) {
    /// The C library asks for more than a block.
    const MORE: u64 = 256 << 10;
    let Usage { address_space, data } = limits::usage();
    let exceeds = |used: u64, limit: &u64| used.saturating_add(asked).saturating_add(MORE) > *limit;
    if let Some(limit) = limits::of(libc::RLIMIT_AS).filter(|limit| exceeds(address_space, limit)) {
        return (Refusal::AddressSpace, limit);
    }
    if let Some(limit) = limits::of(libc::RLIMIT_DATA).filter(|limit| exceeds(data, limit)) {
        return (Refusal::Data, limit);
    }
    if limits::mappings().is_some() {
        return (Refusal::Mappings, 0);
    }
    match limits::commit() {
        Some((used, limit)) if exceeds(used, &limit) => (Refusal::Commit, limit),
        _ => (Refusal::System, 0),
    }
}
