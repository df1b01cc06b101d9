//! Copies on a caller's stream, completed by the next operation that needs the result.
#![expect(unsafe_code, reason = "copies are started between the object's blocks")]

use std::ffi::c_void;

use syncedmem_core::head::Side;
use syncedmem_trace::event::{Cause, What};

use super::access::Source;
use super::table::{Blocking, Claimed, NoClaim};
use super::{Claim, Detached, Entry, ObjectState, SyncedMemory, refused, start};
use crate::copy::transfer::{self, CopyError, InFlight, Started};
use crate::cuda;
use crate::cuda::context::ContextGuard;
use crate::cuda::driver::{Driver, Stream};
use crate::cuda::{capture, context};
use crate::error::Error;
use crate::memory::blocks;
use crate::memory::driver::allocator;
use crate::memory::{device, host};
use crate::observe::recorder::{self, Span};
use crate::platform::sync::Ordering;
use crate::state::step::{Contents, Fill, Operation};

impl SyncedMemory {
    /// The head is SYNCED at once.
    ///
    /// # Safety
    /// `stream` is NULL or a stream. The library does not use it after this call.
    pub unsafe fn async_gpu_push(&self, stream: *mut c_void) -> Result<(), Error> {
        // Compat: the original checks the head before it looks for a device.
        self.step(Operation::Push)?;
        let driver = cuda::driver()?;
        self.keep_apart()?;
        let mut claim = self.claim_always()?;
        let _operation = context::Operation::begin();
        // SAFETY: the caller guarantees it.
        let stream = unsafe { Stream::of(stream) };
        self.ready_for_stream(driver, &mut claim, stream)?;
        let (now, step) = self.step(Operation::Push)?;
        let (next, new) = self.with_device_block(driver, now.with(step.next), Fill::Copy, Source::default())?;
        self.start(driver, &mut claim, (next, new), Side::Device, stream)?;
        self.publish(claim, next);
        Ok(())
    }

    /// Starts a copy to the host, unless that is current or such a copy is in flight. The head is HEAD_AT_GPU until `cpu_data`,
    /// `wait` or `is_ready` completes the copy.
    ///
    /// # Safety
    /// As for `async_gpu_push`.
    pub unsafe fn async_cpu_pull(&self, stream: *mut c_void) -> Result<(), Error> {
        if !self.needs_pull()? {
            return Ok(());
        }
        let driver = cuda::driver()?;
        self.keep_apart()?;
        start();
        let bytes = self.size.load(Ordering::Relaxed);
        let pinned = self.has_no_host_block() && host::wants_pinned(bytes);
        let mut claim = self.claim_always()?;
        let _operation = context::Operation::begin();
        if claim.in_flight.is_some_and(|copy| copy.to == Side::Host) || !self.needs_pull()? {
            return Ok(());
        }
        // SAFETY: the caller guarantees it.
        let stream = unsafe { Stream::of(stream) };
        let now = self.ready_for_stream(driver, &mut claim, stream)?;
        let (next, new) = self.with_host_block(now, Fill::Copy, Source { pinned, reuse: None })?;
        self.start(driver, &mut claim, (next, new), Side::Host, stream)?;
        // While the copy is in flight the host is not current.
        let contents = if claim.in_flight.is_some() { Contents::At(Side::Device) } else { Contents::Both };
        self.publish(claim, next.with(contents));
        Ok(())
    }

    /// Refuses a captured stream, and waits for the copy in flight. Called before a block is made, because a wait that makes
    /// room for it invalidates captures.
    fn ready_for_stream(
        &self,
        driver: &Driver,
        claim: &mut Claim<'_>,
        stream: Stream<'_>,
    ) -> Result<ObjectState, Error> {
        let is_known = capture::refuse_captured(driver, stream)?;
        self.finish(claim)?;
        let now = self.now()?;
        if is_known || self.size.load(Ordering::Relaxed) == 0 {
            return Ok(now);
        }
        // No context was current: ask in that of the device block, or of a new one.
        let refuse = |guard: &ContextGuard<'_>| capture::refuse_captured_within(driver, guard, stream);
        match now.device {
            Some(device) => refuse(&device::enter(driver, device, None)?.0),
            None => context::for_new_block(driver, refuse),
        }?;
        Ok(now)
    }

    /// Frees `new`, the copy's new block, on an error.
    fn start(
        &self,
        driver: &Driver,
        claim: &mut Claim<'_>,
        (next, new): (ObjectState, Detached),
        to: Side,
        stream: Stream<'_>,
    ) -> Result<(), Error> {
        let subject = self.subject();
        let (Some(device), Some(host), 1..) = (next.device, next.host, subject.bytes) else { return Ok(()) };
        let endpoints = self.endpoints(next, (device, host), to);
        let title = match to {
            Side::Host => c"start copy to host",
            Side::Device => c"start copy to device",
        };
        let (span, bytes) = (recorder::begin(title, subject.bytes), subject.bytes as u64);
        // SAFETY: both blocks are of the object's size, and stay while the claim or its parked entry has the copy in flight.
        let started = unsafe { transfer::start(driver, endpoints, subject.bytes, stream) };
        // SAFETY: only this function knows the block.
        match unsafe { new.kept_for(started) }?.0 {
            Started::InFlight(copy) => {
                claim.in_flight = Some(copy);
                span.end(subject, || What::Started { to, bytes, path: copy.path, copy: copy.number });
            }
            Started::Done(path) => {
                span.end(subject, || What::Copied { to, bytes, path, cause: Cause::Stream });
            }
        }
        Ok(())
    }

    /// Keeps the cache from handing the object's blocks out again before the present work of `stream` is done.
    ///
    /// # Safety
    /// As for `async_gpu_push`.
    pub unsafe fn record_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        // SAFETY: the caller guarantees it.
        let stream = unsafe { Stream::of(stream) };
        let _operation = context::Operation::begin();
        capture::refuse_captured(driver, stream)?;
        let now = self.state()?;
        let host = now.host.filter(|_| now.word.owns_host() && now.word.is_pinned());
        let device = now.device.filter(|_| now.word.owns_device());
        for block in [host, device].into_iter().flatten() {
            if let Some((allocation, _)) = blocks::find(block) {
                if !allocation.is_alive(driver, block)? {
                    return Err(Error::DeviceReset);
                }
                allocator::declare(driver, block, allocation.context, stream)?;
            }
        }
        Ok(())
    }

    pub fn wait(&self) -> Result<(), Error> {
        self.head()?;
        let claimed = self.claim_unless(Blocking::Yes, |entry| self.nothing_in_flight(entry));
        if let Claimed::Owner(mut claim) = claimed.map_err(refused)? {
            self.finish(&mut claim)?;
            self.publish(claim, self.state()?);
        }
        Ok(())
    }

    /// Completes the copy in flight if it is done, without a wait; returns whether none is left.
    pub fn is_ready(&self) -> Result<bool, Error> {
        self.head()?;
        let mut claim = match self.claim_unless(Blocking::No, |entry| self.nothing_in_flight(entry)) {
            Ok(Claimed::Owner(claim)) => claim,
            Ok(Claimed::Ready(())) => return Ok(true),
            Err(NoClaim::Busy) => return Ok(false),
            Err(why) => return Err(refused(why)),
        };
        let Some(copy) = claim.in_flight else { return Ok(true) };
        let driver = cuda::driver()?;
        let _operation = context::Operation::begin();
        let span = recorder::begin_wait();
        match copy.is_done(driver) {
            Ok(false) => return Ok(false),
            Ok(true) => self.completed(&mut claim, span, copy),
            Err(trouble) => return Err(self.failed(&mut claim, copy, trouble)),
        }
        self.publish(claim, self.now()?);
        Ok(true)
    }

    /// Waits for the copy in flight and updates the head.
    pub(super) fn finish(&self, claim: &mut Claim<'_>) -> Result<(), Error> {
        let Some(copy) = claim.in_flight else { return Ok(()) };
        let driver = match cuda::driver() {
            // The copy is gone with the driver; the host still has a push's data.
            Err(_) if copy.to == Side::Device => {
                claim.in_flight = None;
                return Ok(());
            }
            answer => answer?,
        };
        let _operation = context::Operation::begin();
        let span = recorder::begin_wait();
        copy.finish(driver).map_err(|trouble| self.failed(claim, copy, trouble))?;
        self.completed(claim, span, copy);
        Ok(())
    }

    pub(super) fn tell_completed(&self, span: Span, copy: InFlight) {
        span.end(self.subject(), || What::Completed { to: copy.to, copy: copy.number });
    }

    fn completed(&self, claim: &mut Claim<'_>, span: Span, copy: InFlight) {
        self.tell_completed(span, copy);
        claim.in_flight = None;
        // The head said at the start of a push that the device is current, which may have been written since.
        if copy.to == Side::Host {
            self.set(claim, Contents::Both);
        }
    }

    /// After a failed push, the data is on the host alone.
    fn failed(&self, claim: &mut Claim<'_>, copy: InFlight, error: CopyError) -> Error {
        match error {
            CopyError::Unknown(error) => error,
            CopyError::Failed(error) => {
                claim.in_flight = None;
                if copy.to == Side::Device && self.state().is_ok_and(|now| now.contents() == Contents::Both) {
                    self.set(claim, Contents::At(Side::Host));
                }
                error
            }
        }
    }

    /// Keeps the slow bit, until the claim ends.
    fn set(&self, claim: &Claim<'_>, contents: Contents) {
        claim.with(|_| {
            let word = self.load();
            let next = word.with(contents);
            let next = if word.is_slow() { next.slow() } else { next };
            // Relaxed: while the slow bit is set, readers take the lock.
            self.word.store(next.0, Ordering::Relaxed);
        });
    }

    fn needs_pull(&self) -> Result<bool, Error> {
        self.step(Operation::Pull).map(|(_, step)| step.fill != Fill::Nothing)
    }

    fn nothing_in_flight(&self, entry: Option<&mut Entry>) -> Option<()> {
        let is_quiet = entry.map_or(!self.load().is_slow(), |entry| !entry.is_claimed() && entry.in_flight.is_none());
        is_quiet.then_some(())
    }
}
