//! Allocates, fills and copies, so that the newest data is on the side asked for.
#![expect(unsafe_code, reason = "blocks are copied")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Access, Side};
use syncedmem_trace::event::{Cause, What};

use super::sharing::Executing;
use super::sharing::share::Share;
use super::table::{Blocking, Claimed};
use super::{Detached, Entry, ObjectState, SyncedMemory, TABLE, reclaim, refused, start};
use crate::copy::{self, Endpoints};
use crate::error::Error;
use crate::memory::arena::host::Gap;
use crate::memory::{device, host};
use crate::observe::recorder;
use crate::platform::sync::Ordering;
use crate::state::fast_path;
use crate::state::flags::{self, SHARING};
use crate::state::step::{self, Contents, Fill, Operation, Step};
use crate::state::word::Word;
use crate::{cuda, settings};

/// Where a new block is to come from.
#[derive(Clone, Copy, Default)]
pub(super) struct Source {
    pub pinned: bool,
    /// The layer that executes, if the block may come from the thread's arena.
    pub reuse: Option<Executing>,
}

impl SyncedMemory {
    /// Makes `side`'s data current and returns its address: NULL only on the device, for an object of 0 bytes.
    #[inline]
    pub fn data(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        if fast_path::is_watched(side) {
            self.check_access(side)?;
        }
        match self.ready(access, side) {
            Some(address) => Ok(address),
            None => self.prepare(access, side),
        }
    }

    /// Returns the address if `access` needs no work.
    #[inline]
    pub fn ready(&self, access: Access, side: Side) -> Option<*mut c_void> {
        self.ready_if(Word::deciding(access, side), side)
    }

    /// [`Self::ready`] with the deciding bits of the word. No bits decide nothing: `None`.
    #[inline]
    pub fn ready_if(&self, deciding: u64, side: Side) -> Option<*mut c_void> {
        // Relaxed: `load` has acquired the word, which is stored after the pointer.
        self.load().is_ready(deciding, side).then(|| self.pointer(side).load(Ordering::Relaxed))
    }

    /// Does the work of an access, once for all threads that need it at the same time.
    #[cold]
    #[inline(never)]
    fn prepare(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        if side == Side::Device {
            self.head()?;
            cuda::driver()?;
        }
        start();
        let reuse = if flags::has(SHARING) {
            if let Some(unread) = self.unread(access)? {
                return Ok(unread.as_ptr());
            }
            self.reuse(access, side)?
        } else {
            None
        };
        if side == Side::Host {
            if let Some(address) = self.first_touch(access) {
                return Ok(address);
            }
        }
        let bytes = self.size.load(Ordering::Relaxed);
        // Must come before any lock or claim: it may call Caffe's code.
        let pinned = side == Side::Host && self.has_no_host_block() && host::wants_pinned(bytes);
        let claimed = self.claim_unless(Blocking::Yes, |entry| self.ready_under_lock(access, side, entry));
        let mut claim = match claimed.map_err(refused)? {
            Claimed::Owner(claim) => claim,
            Claimed::Ready(address) => return Ok(address),
        };
        if flags::is_observed() {
            recorder::record(self.subject(), || What::Accessed { side, access });
        }
        let _context = cuda::context::Operation::begin();
        let operation = Operation::Access(access, side);
        if flags::has(SHARING) {
            self.bring_back(&claim, Source { pinned, reuse })?;
            if access != Access::Read {
                self.separate(&claim)?;
            }
        }
        let (now, _) = self.step(operation)?;
        if claim.in_flight.is_some_and(|copy| step::waits(now.contents(), copy.to, operation)) {
            self.finish(&mut claim)?;
        }
        let state = self.prepared(access, side, Source { pinned, reuse })?;
        self.publish(claim, state);
        Ok(state.pointer(side))
    }

    /// Returns the address if `access` needs no claim. A slow bit without an entry is left from earlier memory: a claim clears it.
    fn ready_under_lock(&self, access: Access, side: Side, entry: Option<&mut Entry>) -> Option<*mut c_void> {
        let Some(entry) = entry else { return self.ready(access, side) };
        let (now, operation) = (self.state().ok()?, Operation::Access(access, side));
        let contents = now.contents();
        let has_nothing_to_do = step::step(contents, operation) == Ok(Step { fill: Fill::Nothing, next: contents });
        let waits = entry.in_flight.is_some_and(|copy| step::waits(contents, copy.to, operation));
        let separates = access != Access::Read && entry.share.as_ref().is_some_and(Share::is_lent);
        (has_nothing_to_do && !waits && !separates).then(|| now.pointer(side))
    }

    /// Makes the first access to a small object on the host, while no flag is set. It needs no claim: if two threads allocate at
    /// once, the second one frees its block.
    #[inline(always)]
    pub fn first_touch(&self, access: Access) -> Option<*mut c_void> {
        let bytes = self.size.load(Ordering::Relaxed);
        if !(flags::none() && self.load().is_untouched() && (1..=host::BRIEF).contains(&bytes)) {
            return None;
        }
        let step = step::step(Contents::Untouched, Operation::Access(access, Side::Host)).ok()?;
        let word = Word::NEW.with(step.next).with_host(true, false);
        let address = host::allocate_small(bytes, step.fill == Fill::Zeros)?;
        // A closure, so that it is inlined: exceptions pass this frame, and a call that may unwind would have to release the lock.
        let publish = || {
            let is_first = self.load().is_untouched();
            if is_first {
                self.store(ObjectState { host: Some(address), device: None, word }, false);
            }
            is_first
        };
        if TABLE.unless_known(self.address(), publish) == Ok(Some(true)) {
            return Some(address.as_ptr());
        }
        // SAFETY: `allocate_small` gave this thread the block, which was not published.
        unsafe { host::free_small(address, bytes, self.address()) };
        None
    }

    /// Allocates, fills and copies, and returns the next state. An error changes nothing.
    #[inline]
    fn prepared(&self, access: Access, side: Side, from: Source) -> Result<ObjectState, Error> {
        let (now, Step { fill, next }) = self.step(Operation::Access(access, side))?;
        let next = now.with(next);
        if fill == Fill::Nothing {
            return Ok(next);
        }
        let with_block = match side {
            Side::Host => self.with_host_block(next, fill, from),
            Side::Device => self.with_device_block(cuda::driver()?, next, fill, from),
        }?;
        if fill != Fill::Copy {
            return Ok(with_block.0);
        }
        self.copied(cuda::driver()?, with_block, side, Cause::Access(access)).map(|(next, _)| next)
    }

    /// Adds a host block to `state` unless it has one, and returns the new block too. If memory runs out, it gives back idle blocks
    /// and tries once more.
    #[inline]
    pub(super) fn with_host_block(
        &self,
        state: ObjectState,
        fill: Fill,
        from: Source,
    ) -> Result<(ObjectState, Detached), Error> {
        let attempt = || self.with_host_block_at_once(state, fill, from);
        attempt().or_else(|error| reclaim::make_room(error, self.subject(), attempt))
    }

    /// [`Self::with_host_block`] without the second try.
    #[inline]
    fn with_host_block_at_once(
        &self,
        state: ObjectState,
        fill: Fill,
        Source { pinned, reuse }: Source,
    ) -> Result<(ObjectState, Detached), Error> {
        let bytes = self.size.load(Ordering::Relaxed);
        let spoil = |host, fill| {
            if fill == Fill::Undefined && settings::fills_with_junk() {
                // SAFETY: the block is of the object's size, and the caller of the access is about to write all of it.
                unsafe { host::fill_with_junk(host, bytes) };
            }
        };
        if let Some(host) = state.host {
            spoil(host, fill);
            return Ok((state, Detached::default()));
        }
        let request =
            |fill| host::Request { bytes, zeroed: fill == Fill::Zeros, pinned, aligned: false, owner: self.address() };
        let take = |fill, place| {
            let taken = host::take_from_arena(request(fill), place, Gap::Any);
            Ok(taken.inspect(|block| spoil(block.address, fill)))
        };
        // An arena's block is not page-locked: it is no destination of a copy from the device.
        let reused = self.reused(reuse.filter(|_| state.device.is_none()), Side::Host, fill, take)?;
        let host::HostMemory { address, owned, pinned } = match reused {
            Some(block) => block,
            None => host::allocate(request(fill)).inspect(|block| spoil(block.address, fill))?,
        };
        let next = ObjectState { host: Some(address), word: state.word.with_host(owned, pinned), ..state };
        Ok((
            next,
            Detached {
                host: owned.then_some(host::Owned { address, bytes, pinned, owner: self.address() }),
                ..Detached::default()
            },
        ))
    }

    /// [`Self::with_host_block`] on the device. An object of 0 bytes gets no block.
    pub(super) fn with_device_block(
        &self,
        driver: &cuda::driver::Driver,
        state: ObjectState,
        fill: Fill,
        from: Source,
    ) -> Result<(ObjectState, Detached), Error> {
        let attempt = || self.with_device_block_at_once(driver, state, fill, from);
        attempt().or_else(|error| reclaim::make_room(error, self.subject(), attempt))
    }

    /// [`Self::with_device_block`] without the second try.
    fn with_device_block_at_once(
        &self,
        driver: &cuda::driver::Driver,
        state: ObjectState,
        fill: Fill,
        from: Source,
    ) -> Result<(ObjectState, Detached), Error> {
        let bytes = self.size.load(Ordering::Relaxed);
        // Compat: cudaMalloc of 0 bytes succeeds, with NULL.
        if state.device.is_some() || bytes == 0 {
            return Ok((state, Detached::default()));
        }
        host::check_size(bytes, Side::Device)?;
        let take = |fill, place| device::take_from_arena(driver, bytes, fill, self.address(), place);
        let block = match self.reused(from.reuse, Side::Device, fill, take)? {
            Some(block) => block,
            None => device::allocate(driver, bytes, fill, self.address())?,
        };
        let next = ObjectState { device: Some(block), word: state.word.with_device(true), ..state };
        Ok((next, Detached { device: Some((block, self.address())), ..Detached::default() }))
    }

    /// Copies the newest data to the side `to` of `next`. On an error it frees `new`, the block that was made for the copy.
    pub(super) fn copied(
        &self,
        driver: &cuda::driver::Driver,
        (next, new): (ObjectState, Detached),
        to: Side,
        cause: Cause,
    ) -> Result<(ObjectState, Detached), Error> {
        let subject = self.subject();
        let (Some(device), Some(host), 1..) = (next.device, next.host, subject.bytes) else { return Ok((next, new)) };
        let title = match to {
            Side::Host => c"copy to host",
            Side::Device => c"copy to device",
        };
        let endpoints = self.endpoints(next, (device, host), to);
        let mut span = recorder::begin(title, subject.bytes);
        // SAFETY: both blocks have the object's size: the library allocated them so, or the caller of `set_data` guarantees it.
        let copied = unsafe { copy::copy(driver, endpoints, subject.bytes) };
        // SAFETY: the caller of this function has published `new` nowhere.
        let (path, new) = unsafe { new.kept_for(copied) }?;
        span.stop();
        span.end(subject, || What::Copied { to, bytes: subject.bytes as u64, path, cause });
        Ok((next, new))
    }

    #[inline]
    pub(super) fn has_no_host_block(&self) -> bool {
        self.block(self.load(), Side::Host).is_none()
    }

    pub(super) fn endpoints(
        &self,
        state: ObjectState,
        (device, host): (NonNull<c_void>, NonNull<c_void>),
        to: Side,
    ) -> Endpoints {
        let owner = state.word.owns_device().then_some(self.address());
        Endpoints { device, host, to, owner, pinned: state.word.is_pinned() }
    }

    #[cold]
    fn check_access(&self, side: Side) -> Result<(), Error> {
        if side == Side::Device {
            self.head()?;
            cuda::driver()?;
        }
        if settings::checks_device() { self.check_device() } else { Ok(()) }
    }

    /// Compat: the check of the original's DEBUG build: an error if the current device is not the device block's.
    #[cold]
    pub fn check_device(&self) -> Result<(), Error> {
        let now = self.state()?;
        now.device.filter(|_| now.word.owns_device()).map_or(Ok(()), device::check)
    }
}
