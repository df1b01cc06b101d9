//! `SyncedMemory`: the head and two buffers, in the 32 bytes that every Caffe's class begins with.
//!
//! This is the only place that decides to allocate, fill or copy. An object whose data is where it is wanted
//! is served by one load and one compare; everything else claims the object in the [`claims`] first.
//!
//! The object's life and what it looks like are here. `access` makes its data ready, `set_data` exchanges its blocks,
//! `transfer` lets copies go on in the background, `query` answers questions, `eviction` takes a side when memory has run
//! out, `outcome` is an object's state after an operation, `created` holds the objects in the library's own storage, and
//! `dlpack` the tensors that other libraries have of objects, and objects of other libraries' memory.
#![expect(unsafe_code, reason = "objects live in storage that C++ owns, and blocks are freed")]

mod access;
pub mod claims;
mod created;
pub(crate) mod dlpack;
pub(crate) mod eviction;
mod outcome;
mod pin_in_place;
mod query;
pub(crate) mod report;
pub(crate) mod set_data;
mod transfer;
pub(crate) mod trim;

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::copy::transfer::InFlight;
use crate::error::{Cause, Error};
use crate::memory::host;
use crate::observe::recorder::{self, Subject};
use crate::observe::{checksums, control};
use crate::platform::fork;
use crate::platform::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, locked_static, this_thread};
use crate::state::flags::{self, BESIDE, BY_OBJECT, CHECKED, KEPT, MAY_PIN, UNSETTLED};
use crate::state::head::{Head, Side};
use crate::state::word::Word;
use crate::{cuda, settings};
use claims::{Blocking, Claimed, Identity, NoClaim};
pub use eviction::policy;
use eviction::policy::{Registry, Use};
use outcome::{Outcome, Owned};

/// The right to work on one object.
type Claim<'t> = claims::Claim<'t, InFlight>;

/// The first 32 bytes of a `caffe::SyncedMemory`, which are all that this library touches.
#[repr(C)]
#[derive(Debug)]
pub struct SyncedMemory {
    cpu_ptr: AtomicPtr<c_void>,
    gpu_ptr: AtomicPtr<c_void>,
    size: AtomicUsize,
    /// A [`Word`]. Every store is a Release under the table's lock, after the pointers are written; a load that
    /// leads to a pointer is an Acquire.
    word: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<SyncedMemory>() == 32 && align_of::<SyncedMemory>() == 8);
    assert!(offset_of!(SyncedMemory, cpu_ptr) == 0 && offset_of!(SyncedMemory, gpu_ptr) == 8);
    assert!(offset_of!(SyncedMemory, size) == 16 && offset_of!(SyncedMemory, word) == 24);
};

locked_static! { static TABLE: claims::Table<InFlight> = claims::Table::new(); fn claims_lock }

locked_static! {
    /// The objects that may be evicted. Its lock is taken with a shard's of the table held, never the other way round.
    static POLICIES: Registry = Registry::new();
    fn policies_lock
}

locked_static! {
    /// Tensors of objects, and tensors that were lent to objects. Its lock is taken with no other held.
    static EXPORTS: dlpack::exports::Registry = dlpack::exports::Registry::new();
    fn exports_lock
}

impl SyncedMemory {
    /// Makes an object of `bytes` in `storage`, as an out-of-line constructor does: nothing is allocated.
    ///
    /// # Safety
    /// `storage` is aligned to 8 and writable for `size_of::<SyncedMemory>()` bytes, and nobody uses it as an object.
    pub unsafe fn construct(storage: NonNull<SyncedMemory>, bytes: usize) {
        if flags::has(BESIDE) {
            Self::begin(Subject { object: storage.addr().get(), bytes });
        }
        // SAFETY: the caller guarantees it.
        unsafe { Self::write(storage, bytes) };
    }

    /// `construct` where no flag of [`BESIDE`] is set.
    ///
    /// # Safety
    /// As for `construct`.
    #[inline]
    pub unsafe fn write(storage: NonNull<SyncedMemory>, bytes: usize) {
        let object = SyncedMemory {
            cpu_ptr: AtomicPtr::new(std::ptr::null_mut()),
            gpu_ptr: AtomicPtr::new(std::ptr::null_mut()),
            size: AtomicUsize::new(bytes),
            word: AtomicU64::new(Word::NEW.0),
        };
        // SAFETY: the caller guarantees writable storage.
        unsafe { storage.write(object) };
    }

    /// Drops what is left of an earlier object at the address of a new one, and records the new one.
    #[cold]
    fn begin(new: Subject) {
        if let Some((stale, _)) = TABLE.purge(new.object) {
            stale.abandon();
        }
        POLICIES.purge(new.object);
        Self::forget_exchange(new.object);
        control::read_settings();
        checksums::forget(new.object);
        recorder::made(new);
    }

    /// Ends a small object if all that it owns is a pageable block, or nothing; returns whether it did.
    ///
    /// # Safety
    /// As for `destruct`.
    #[inline]
    pub unsafe fn destruct_small(&self) -> bool {
        // Relaxed: the caller has seen all that other threads did with the object.
        let (word, bytes) = (Word(self.word.load(Ordering::Relaxed)), self.size.load(Ordering::Relaxed));
        let is_small = bytes <= host::BRIEF
            && word.owns_pageable_alone()
            && flags::none_but(BY_OBJECT)
            && (!flags::has(KEPT) || self.keeps_nothing());
        if !(is_small || word.is_untouched() && !flags::has(BESIDE)) {
            return false;
        }
        self.word.store(Word::DESTROYED.0, Ordering::Relaxed);
        if let Some(address) = self.block(word, Side::Host) {
            // SAFETY: the object owned the block, and nobody uses its pointers any more, says the caller.
            unsafe { host::free_brief(address, bytes) };
        }
        true
    }

    /// Whether nothing is kept beside this object: no copy in flight, policy, tensor or registration.
    #[cold]
    #[inline(never)]
    fn keeps_nothing(&self) -> bool {
        TABLE.is_quiet(self.address())
            && !POLICIES.knows(self.address())
            && EXPORTS.is_empty_by_now()
            && !host::registration::is_used()
    }

    /// Ends the object: frees the blocks it owns. An error means that it was no live object, and nothing was done.
    ///
    /// # Safety
    /// Nobody uses the object or its pointers any more.
    pub unsafe fn destruct(&self) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.destruct_alone() }?;
        Self::forget_exchange(self.address());
        Ok(())
    }

    /// The same, but what was lent to it is still lent.
    ///
    /// # Safety
    /// As for `destruct`.
    #[inline]
    unsafe fn destruct_alone(&self) -> Result<(), Error> {
        // From here on nobody comes to evict it, and it stays as it is.
        POLICIES.purge(self.address());
        let word = self.load();
        if !TABLE.is_quiet(self.address()) {
            self.see_off(word);
        }
        word.head().ok_or(Error::InvalidHandle)?;
        let owned = self.owned(word);
        if let Some(host) = self.block(word, Side::Host).filter(|_| checksums::are_compared()) {
            // SAFETY: nobody uses it any more, says the caller, and it is not freed yet.
            unsafe { checksums::at_end(self.subject(), host) };
        }
        self.word.store(Word::DESTROYED.0, Ordering::Relaxed);
        // SAFETY: nobody uses its pointers any more, says the caller.
        unsafe { owned.free() };
        recorder::ended(self.address());
        Ok(())
    }

    /// Waits for what is in flight, since its blocks are about to be freed; what is not this object's is dropped.
    #[cold]
    fn see_off(&self, word: Word) {
        let Some((copy, identity)) = TABLE.purge(self.address()) else { return };
        if identity != self.identity() || word.is_untouched() {
            copy.abandon();
        } else if let Some(driver) = cuda::driver_in_use() {
            let span = recorder::begin_wait();
            copy.finish_or_abandon(driver);
            self.tell_completed(span, copy);
        }
    }

    /// Where the newest data is.
    pub fn head(&self) -> Result<Head, Error> {
        self.load().head().ok_or(Error::InvalidHandle)
    }

    /// The size of each side, in bytes.
    pub fn size(&self) -> Result<usize, Error> {
        self.head().map(|_| self.size.load(Ordering::Relaxed))
    }

    #[inline]
    fn load(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    #[inline]
    fn pointer(&self, side: Side) -> &AtomicPtr<c_void> {
        match side {
            Side::Host => &self.cpu_ptr,
            Side::Device => &self.gpu_ptr,
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The object, for events about it.
    #[inline]
    fn subject(&self) -> Subject {
        Subject { object: self.address(), bytes: self.size.load(Ordering::Relaxed) }
    }

    fn identity(&self) -> Identity {
        Identity {
            object: self.address(),
            host: self.cpu_ptr.load(Ordering::Relaxed).addr(),
            device: self.gpu_ptr.load(Ordering::Relaxed).addr(),
            size: self.size.load(Ordering::Relaxed),
        }
    }

    /// `side`'s block, if there is one. An UNINITIALIZED object has none, whatever its bytes say.
    #[inline]
    fn block(&self, word: Word, side: Side) -> Option<NonNull<c_void>> {
        let touched = !word.is_untouched();
        NonNull::new(self.pointer(side).load(Ordering::Relaxed)).filter(|_| touched)
    }

    /// The blocks that the object must give back. Asked before the object changes.
    #[inline]
    fn owned(&self, word: Word) -> Owned {
        let borrowed = if host::registration::is_used() { self.borrowed_host(word) } else { None };
        Owned { host: self.owned_host(word), device: self.owned_device(word), borrowed }
    }

    #[inline]
    fn owned_host(&self, word: Word) -> Option<host::Owned> {
        let address = self.block(word, Side::Host).filter(|_| word.owns_host())?;
        let bytes = self.size.load(Ordering::Relaxed);
        Some(host::Owned { address, bytes, pinned: word.is_pinned(), holder: self.address() })
    }

    #[cold]
    fn borrowed_host(&self, word: Word) -> Option<(NonNull<c_void>, usize)> {
        Some((self.block(word, Side::Host).filter(|_| !word.owns_host())?, self.address()))
    }

    #[inline]
    fn owned_device(&self, word: Word) -> Option<(NonNull<c_void>, usize)> {
        Some((self.block(word, Side::Device).filter(|_| word.owns_device())?, self.address()))
    }

    /// Claims the object.
    fn claim(&self, blocking: Blocking) -> Result<Claim<'static>, NoClaim> {
        watch_forks()?;
        TABLE.claim(self.address(), this_thread(), blocking, || self.identity()).map(|claim| self.sorted(claim))
    }

    /// Claims the object, unless `unless` answers, which gets whether there is an entry.
    fn claim_unless<T>(
        &self,
        blocking: Blocking,
        unless: impl Fn(bool) -> Option<T>,
    ) -> Result<Claimed<Claim<'static>, T>, NoClaim> {
        watch_forks()?;
        match TABLE.claim_unless(self.address(), this_thread(), blocking, || self.identity(), unless)? {
            Claimed::Owner(claim) => Ok(Claimed::Owner(self.sorted(claim))),
            ready => Ok(ready),
        }
    }

    /// Drops a copy in flight that belonged to an earlier object at this address.
    fn sorted(&self, mut claim: Claim<'static>) -> Claim<'static> {
        if self.load().is_untouched() {
            claim.stale = claim.stale.or(claim.in_flight.take());
        }
        if let Some(stale) = claim.stale.take() {
            stale.abandon();
        }
        claim
    }

    fn claim_always(&self) -> Result<Claim<'static>, Error> {
        if settings::checks_device() {
            self.check_device()?;
        }
        self.claim(Blocking::Yes).map_err(refused)
    }

    /// Ends a claim with an outcome: everybody sees both at once.
    fn publish(&self, claim: Claim<'_>, outcome: Outcome, means: Use) {
        let slow = claim.in_flight.is_some();
        claim.publish(|| self.store(outcome, self.policy_follows(outcome, means) || slow), || self.identity());
    }

    /// Makes an outcome visible. Done under the table's lock for this object.
    #[inline]
    fn store(&self, outcome: Outcome, slow: bool) {
        self.cpu_ptr.store(outcome.pointer(Side::Host), Ordering::Relaxed);
        self.gpu_ptr.store(outcome.pointer(Side::Device), Ordering::Relaxed);
        let word = if slow { outcome.word.slow() } else { outcome.word.fast() };
        // Release: whoever acquires this word sees the pointers above, and the blocks' contents.
        self.word.store(word.0, Ordering::Release);
    }

    /// The object as it is now.
    #[inline]
    fn now(&self) -> Result<Outcome, Error> {
        let word = self.load();
        word.head().ok_or(Error::InvalidHandle)?;
        Ok(Outcome { host: self.block(word, Side::Host), device: self.block(word, Side::Device), word })
    }
}

fn watch_forks() -> Result<(), NoClaim> {
    // A model has no processes.
    if cfg!(loom) || fork::watch() { Ok(()) } else { Err(NoClaim::NoRoom) }
}

/// Reads the settings and opens the fast paths that they allow. The caller holds no lock.
#[inline]
fn start() {
    if flags::has(UNSETTLED) {
        read_settings();
    }
}

#[cold]
fn read_settings() {
    settings::read_host_settings();
    control::read_settings();
    flags::raise_if(settings::host_limit().is_some() || settings::checks_device(), CHECKED);
    flags::raise_if(host::may_pin(), MAY_PIN);
    // Before the library is initialised its fork handlers are not registered.
    if fork::is_watched() {
        flags::set(UNSETTLED, false);
    }
}

#[cold]
fn refused(why: NoClaim) -> Error {
    match why {
        NoClaim::NoRoom => {
            Error::OutOfMemory { side: Side::Host, asked: size_of::<Identity>(), cause: Cause::Bookkeeping }
        }
        NoClaim::Reentered => Error::Reentered,
        NoClaim::Interrupted => Error::Interrupted,
        // A caller that does not block takes this answer itself.
        NoClaim::Busy => Error::Internal,
    }
}

/// In a forked child: what other threads of the parent were doing with objects is not going on here.
pub fn begin_child() {
    TABLE.forget();
    POLICIES.forget_evictions();
}
