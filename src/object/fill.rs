#![expect(unsafe_code, reason = "a host block becomes a slice")]

use syncedmem_core::head::{Access, Side};
use syncedmem_trace::event::What;

use super::access::Source;
use super::{SyncedMemory, start};
use crate::error::Error;
use crate::memory::host;
use crate::observe::recorder;
use crate::state::step::{self, Fill, Operation};

impl SyncedMemory {
    /// Lets `fill` write the first `bytes` of the host side, which is then the newest. The rest of a larger object stays. If `fill`
    /// fails, data is lost only where the host alone was current.
    ///
    /// # Safety
    /// Exclusive: no other thread uses the host side meanwhile.
    pub unsafe fn fill<E: From<Error>>(
        &self,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = self.size()?;
        if bytes > size {
            return Err(Error::InvalidArgument {
                what: "the object is smaller than its new contents; pass a larger one",
            }
            .into());
        }
        if bytes == size {
            return self.filled(Access::Overwrite, bytes, fill);
        }
        // The rest must be current at the host.
        self.data(Access::Read, Side::Host)?;
        self.filled(Access::Write, bytes, fill)
    }

    fn filled<E: From<Error>>(
        &self,
        access: Access,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        start();
        // Must come before the claim: it may call Caffe's code.
        let pinned = self.has_no_host_block() && host::wants_pinned(bytes);
        let mut claim = self.claim_always()?;
        self.finish(&mut claim)?;
        let now = self.now()?;
        recorder::record(self.subject(), || What::Accessed { side: Side::Host, access });
        let (_, step) = self.step(Operation::Access(access, Side::Host))?;
        let (next, new) = self.with_host_block(now.with(step.next), Fill::Nothing, Source { pinned, reuse: None })?;
        let filled = next.host.map_or(Ok(()), |host| {
            // SAFETY: the block has the object's size, and any bytes are values. It is new, or the caller of `fill` guarantees
            // Exclusive.
            fill(unsafe { std::slice::from_raw_parts_mut(host.as_ptr().cast(), bytes) })
        });
        if filled.is_ok() {
            self.publish(claim, next);
        } else {
            // `fill` may have written a part: the host's bytes are no longer the device's.
            let released =
                step::step(now.contents(), Operation::Release(Side::Host)).ok().filter(|_| new.host.is_none());
            self.publish(claim, released.map_or(now, |step| now.with(step.next)));
            // SAFETY: the new block was not published.
            unsafe { new.free() };
        }
        filled
    }
}
