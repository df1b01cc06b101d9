//! What can be asked of an object without changing it.

use super::SyncedMemory;
use crate::error::Error;
use crate::memory::device;
use crate::memory::host::registration;
use crate::observe::recorder;
use crate::platform::text::Text;
use crate::state::flags;
use crate::state::head::Side;

impl SyncedMemory {
    /// The ordinal of the device that holds the device block; `None` if there is none, or the driver does not know it.
    pub fn device_ordinal(&self) -> Result<Option<i32>, Error> {
        let now = self.now()?;
        let Some(block) = now.device else { return Ok(None) };
        Ok(now.word.ordinal().or_else(|| device::ordinal(block)))
    }

    /// Whether there is host memory that this library page-locked: when it was made, or where it is.
    pub fn is_pinned(&self) -> Result<bool, Error> {
        let now = self.now()?;
        Ok(now.host.is_some_and(|host| now.word.is_pinned() || registration::is_registered(host)))
    }

    /// Gives the object a name in reports and traces, if there are any.
    pub fn set_name(&self, name: &str) {
        if flags::on() {
            recorder::name(self.subject(), name);
        }
    }

    /// The object's name; empty if it has none.
    pub fn name(&self) -> Text<256> {
        recorder::name_of(self.subject().object)
    }

    /// Whether there is a block on `side` that the object must give back.
    pub fn owns(&self, side: Side) -> Result<bool, Error> {
        self.now().map(|now| match side {
            Side::Host => now.host.is_some() && now.word.owns_host(),
            Side::Device => now.device.is_some() && now.word.owns_device(),
        })
    }
}
