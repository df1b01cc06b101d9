//! `SyncedMemory`: the head and two buffers, in the 32 bytes that every Caffe's class begins with.
//!
//! This file reads and writes the fields. The operations are in the modules; most of them first claim the object in [`table`].

mod access;
pub(crate) mod aligned;
pub(crate) mod dlpack;
pub mod element;
mod entry;
#[cfg(feature = "blob")]
mod fill;
mod in_flight;
mod lifecycle;
mod object_state;
pub mod owner;
mod push_pull;
mod query;
mod reclaim;
pub(crate) mod report;
pub(crate) mod set_data;
pub(crate) mod sharing;
pub mod table;

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::{Head, Side};

use crate::copy::transfer::InFlight;
use crate::error::Error;
use crate::memory::host;
use crate::observe::control;
use crate::observe::recorder::Subject;
use crate::platform::fork;
use crate::platform::sync::{AtomicPtr, AtomicU64, AtomicUsize, Interrupted, Ordering, locked_static, this_thread};
use crate::settings;
use crate::state::flags::{self, CHECKED, MAY_PIN, SHARING, UNSETTLED};
use crate::state::step::{self, Contents, Operation, Refusal};
use crate::state::word::Word;
use access::Source;
use object_state::{Detached, ObjectState};
use table::{Blocking, Claimed, Identity, NoClaim, Table};

type Claim<'t> = table::Claim<'t, InFlight>;
type Entry = table::Entry<InFlight>;

/// The first 32 bytes of a `caffe::SyncedMemory`; the library touches no others.
#[repr(C)]
#[derive(Debug)]
pub struct SyncedMemory {
    cpu_ptr: AtomicPtr<c_void>,
    gpu_ptr: AtomicPtr<c_void>,
    size: AtomicUsize,
    /// A [`Word`]: stored with Release under the table's lock, after the pointers, and loaded with Acquire before them.
    word: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<SyncedMemory>() == 32 && align_of::<SyncedMemory>() == 8);
    assert!(offset_of!(SyncedMemory, cpu_ptr) == 0 && offset_of!(SyncedMemory, gpu_ptr) == 8);
    assert!(offset_of!(SyncedMemory, size) == 16 && offset_of!(SyncedMemory, word) == 24);
};

locked_static! { static TABLE: Table<InFlight> = Table::new(); }

impl SyncedMemory {
    pub fn head(&self) -> Result<Head, Error> {
        self.load().head().ok_or(Error::InvalidHandle)
    }

    /// The size of each side in bytes.
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

    #[inline]
    fn subject(&self) -> Subject {
        Subject { object: self.address(), bytes: self.size.load(Ordering::Relaxed) }
    }

    fn identity(&self) -> Identity {
        let word = self.load();
        let [host, device] =
            [Side::Host, Side::Device].map(|side| self.block(word, side).map_or(0, |block| block.addr().get()));
        let (object, size) = (self.address(), self.size.load(Ordering::Relaxed));
        Identity { object, host, device, size, is_slow: word.is_slow() }
    }

    /// An untouched object has no block: an inlined constructor of an old Caffe leaves its pointers as the memory was.
    #[inline]
    fn block(&self, word: Word, side: Side) -> Option<NonNull<c_void>> {
        let touched = !word.is_untouched();
        NonNull::new(self.pointer(side).load(Ordering::Relaxed)).filter(|_| touched)
    }

    #[inline]
    fn owned(&self, word: Word) -> Detached {
        let (owner, bytes) = (self.address(), self.size.load(Ordering::Relaxed));
        let host = self.block(word, Side::Host);
        let device = self.block(word, Side::Device).filter(|_| word.owns_device());
        let owned = |address| host::Owned { address, bytes, pinned: word.is_pinned(), owner };
        Detached { host: host.filter(|_| word.owns_host()).map(owned), device: device.map(|address| (address, owner)) }
    }

    fn claim(&self, blocking: Blocking) -> Result<Claim<'static>, NoClaim> {
        TABLE.claim(self.address(), this_thread(), blocking, || self.identity()).map(|claim| self.sorted(claim))
    }

    fn claim_unless<T>(
        &self,
        blocking: Blocking,
        unless: impl Fn(Option<&mut Entry>) -> Option<T>,
    ) -> Result<Claimed<Claim<'static>, T>, NoClaim> {
        match TABLE.claim_unless(self.address(), this_thread(), blocking, || self.identity(), unless)? {
            Claimed::Owner(claim) => Ok(Claimed::Owner(self.sorted(claim))),
            ready => Ok(ready),
        }
    }

    /// Does short `work` with the object's entry, under the lock of its shard. `None` without an entry.
    fn with_entry<R>(&self, work: impl FnOnce(&mut Entry) -> R) -> Result<Option<R>, Interrupted> {
        // An entry that keeps anything has set the slow bit.
        if !self.load().is_slow() {
            return Ok(None);
        }
        TABLE.with(self.address(), || self.identity(), |entry| entry.map(work))
    }

    /// Abandons the copy in flight of an earlier object at the address.
    fn sorted(&self, mut claim: Claim<'static>) -> Claim<'static> {
        if self.load().is_untouched() {
            claim.stale = claim.stale.or(claim.in_flight.take());
        }
        if let Some(stale) = claim.stale.take() {
            stale.abandon();
        }
        claim
    }

    /// Claims the object for an operation that may change its block. Parked contents come back to the host.
    fn claim_always(&self) -> Result<Claim<'static>, Error> {
        if settings::checks_device() {
            self.check_device()?;
        }
        let claim = self.claim(Blocking::Yes).map_err(refused)?;
        if flags::has(SHARING) {
            self.bring_back(&claim, Source::default())?;
            self.separate(&claim)?;
        }
        Ok(claim)
    }

    fn publish(&self, claim: Claim<'_>, state: ObjectState) {
        self.publish_with(claim, state, |_| ());
    }

    /// [`Self::publish`] with a `change` of the entry in the same step.
    fn publish_with<R>(&self, claim: Claim<'_>, state: ObjectState, change: impl FnOnce(&mut Entry) -> R) -> R {
        let outcome = |entry: &mut Entry| {
            let result = change(entry);
            let contents = state.contents();
            let unparked = if contents == Contents::Parked { None } else { entry.parked.take() };
            self.store(state, entry.keeps() || contents == Contents::GivenUp);
            (result, unparked)
        };
        // Outside of the lock, drops the contents that were parked before.
        claim.publish(outcome, || self.identity()).0
    }

    /// Must be called under the lock of the object's shard, or before another thread knows the object.
    #[inline]
    fn store(&self, state: ObjectState, slow: bool) {
        self.cpu_ptr.store(state.pointer(Side::Host), Ordering::Relaxed);
        self.gpu_ptr.store(state.pointer(Side::Device), Ordering::Relaxed);
        let word = if slow { state.word.slow() } else { state.word.fast() };
        // Release: a thread that acquires this word sees the pointers and the blocks' contents.
        self.word.store(word.0, Ordering::Release);
    }

    /// The present state. An error if the contents were given up.
    #[inline]
    fn now(&self) -> Result<ObjectState, Error> {
        self.state().and_then(|now| if now.contents() == Contents::GivenUp { Err(self.given_up()) } else { Ok(now) })
    }

    /// The step of `operation` from the present state.
    #[inline]
    fn step(&self, operation: Operation) -> Result<(ObjectState, step::Step), Error> {
        let now = self.state()?;
        match step::step(now.contents(), operation) {
            Ok(step) => Ok((now, step)),
            Err(why) => Err(self.refuses(now, operation, why)),
        }
    }

    #[cold]
    fn refuses(&self, now: ObjectState, operation: Operation, why: Refusal) -> Error {
        let head = now.contents().head();
        match (why, operation) {
            (Refusal::GivenUp, _) => self.given_up(),
            (Refusal::Head, Operation::Push) => Error::NotAtCpu { head },
            (Refusal::Head, Operation::Pull) => Error::NothingToPull,
            (Refusal::Head, Operation::Release(side)) => Error::NotRedundant { side, head },
            (Refusal::Head, Operation::Access(..) | Operation::Set(_) | Operation::Discard | Operation::Park) => {
                Error::Internal
            }
        }
    }

    #[inline]
    fn state(&self) -> Result<ObjectState, Error> {
        let word = self.load();
        word.head().ok_or(Error::InvalidHandle)?;
        Ok(ObjectState { host: self.block(word, Side::Host), device: self.block(word, Side::Device), word })
    }
}

/// Reads the settings, once, which opens the fast paths that they allow. The caller holds no lock.
#[inline]
fn start() {
    if flags::has(UNSETTLED) {
        read_settings();
    }
}

#[cold]
fn read_settings() {
    settings::read_host_settings();
    host::copies::heed();
    control::read_settings();
    let is_checked = settings::host_limit().is_some() || settings::checks_device() || settings::fills_with_junk();
    flags::raise_if(is_checked, CHECKED);
    flags::raise_if(host::may_pin(), MAY_PIN);
    // Before the library's initializer has run, the settings are read again at the next call.
    if fork::is_watched() {
        flags::set(UNSETTLED, false);
    }
}

#[cold]
fn refused(why: NoClaim) -> Error {
    match why {
        NoClaim::NoRoom => Error::no_room(size_of::<Identity>()),
        NoClaim::Reentered => Error::Reentered,
        NoClaim::Interrupted => Error::Interrupted,
        // Callers that do not block handle it themselves.
        NoClaim::Busy => Error::Internal,
    }
}

pub fn begin_child() {
    TABLE.forget_work(this_thread());
}
