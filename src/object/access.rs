//! Access to the two sides: how data is made ready where it is wanted.
#![expect(unsafe_code, reason = "blocks are copied")]

use std::ffi::c_void;
use std::ptr::NonNull;

use super::claims::{Blocking, Claimed};
use super::eviction::policy::Use;
use super::eviction::reclaim;
use super::{Outcome, Owned, POLICIES, SyncedMemory, TABLE, refused, start, watch_forks};
use crate::copy::{self, Endpoints};
use crate::error::Error;
use crate::memory::{device, host};
use crate::observe::event::{Cause, What};
use crate::observe::{checksums, recorder};
use crate::platform::sync::{Interrupted, Ordering};
use crate::state::fast_path;
use crate::state::flags::{self, ACCESSES, BY_OBJECT, KEPT};
use crate::state::head::{Access, Contents, Head, Side, Step};
use crate::state::word::Word;
use crate::{cuda, settings};

impl SyncedMemory {
    /// The address of `side`'s data, made ready for `access`. It is null only on the device, for size 0.
    #[inline]
    pub fn data(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        if fast_path::is_watched(side) {
            self.look(side)?;
        }
        match self.ready(access, side) {
            Some(address) => {
                if flags::has(ACCESSES) {
                    self.tell_access(access, side, true);
                }
                Ok(address)
            }
            None => self.prepare_apart(access, side),
        }
    }

    #[cold]
    #[inline(never)]
    fn prepare_apart(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        self.prepare(access, side)
    }

    /// Tells of an access that the object is about to serve, or has just served.
    #[cold]
    fn tell_access(&self, access: Access, side: Side, ready: bool) {
        recorder::record(self.subject(), || What::Accessed { side, access, ready });
    }

    /// The address of `side`'s data if nothing need be done for `access`: one load, one compare, no lock.
    #[inline]
    pub fn ready(&self, access: Access, side: Side) -> Option<*mut c_void> {
        self.ready_if(Word::deciding(access, side), side)
    }

    /// The same, with the bits that decide: none of them, and the answer is always `None`.
    #[inline]
    pub fn ready_if(&self, deciding: u64, side: Side) -> Option<*mut c_void> {
        // Relaxed: written before the word that `load` acquired.
        self.load().is_ready(deciding, side).then(|| self.pointer(side).load(Ordering::Relaxed))
    }

    /// Does what `access` to `side` needs, once for all threads that ask at the same time.
    /// In a frame of the caller's: see `prepare_apart`.
    #[inline(always)]
    pub fn prepare(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        if side == Side::Device {
            self.head()?;
            cuda::driver()?;
        }
        watch_forks().map_err(refused)?;
        start();
        let bytes = self.size.load(Ordering::Relaxed);
        // Asked before anything is held: it may be Caffe's own code that answers.
        let pinned = side == Side::Host && self.has_no_host_block() && host::wants_pinned(bytes);
        if side == Side::Host && !pinned && flags::none_but(BY_OBJECT) {
            // Under the lock under which policies are set. Nothing else that is kept matters before the first block.
            if let Some(address) = self.touch(access, || !POLICIES.knows(self.address())) {
                return Ok(address);
            }
        }
        let claimed = self.claim_unless(Blocking::Yes, |is_known| self.ready_under_lock(access, side, is_known));
        let mut claim = match claimed.map_err(refused)? {
            Claimed::Owner(claim) => claim,
            Claimed::Ready(address) => {
                let address = address?;
                if flags::has(ACCESSES) {
                    self.tell_access(access, side, true);
                }
                return Ok(address);
            }
        };
        if !flags::off() {
            self.tell_access(access, side, false);
        }
        let now = self.now()?;
        let goes_on = side == Side::Device && access != Access::Read && now.head().is_current(side);
        if !goes_on || claim.in_flight.is_some_and(|copy| copy.to == Side::Host) {
            self.finish(&mut claim)?;
        }
        let outcome = self.prepared(self.now()?, access, side, pinned)?;
        self.publish(claim, outcome, Use::Opens);
        Ok(outcome.pointer(side))
    }

    /// What there is without a claim: a side that is current may be read whatever is in flight. But a slow bit without
    /// an entry or a mark was left in a forked child, or by what is gone: a claim clears it.
    fn ready_under_lock(&self, access: Access, side: Side, is_known: bool) -> Option<Result<*mut c_void, Interrupted>> {
        let word = self.load();
        let readable = access == Access::Read && word.head().is_some_and(|head| head.is_current(side));
        let serves = match is_known {
            true => readable || self.ready(access, side).is_some(),
            false => word.fast().is_ready(Word::deciding(access, side), side),
        };
        // Opened last: only if the address is handed out.
        let is_opened = if serves && word.is_slow() { self.open_access() } else { Ok(!word.is_slow()) };
        match is_opened {
            Err(interrupted) => Some(Err(interrupted)),
            Ok(opened) => (serves && (opened || is_known)).then(|| Ok(self.pointer(side).load(Ordering::Relaxed))),
        }
    }

    /// The first access to a small object, on the host, while no flag is set. `None`: `data` is to be asked.
    #[inline(always)]
    pub fn first_touch(&self, access: Access) -> Option<*mut c_void> {
        // The flag again, under the lock: it is raised before an object is marked. A call would do there, but not in this frame,
        // which exceptions pass: it would have to release the lock if the call unwound.
        if flags::none() { self.touch(access, || !flags::has(KEPT)) } else { None }
    }

    /// The first access to a small object, on the host, where the block is pageable. There is no claim: two threads that
    /// come at once both allocate, and the second one frees its block. `is_plain` says under the lock whether the object has
    /// no policy.
    #[inline(always)]
    fn touch(&self, access: Access, is_plain: impl FnOnce() -> bool) -> Option<*mut c_void> {
        let (word, bytes) = (self.load(), self.size.load(Ordering::Relaxed));
        if !word.is_untouched() || !(1..=host::BRIEF).contains(&bytes) {
            return None;
        }
        let step = Head::Uninitialized.on(access, Side::Host);
        let address = host::allocate_brief(bytes, step.contents == Contents::Zeros)?;
        let word = word.with_head(step.head).with_host(true, false);
        let publish = || {
            let is_first = self.load().is_untouched() && is_plain();
            if is_first {
                self.store(Outcome { host: Some(address), device: None, word }, false);
            }
            is_first
        };
        if TABLE.briefly(self.address(), publish) != Ok(Some(true)) {
            // SAFETY: only this thread knows it.
            unsafe { host::free_brief(address, bytes) };
            return None;
        }
        Some(address.as_ptr())
    }

    /// Allocates, fills and copies as `access` to `side` needs, for an object that is as `now` says, and returns what
    /// it is to look like. On an error nothing has changed.
    #[inline]
    fn prepared(&self, now: Outcome, access: Access, side: Side, pinned: bool) -> Result<Outcome, Error> {
        let step = now.head().on(access, side);
        if step.contents == Contents::Undefined && !flags::off() {
            checksums::forget(self.address());
        }
        if side == Side::Device {
            return self.prepared_on_device(now, step, access);
        }
        let next = now.with_head(step.head);
        if step.contents == Contents::Copy {
            return self.copied_to_host(now, next, pinned, access);
        }
        if step.contents == Contents::Current || (step.contents == Contents::Undefined && now.host.is_some()) {
            return Ok(next);
        }
        self.with_host_block(next, step.contents, pinned).map(|(next, _)| next)
    }

    #[cold]
    fn copied_to_host(&self, now: Outcome, next: Outcome, pinned: bool, access: Access) -> Result<Outcome, Error> {
        let driver = cuda::driver()?;
        let bytes = self.size.load(Ordering::Relaxed);
        let (next, new) = self.with_host_block(next, Contents::Undefined, pinned)?;
        if let (Some(device), Some(host), 1..) = (now.device, next.host, bytes) {
            // SAFETY: both blocks are of the object's size: its own, or its caller's who says so.
            let copied = unsafe { self.copy(driver, next, (device, host), Side::Host, Cause::Access(access)) };
            if let Err(error) = copied {
                // SAFETY: nobody knows it yet.
                unsafe { new.free() };
                return Err(error);
            }
        }
        Ok(next)
    }

    /// The same outcome with a host block, and that block if it is a new one. Where there is no room for it, some is
    /// made.
    #[inline]
    pub(super) fn with_host_block(
        &self,
        outcome: Outcome,
        contents: Contents,
        pinned: bool,
    ) -> Result<(Outcome, Owned), Error> {
        let attempt = || self.with_host_block_at_once(outcome, contents, pinned);
        attempt().or_else(|error| reclaim::make_room(error, self.subject(), attempt))
    }

    /// The same, where there is room for it.
    #[inline]
    pub(super) fn with_host_block_at_once(
        &self,
        outcome: Outcome,
        contents: Contents,
        pinned: bool,
    ) -> Result<(Outcome, Owned), Error> {
        if outcome.host.is_some() {
            return Ok((outcome, Owned::default()));
        }
        let bytes = self.size.load(Ordering::Relaxed);
        let request = host::Request { bytes, zeroed: contents == Contents::Zeros, pinned, holder: self.address() };
        let host::Block { address, owned, pinned } = host::allocate(request)?;
        let next = Outcome { host: Some(address), word: outcome.word.with_host(owned, pinned), ..outcome };
        Ok((
            next,
            Owned {
                host: owned.then_some(host::Owned { address, bytes, pinned, holder: self.address() }),
                ..Owned::default()
            },
        ))
    }

    #[cold]
    fn prepared_on_device(&self, now: Outcome, step: Step, access: Access) -> Result<Outcome, Error> {
        let driver = cuda::driver()?;
        let bytes = self.size.load(Ordering::Relaxed);
        let (next, contents) = (now.with_head(step.head), step.contents);
        if contents == Contents::Current {
            return Ok(next);
        }
        let (next, new) = self.with_device_block(driver, next, contents)?;
        if let (Contents::Copy, Some(device), Some(host), 1..) = (contents, next.device, now.host, bytes) {
            // SAFETY: both blocks are of the object's size: its own, or its caller's who says so.
            let copied = unsafe { self.copy(driver, next, (device, host), Side::Device, Cause::Access(access)) };
            if let Err(error) = copied {
                // SAFETY: nobody knows it yet.
                unsafe { new.free() };
                return Err(error);
            }
        }
        Ok(next)
    }

    /// The same outcome with a device block, unless there are no bytes, and that block if it is a new one. Where there
    /// is no room for it, some is made.
    pub(super) fn with_device_block(
        &self,
        driver: &cuda::driver::Driver,
        outcome: Outcome,
        contents: Contents,
    ) -> Result<(Outcome, Owned), Error> {
        let attempt = || self.with_device_block_at_once(driver, outcome, contents);
        attempt().or_else(|error| reclaim::make_room(error, self.subject(), attempt))
    }

    /// The same, where there is room for it.
    pub(super) fn with_device_block_at_once(
        &self,
        driver: &cuda::driver::Driver,
        outcome: Outcome,
        contents: Contents,
    ) -> Result<(Outcome, Owned), Error> {
        let bytes = self.size.load(Ordering::Relaxed);
        // Compat: where there are no bytes the device's address is null, and that is a success; see cudaMalloc.
        if outcome.device.is_some() || bytes == 0 {
            return Ok((outcome, Owned::default()));
        }
        host::check_size(bytes, Side::Device)?;
        let block = device::allocate(driver, bytes, contents, self.address())?;
        let word = outcome.word.with_device(true, Some(block.ordinal));
        let next = Outcome { device: Some(block.address), word, ..outcome };
        Ok((next, Owned { device: Some((block.address, self.address())), ..Owned::default() }))
    }

    /// Copies the newest data to the side `to`, for an object as `outcome` says, whose blocks those are.
    ///
    /// # Safety
    /// Both blocks are good for the object's size, which is not 0.
    pub(super) unsafe fn copy(
        &self,
        driver: &cuda::driver::Driver,
        outcome: Outcome,
        (device, host): (NonNull<c_void>, NonNull<c_void>),
        to: Side,
        cause: Cause,
    ) -> Result<(), Error> {
        let subject = self.subject();
        let compares = checksums::are_compared();
        if compares && to == Side::Device {
            // SAFETY: it is about to be copied.
            unsafe { checksums::before_copy_to_device(subject, host) };
        }
        let title = match to {
            Side::Host => c"copy to host",
            Side::Device => c"copy to device",
        };
        let pinned = self.hold_pinned(outcome, host);
        let mut span = recorder::begin(title, subject.bytes);
        // SAFETY: the caller guarantees it.
        let path = unsafe { copy::copy(driver, self.endpoints(outcome, (device, host), to, pinned), subject.bytes) }?;
        span.stop();
        if compares && to == Side::Host {
            // SAFETY: it was just copied to.
            unsafe { checksums::after_copy_to_host(subject, host, &span) };
        }
        span.end(subject, || What::Copied { to, bytes: subject.bytes as u64, path, cause });
        Ok(())
    }

    #[inline]
    pub(super) fn has_no_host_block(&self) -> bool {
        self.block(self.load(), Side::Host).is_none()
    }

    /// The ends of a copy to the side `to`, for an object as `outcome` says, whose host memory is page-locked if `pinned`.
    pub(super) fn endpoints(
        &self,
        outcome: Outcome,
        (device, host): (NonNull<c_void>, NonNull<c_void>),
        to: Side,
        pinned: bool,
    ) -> Endpoints {
        let owner = outcome.word.owns_device().then_some(self.address());
        Endpoints { device, host, to, owner, pinned }
    }

    /// What is looked at where even data that is current is not handed out at once.
    #[cold]
    fn look(&self, side: Side) -> Result<(), Error> {
        if side == Side::Device {
            self.head()?;
            cuda::driver()?;
        }
        if settings::checks_device() { self.check_device() } else { Ok(()) }
    }

    /// The original's DEBUG check: an error if another device is current than the one that holds the device block.
    #[cold]
    pub fn check_device(&self) -> Result<(), Error> {
        let now = self.now()?;
        now.device.filter(|_| now.word.owns_device()).map_or(Ok(()), device::check)
    }
}
