//! Copies that go on in the background: started on a caller's stream, completed by whoever needs them done.
#![expect(unsafe_code, reason = "copies are started between the object's blocks")]

use std::ffi::c_void;

use super::claims::{NoClaim, Patience};
use super::eviction::evictable::Use;
use super::{Claim, SyncedMemory, refused};
use crate::copy::Endpoints;
use crate::copy::transfer::{self, CopyError, InFlight, Started};
use crate::cuda;
use crate::cuda::driver::Driver;
use crate::cuda::{capture, streams};
use crate::error::Error;
use crate::memory::driver::blocks;
use crate::memory::host;
use crate::observe::checksums;
use crate::observe::event::{Cause, What};
use crate::observe::recorder::{self, Span};
use crate::platform::sync::Ordering;
use crate::state::head::{Contents, Head, Side};

impl SyncedMemory {
    /// Starts a copy from host to device on `stream`. The head is SYNCED at once; the caller synchronises the stream
    /// before anything but the library uses the device data.
    ///
    /// # Safety
    /// `stream` is NULL or a stream; it is not used after this call.
    pub unsafe fn async_gpu_push(&self, stream: *mut c_void) -> Result<(), Error> {
        // Compat: the original checks this first, whatever the device would say.
        self.head().and_then(may_push)?;
        let driver = cuda::driver()?;
        let mut claim = self.claim_always()?;
        // SAFETY: the caller guarantees it.
        unsafe { capture::refuse_captured(driver, stream.cast()) }?;
        self.finish(&mut claim)?;
        let now = self.now()?;
        let next = now.with_head(may_push(now.head())?);
        let (next, new) = self.with_device_block(driver, next, Contents::Undefined)?;
        if let (Some(device), Some(host), 1..) = (next.device, next.host, self.size.load(Ordering::Relaxed)) {
            let pinned = self.hold_pinned(next, host);
            let endpoints = self.endpoints(next, (device, host), Side::Device, pinned);
            // SAFETY: both blocks are of the object's size, and stay until the copy is done: nothing frees them while
            // the claim, and then its parked entry, says that it is in flight. The stream is the caller's.
            match unsafe { self.start(driver, endpoints, stream) } {
                Ok(started) => claim.in_flight = started,
                Err(error) => {
                    // SAFETY: nobody knows it yet.
                    unsafe { new.free() };
                    return Err(error);
                }
            }
        }
        self.publish(claim, next, Use::None);
        Ok(())
    }

    /// Starts a copy from device to host on `stream`, unless the host is current or such a copy is in flight already.
    /// The head stays HEAD_AT_GPU until the copy is known to be done: `cpu_data` waits for it.
    ///
    /// # Safety
    /// `stream` is NULL or a stream; it is not used after this call.
    pub unsafe fn async_cpu_pull(&self, stream: *mut c_void) -> Result<(), Error> {
        if !self.needs_pull()? {
            return Ok(());
        }
        let driver = cuda::driver()?;
        host::settle();
        let bytes = self.size.load(Ordering::Relaxed);
        let pinned = self.has_no_host_block() && host::wants_pinned(bytes);
        let mut claim = self.claim_always()?;
        if claim.in_flight.is_some_and(|copy| copy.to == Side::Host) || !self.needs_pull()? {
            return Ok(());
        }
        // SAFETY: the caller guarantees it.
        unsafe { capture::refuse_captured(driver, stream.cast()) }?;
        self.finish(&mut claim)?;
        let now = self.now()?;
        let (next, new) = self.with_host_block(now, Contents::Undefined, pinned)?;
        let mut head = Head::Synced;
        if let (Some(device), Some(host), 1..) = (next.device, next.host, bytes) {
            let pinned = self.hold_pinned(next, host);
            let endpoints = self.endpoints(next, (device, host), Side::Host, pinned);
            // SAFETY: as for a push.
            match unsafe { self.start(driver, endpoints, stream) } {
                Ok(started) => claim.in_flight = started,
                Err(error) => {
                    // SAFETY: nobody knows it yet.
                    unsafe { new.free() };
                    return Err(error);
                }
            }
            if claim.in_flight.is_some() {
                head = Head::AtGpu;
            }
        }
        self.publish(claim, next.with_head(head), Use::None);
        Ok(())
    }

    /// Starts a copy of the object's size, and tells of it. `None`: it is done already.
    ///
    /// # Safety
    /// As for [`transfer::start`].
    unsafe fn start(
        &self,
        driver: &Driver,
        endpoints: Endpoints,
        stream: *mut c_void,
    ) -> Result<Option<InFlight>, Error> {
        let (subject, to) = (self.subject(), endpoints.to);
        let bytes = subject.bytes as u64;
        if checksums::are_compared() {
            match to {
                // SAFETY: it is about to be copied.
                Side::Device => unsafe { checksums::before_copy_to_device(subject, endpoints.host) },
                // What comes is not looked at: nobody waits for it here.
                Side::Host => checksums::forget(self.address()),
            }
        }
        let title = match to {
            Side::Host => c"start copy to host",
            Side::Device => c"start copy to device",
        };
        let span = recorder::begin(title, subject.bytes);
        // SAFETY: the caller guarantees it.
        match unsafe { transfer::start(driver, endpoints, subject.bytes, stream) }? {
            Started::InFlight(copy) => {
                span.end(subject, || What::Started { to, bytes, path: copy.path, copy: copy.number });
                Ok(Some(copy))
            }
            Started::Done(path) => {
                span.end(subject, || What::Copied { to, bytes, path, cause: Cause::Stream });
                Ok(None)
            }
        }
    }

    /// Declares that the work that `stream` has now may be using the object's blocks, which then are not handed to another
    /// object before it is done.
    ///
    /// # Safety
    /// `stream` is NULL or a stream; it is not used after this call.
    pub unsafe fn record_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        // SAFETY: the caller guarantees it.
        unsafe { capture::refuse_captured(driver, stream.cast()) }?;
        let now = self.now()?;
        let host = now.host.filter(|_| now.word.owns_host() && now.word.is_pinned());
        let device = now.device.filter(|_| now.word.owns_device());
        for block in [host, device].into_iter().flatten() {
            if let Some(record) = blocks::find(block) {
                if !record.is_alive(driver, block)? {
                    return Err(Error::DeviceReset);
                }
                // SAFETY: the caller guarantees it, of the stream.
                unsafe { streams::declare(driver, block.addr().get(), record.context, stream.cast()) }?;
            }
        }
        Ok(())
    }

    /// Waits until nothing is in flight.
    pub fn wait(&self) -> Result<(), Error> {
        self.head()?;
        let mut claim = match self.claim(Patience::Wait, |is_known| self.nothing_in_flight(is_known)) {
            Ok(claim) => claim,
            Err(NoClaim::Unneeded(())) => return Ok(()),
            Err(why) => return Err(refused(why)),
        };
        self.finish(&mut claim)?;
        let now = self.now()?;
        self.publish(claim, now, Use::None);
        Ok(())
    }

    /// Whether nothing is in flight (any more). It never waits.
    pub fn is_ready(&self) -> Result<bool, Error> {
        self.head()?;
        let mut claim = match self.claim(Patience::Refuse, |is_known| self.nothing_in_flight(is_known)) {
            Ok(claim) => claim,
            Err(NoClaim::Unneeded(())) => return Ok(true),
            Err(NoClaim::Busy) => return Ok(false),
            Err(why) => return Err(refused(why)),
        };
        let Some(copy) = claim.in_flight else { return Ok(true) };
        let span = recorder::begin_wait();
        match copy.is_done(cuda::driver()?) {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.tell_completed(span, copy);
                let head = self.completed(&mut claim, copy)?;
                let now = self.now()?.with_head(head);
                self.publish(claim, now, Use::None);
                Ok(true)
            }
            Err(trouble) => Err(self.failed(&mut claim, copy, trouble)),
        }
    }

    /// Waits for what the claimed object has in flight, if anything, and makes the object say so.
    pub(super) fn finish(&self, claim: &mut Claim<'_>) -> Result<(), Error> {
        let Some(copy) = claim.in_flight else { return Ok(()) };
        let driver = match cuda::driver() {
            // Nothing runs where the driver is no more, and the host has what was pushed.
            Err(_) if copy.to == Side::Device => {
                claim.in_flight = None;
                return Ok(());
            }
            answer => answer?,
        };
        let span = recorder::begin_wait();
        match copy.finish(driver) {
            Ok(()) => {
                self.tell_completed(span, copy);
                let head = self.completed(claim, copy)?;
                self.set_head(claim, head);
                Ok(())
            }
            Err(trouble) => Err(self.failed(claim, copy, trouble)),
        }
    }

    /// Tells that a copy is known to be done, and that it was waited for since `span` began.
    pub(super) fn tell_completed(&self, span: Span, copy: InFlight) {
        span.end(self.subject(), || What::Completed { to: copy.to, copy: copy.number });
    }

    /// The head now that a copy has come to its end.
    pub(super) fn completed(&self, claim: &mut Claim<'_>, copy: InFlight) -> Result<Head, Error> {
        claim.in_flight = None;
        match copy.to {
            // A push made it SYNCED at once, and the device may have been written since.
            Side::Device => self.head(),
            Side::Host => Ok(Head::Synced),
        }
    }

    /// What a wait that failed leaves behind.
    pub(super) fn failed(&self, claim: &mut Claim<'_>, copy: InFlight, trouble: CopyError) -> Error {
        match trouble {
            CopyError::Unknown(error) => error,
            CopyError::Failed(error) => {
                claim.in_flight = None;
                // What a push never brought to the device is on the host alone.
                if copy.to == Side::Device && self.head() == Ok(Head::Synced) {
                    self.set_head(claim, Head::AtCpu);
                }
                error
            }
        }
    }

    /// Changes the head of a claimed object before its claim ends. Its slow bit stays until then.
    pub(super) fn set_head(&self, claim: &Claim<'_>, head: Head) {
        claim.under_lock(|| {
            let word = self.load();
            let next = word.with_head(head);
            let next = if word.is_slow() { next.slow() } else { next };
            // Relaxed: while the slow bit is set, whoever looks takes the lock.
            self.word.store(next.0, Ordering::Relaxed);
        });
    }

    fn needs_pull(&self) -> Result<bool, Error> {
        match self.head()? {
            Head::Uninitialized => Err(Error::NothingToPull),
            head => Ok(!head.is_current(Side::Host)),
        }
    }

    fn nothing_in_flight(&self, is_known: bool) -> Option<()> {
        (!is_known && (!self.load().is_slow() || self.is_marked())).then_some(())
    }
}

fn may_push(head: Head) -> Result<Head, Error> {
    head.on_push().ok_or(Error::NotAtCpu { head })
}
