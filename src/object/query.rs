use syncedmem_core::head::Side;

use super::SyncedMemory;
use crate::error::Error;
use crate::memory::device;
use crate::observe::trace;

impl SyncedMemory {
    /// `None` without a device block, or if the driver does not know its device.
    pub fn device_ordinal(&self) -> Result<Option<i32>, Error> {
        Ok(self.state()?.device.and_then(device::ordinal))
    }

    /// Whether this library allocated the host block page-locked.
    pub fn is_pinned(&self) -> Result<bool, Error> {
        self.state().map(|now| now.host.is_some() && now.word.is_pinned())
    }

    /// Names the object in the trace, if there is one.
    pub fn set_name(&self, name: &str) {
        trace::name(self.address(), self.subject().bytes, name);
    }

    /// Notes in the trace how many items of the batch the object holds.
    pub fn set_items(&self, items: u64) {
        trace::items(self.address(), self.subject().bytes, items);
    }

    pub fn owns(&self, side: Side) -> Result<bool, Error> {
        self.state().map(|now| match side {
            Side::Host => now.host.is_some() && now.word.owns_host(),
            Side::Device => now.device.is_some() && now.word.owns_device(),
        })
    }
}
