//! Objects whose contents die before they do: a dead one gives up its memory and keeps its identity.
//!
//! `discard` leaves the head HEAD_AT_CPU, without a block and with the word's slow bit set, so that also code of Caffe's
//! that asks the head alone meets the error of a read. The next write takes memory anew.
//!
//! A shared object has a [`Share`] in its entry, and its blocks come from its thread's arena. Only the layer that is
//! executing may touch it ([`Executing`]): any other access, which may keep the address, keeps the object apart, and with
//! it the block that it has.
#![expect(unsafe_code, reason = "blocks are given back")]

pub mod share;

use std::ffi::{CStr, c_void};
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
use crate::memory::{blocks, device};
use crate::platform::sync::Ordering;
use crate::platform::text::warn_once;
use crate::platform::thread_pointer::ThreadPointer;
use crate::settings;
use crate::state::flags::{self, SHARING};
use crate::state::step::{Contents, Fill, Operation};
use share::Share;

/// What a thread does with shared objects. Stored as a pointer's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Executing {
    /// No layer: an access may keep the address.
    Nothing = 0,
    /// A layer that writes all of what it is lent.
    Layer = 1,
    /// A layer that is lent zeros.
    LayerWithZeros = 2,
}

static EXECUTING: ThreadPointer = ThreadPointer::new(None);

impl Executing {
    pub const ALL: [Executing; 3] = [Executing::Nothing, Executing::Layer, Executing::LayerWithZeros];

    /// Sets it for this thread; returns what it was.
    pub fn begin(self) -> Executing {
        let before = Executing::now();
        EXECUTING.set(self as usize as *mut c_void);
        before
    }

    fn now() -> Executing {
        Executing::ALL.get(EXECUTING.get().addr()).copied().unwrap_or(Executing::Nothing)
    }
}

/// The place of a block in the thread's arena, for the layer that is executing.
#[derive(Clone, Copy)]
pub(super) struct Reuse {
    place: Place,
    zeroed: bool,
}

/// Why no arena may lend: what the settings promise of host blocks does not hold for its blocks.
fn unfit() -> Option<&'static str> {
    if settings::malloc_only() {
        Some(
            "free() must be able to free each host block (SYNCEDMEM_HOST_BLOCKS is malloc, or another copy of this library is \
             loaded), which it cannot with a shared one; unset the variable, or load one copy",
        )
    } else if blocks::program().is_some() {
        Some(
            "host blocks are to come from the program's own allocator; call syncedmem_set_host_allocator(NULL) to share",
        )
    } else {
        None
    }
}

impl SyncedMemory {
    /// Lets the object take its memory from the thread's arena, if nothing has touched it yet. `gone` is the error's sentence.
    /// Returns whether the object is shared.
    pub fn share(&self, gone: &'static CStr) -> Result<bool, Error> {
        self.head()?;
        if self.size.load(Ordering::Relaxed) == 0 {
            return Ok(false);
        }
        if let Some(why) = unfit() {
            static WARNED: AtomicBool = AtomicBool::new(false);
            warn_once(&WARNED, format_args!("nothing is shared (SYNCEDMEM_SHARE): {why}"));
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

    pub fn place(&self, place: Place) -> Result<(), Error> {
        self.with_share(|share| share.place = place).map(|_| ())
    }

    /// Layers write so many bytes of the object's memory from now on, from its beginning: those of its blob's shape. If its contents
    /// have fewer, the rest becomes zeros, and is never what another object had there.
    pub fn written(&self, bytes: usize) -> Result<(), Error> {
        let from = self.with_share(|share| share.writes(bytes))?.flatten();
        from.map_or(Ok(()), |from| self.zero_from(from))
    }

    /// Fills both sides with zeros from this byte on.
    #[cold]
    fn zero_from(&self, from: usize) -> Result<(), Error> {
        let mut claim = self.claim_always()?;
        self.finish(&mut claim)?;
        let (now, bytes) = (self.state()?, self.size.load(Ordering::Relaxed));
        let Some(rest) = bytes.checked_sub(from).filter(|&rest| rest > 0) else { return Ok(()) };
        if let Some(host) = now.host {
            // SAFETY: the host block has the object's bytes, and this thread has claimed the object.
            unsafe { host.as_ptr().cast::<u8>().add(from).write_bytes(0, rest) };
        }
        now.device.map_or(Ok(()), |device| device::zero(cuda::driver()?, device, from, rest))
    }

    /// `None`: the object is not shared.
    fn with_share<R>(&self, work: impl FnOnce(&mut Share) -> R) -> Result<Option<R>, Error> {
        Ok(self.with_entry(|entry| entry.share.as_mut().map(work))?.flatten())
    }

    /// Gives up the contents and the memory of both sides. The object is then as new, but that it must be written first.
    ///
    /// # Safety
    /// The object's pointers are not used any more.
    pub unsafe fn discard(&self) -> Result<(), Error> {
        self.head()?;
        flags::raise_if(true, SHARING);
        let mut claim = self.claim_always()?;
        claim.with(|entry| entry.tensors.refuse(None))?;
        self.finish(&mut claim)?;
        let (now, step) = self.step(Operation::Discard)?;
        if step.next == now.contents() || self.size.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let old = self.owned(now.word);
        let next = ObjectState::UNTOUCHED.with(step.next);
        let imports = self.publish_with(claim, next, |entry| entry.tensors.take_imports());
        // SAFETY: the object does not refer to them, and the caller gave up its pointers.
        unsafe { old.free() };
        exchange::end_imports(imports);
        Ok(())
    }

    /// `discard`, unless the object is kept apart.
    ///
    /// # Safety
    /// As for `discard`.
    pub unsafe fn discard_shared(&self) -> Result<(), Error> {
        if self.is_shared()? {
            // SAFETY: the caller guarantees it.
            unsafe { self.discard() }?;
        }
        Ok(())
    }

    fn is_shared(&self) -> Result<bool, Error> {
        self.with_share(|_| ()).map(|share| share.is_some())
    }

    /// Keeps the object, and the block that it may have, apart from now on.
    pub(super) fn keep_apart(&self) -> Result<(), Error> {
        // Compat: an old Caffe's inlined constructor does not write the slow bit, by which the entry is found.
        if !share::is_any() {
            return Ok(());
        }
        let Some(share) = self.with_entry(|entry| entry.share.take())?.flatten() else { return Ok(()) };
        share.note_touched();
        if share.written == usize::MAX { Ok(()) } else { self.zero_from(share.written) }
    }

    /// The end of the last shared object gives the arenas' memory back.
    pub(super) fn end_sharing(share: Option<Share>) {
        if share.map(drop).is_some() && !share::is_any() {
            arena::host::release_idle();
            arena::device::release_idle(Devices::All);
        }
    }

    /// Before an access that needs work: where the thread's arena has a block for it, if the object is shared and a layer makes the
    /// access. Any other access takes the object out of sharing, and so does one that needs what the arena does not have.
    #[cold]
    pub(super) fn reuse(&self, access: Access, side: Side) -> Result<Option<Reuse>, Error> {
        let Some(place) = self.with_share(|share| share.place)? else { return Ok(None) };
        let (executing, contents) = (Executing::now(), self.state()?.contents());
        let is_served = executing != Executing::Nothing;
        if contents == Contents::GivenUp && !(is_served && access != Access::Read) {
            return Err(self.given_up());
        }
        // Compat: what a layer reads first holds zeros, and other passes may rely on them.
        if !is_served || contents == Contents::Untouched && access == Access::Read || unfit().is_some() {
            self.keep_apart()?;
            return Ok(None);
        }
        // An arena on the host is not page-locked. In GPU mode few layers need any host memory.
        if side == Side::Host && (settings::pins() == Some(true) || caffe::is_gpu(false)) {
            return Ok(None);
        }
        Ok(Some(Reuse { place, zeroed: executing == Executing::LayerWithZeros }))
    }

    /// A block that `lend` takes from the thread's arena. Without one the object is shared no longer.
    #[cold]
    pub(super) fn reused<B>(
        &self,
        Reuse { place, zeroed }: Reuse,
        side: Side,
        fill: Fill,
        lend: impl FnOnce(Fill, Place) -> Result<Option<B>, Error>,
    ) -> Result<Option<B>, Error> {
        // A layer that writes all of its memory needs no zeros.
        let fill = if fill == Fill::Zeros && !zeroed { Fill::Undefined } else { fill };
        let block = lend(fill, place)?;
        self.with_entry(|entry| match (&mut entry.share, &block) {
            (Some(share), Some(_)) => {
                if fill != Fill::Copy {
                    share.begin_block();
                }
                share.count(side, self.size.load(Ordering::Relaxed) as u64);
            }
            (share, _) => *share = None,
        })?;
        Ok(block)
    }

    pub(super) fn given_up(&self) -> Error {
        let gone = self.with_share(|share| share.gone).ok().flatten();
        Error::GivenUp { what: gone.and_then(|gone| gone.to_str().ok()) }
    }
}
