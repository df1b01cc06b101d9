//! Memory that objects share: an object gives up contents that no layer reads again, and another object gets its block.
//!
//! `discard` leaves the head HEAD_AT_CPU without a block, and sets the word's slow bit, so that every read gets an error, even in
//! code of Caffe that asks the head alone. The next write allocates.
//!
//! A shared object has a [`Share`] in its entry, and its blocks come from the arena of its thread. Only the layer that is executing
//! may touch it ([`Executing`]). Any other access may keep the address, so it ends the sharing: the object keeps the block it has.
#![expect(unsafe_code, reason = "blocks are given back")]

pub mod parked;
pub mod share;

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

use syncedmem_core::head::{Access, Side};

use super::dlpack::exchange;
use super::table::Blocking;
use super::{ObjectState, SyncedMemory, refused};
use crate::caffe;
use crate::cuda;
use crate::error::Error;
use crate::memory::arena;
use crate::memory::arena::device::{Devices, Place};
use crate::memory::{device, host};
use crate::platform::sync::Ordering;
use crate::platform::text::warn_once;
use crate::platform::thread_pointer::ThreadPointer;
use crate::settings;
use crate::state::flags::{self, SHARING};
use crate::state::step::{Contents, Fill, Operation};
use share::Share;

/// Whether the thread executes a layer. Stored as the address of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Executing {
    /// An access may come from anywhere, and may keep the address.
    Nothing = 0,
    /// The layer writes all of each block it gets.
    Layer = 1,
    /// The layer gets blocks of zeros.
    LayerWithZeros = 2,
    /// The layer asks for data that it does not read, as an Eltwise sum does in `Backward`.
    LayerWithoutReads = 3,
}

static EXECUTING: ThreadPointer = ThreadPointer::new(None);

impl Executing {
    pub const ALL: [Executing; 4] =
        [Executing::Nothing, Executing::Layer, Executing::LayerWithZeros, Executing::LayerWithoutReads];

    /// Sets the value for this thread, and returns the previous one.
    pub fn begin(self) -> Executing {
        let before = Executing::now();
        EXECUTING.set(self as usize as *mut c_void);
        before
    }

    fn now() -> Executing {
        Executing::ALL.get(EXECUTING.get().addr()).copied().unwrap_or(Executing::Nothing)
    }
}

impl SyncedMemory {
    /// Lets the object take its memory from the thread's arena, if nothing has touched it yet. `gone` is the sentence of the error of a
    /// read after the contents are given up. Returns whether the object is shared.
    pub fn share(&self, gone: &'static CStr) -> Result<bool, Error> {
        self.head()?;
        if self.size.load(Ordering::Relaxed) == 0 {
            return Ok(false);
        }
        if settings::malloc_only() {
            static WARNED: AtomicBool = AtomicBool::new(false);
            warn_once(
                &WARNED,
                format_args!(
                    "nothing is shared (SYNCEDMEM_SHARE): free() must be able to free each host block \
                     (SYNCEDMEM_HOST_BLOCKS is malloc, or another copy of this library is loaded), which it cannot with \
                     a shared one; unset the variable, or load one copy"
                ),
            );
            return Ok(false);
        }
        flags::raise_if(true, SHARING);
        let claim = self.claim(Blocking::Yes).map_err(refused)?;
        let now = self.state()?;
        if !now.word.is_untouched() {
            return Ok(false);
        }
        self.publish_with(claim, now, |entry| entry.share = Some(Share::new(gone)));
        Ok(true)
    }

    /// Sets the places of the next new block, of the next block for contents that come back, and of contents that are parked, with its bytes.
    pub fn place(&self, places: [Place; 2], stored: (Place, usize)) -> Result<(), Error> {
        self.with_share(|share| (share.places, share.stored) = (places, stored)).map(|_| ())
    }

    /// Notes how many bytes layers write from now on, from the beginning of the object's memory: those of its blob's shape. If the
    /// present contents have fewer, the rest becomes zeros, so that no bytes of another object show.
    pub fn written(&self, bytes: usize) -> Result<(), Error> {
        let from = self.with_share(|share| share.writes(bytes))?.flatten();
        from.map_or(Ok(()), |from| self.zero_from(from))
    }

    /// Fills both sides with zeros, from byte `from` to the end.
    #[cold]
    fn zero_from(&self, from: usize) -> Result<(), Error> {
        let mut claim = self.claim_always()?;
        self.finish(&mut claim)?;
        let (now, bytes) = (self.state()?, self.size.load(Ordering::Relaxed));
        let Some(rest) = bytes.checked_sub(from).filter(|&rest| rest > 0) else { return Ok(()) };
        if let Some(host) = now.host {
            // SAFETY: the host block has the object's size, and this thread has claimed the object.
            unsafe { host.as_ptr().cast::<u8>().add(from).write_bytes(0, rest) };
        }
        now.device.map_or(Ok(()), |device| device::zero(cuda::driver()?, device, from, rest))
    }

    /// Does short `work` with the object's share. `None` if the object is not shared.
    fn with_share<R>(&self, work: impl FnOnce(&mut Share) -> R) -> Result<Option<R>, Error> {
        Ok(self.with_entry(|entry| entry.share.as_mut().map(work))?.flatten())
    }

    /// Gives up the contents and the memory of both sides. A read is an error until the next write.
    ///
    /// # Safety
    /// Dead: the object's pointers are not used any more.
    pub unsafe fn discard(&self) -> Result<(), Error> {
        self.head()?;
        flags::raise_if(true, SHARING);
        let mut claim = self.claim(Blocking::Yes).map_err(refused)?;
        claim.with(|entry| entry.tensors.refuse(None))?;
        self.finish(&mut claim)?;
        let (now, step) = self.step(Operation::Discard)?;
        if step.next == now.contents() || self.size.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let next = ObjectState::UNTOUCHED.with(step.next);
        let mut old = self.owned(now.word);
        let (imports, left) = self.publish_with(claim, next, |entry| {
            (entry.tensors.take_imports(), entry.share.as_mut().and_then(Share::leave_block))
        });
        old.host = old.host.filter(|_| left.is_none());
        // SAFETY: the object no longer refers to the blocks, and the caller of this function guarantees Dead.
        unsafe { old.free() };
        exchange::end_imports(imports);
        Ok(())
    }

    /// [`Self::discard`] if the object is shared.
    ///
    /// # Safety
    /// Dead, as in `discard`.
    pub unsafe fn discard_shared(&self) -> Result<(), Error> {
        if self.is_shared()? {
            // SAFETY: the caller of this function guarantees Dead.
            unsafe { self.discard() }?;
        }
        Ok(())
    }

    fn is_shared(&self) -> Result<bool, Error> {
        self.with_share(|_| ()).map(|share| share.is_some())
    }

    /// Ends the sharing of the object, which keeps the block that it has.
    pub(super) fn unshare(&self) -> Result<(), Error> {
        // Compat: a constructor that was inlined from an old Caffe's header does not write the slow bit, by which an entry is found.
        if !share::is_any() || !self.is_shared()? {
            return Ok(());
        }
        let claim = self.claim_always()?;
        let Some(share) = claim.with(|entry| entry.share.take()) else { return Ok(()) };
        drop(claim);
        share.note_touched();
        if share.written == usize::MAX { Ok(()) } else { self.zero_from(share.written) }
    }

    /// Gives the memory of all arenas back after the last shared object has ended.
    pub(super) fn end_sharing(share: Option<Share>) {
        if share.map(drop).is_some() && !share::is_any() {
            arena::host::release_idle();
            arena::device::release_idle(Devices::All);
        }
    }

    /// Decides for an access that needs work whether its block may come from the thread's arena: if the object is shared and a layer
    /// makes the access. Any other access ends the sharing, and so does one that needs what an arena lacks.
    #[cold]
    pub(super) fn reuse(&self, access: Access, side: Side) -> Result<Option<Executing>, Error> {
        if !self.is_shared()? {
            return Ok(None);
        }
        let (executing, contents) = (Executing::now(), self.state()?.contents());
        let is_served = executing != Executing::Nothing && !(contents == Contents::Parked && side == Side::Device);
        if contents == Contents::GivenUp && !(is_served && access != Access::Read) {
            return Err(self.given_up());
        }
        // Compat: a first read gives zeros, on which other passes may rely.
        if !is_served || contents == Contents::Untouched && access == Access::Read || settings::malloc_only() {
            self.unshare()?;
            return Ok(None);
        }
        // An arena on the host is not page-locked. In GPU mode few layers need any host memory.
        let is_pinned = || settings::pins() == Some(true) || caffe::is_gpu(false);
        Ok(Some(executing).filter(|_| side == Side::Device || !is_pinned()))
    }

    /// Returns a block that `take` gets from the thread's arena. `None` if the object is not shared; if the arena has no block, the
    /// sharing ends. The caller has claimed the object.
    pub(super) fn reused<B>(
        &self,
        layer: Option<Executing>,
        side: Side,
        fill: Fill,
        take: impl FnOnce(Fill, Place) -> Result<Option<B>, Error>,
    ) -> Result<Option<B>, Error> {
        let Some(layer) = layer else { return Ok(None) };
        // Another thread may have ended the sharing before the claim.
        let comes_back = self.load().is_parked();
        let Some(place) = self.with_share(|share| share.places[usize::from(comes_back)])? else { return Ok(None) };
        // Other layers write all of their memory, and need no zeros.
        let fill = if fill == Fill::Zeros && layer != Executing::LayerWithZeros { Fill::Undefined } else { fill };
        let block = take(fill, place)?;
        let ended = self.with_entry(|entry| match (&mut entry.share, &block) {
            (Some(share), Some(_)) => {
                if fill != Fill::Copy {
                    share.begin_block();
                }
                share.count(side, self.size.load(Ordering::Relaxed) as u64);
                None
            }
            // The share knows that a parked object needs the other side's block.
            (share, _) => share.take_if(|share| !share.is_lent()),
        })?;
        drop(ended);
        Ok(block)
    }

    /// The address that a layer gets for contents without a block, if it asks for data that it does not read.
    #[cold]
    pub(super) fn unread(&self, access: Access) -> Result<Option<NonNull<c_void>>, Error> {
        let asks = access == Access::Read && Executing::now() == Executing::LayerWithoutReads;
        if !asks || !matches!(self.state()?.contents(), Contents::GivenUp | Contents::Parked) {
            return Ok(None);
        }
        host::unread::address(self.size.load(Ordering::Relaxed)).map(Some)
    }

    pub(super) fn given_up(&self) -> Error {
        let gone = self.with_share(|share| share.gone).ok().flatten();
        Error::GivenUp { what: gone.and_then(|gone| gone.to_str().ok()) }
    }
}
