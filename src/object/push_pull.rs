//! Copies on a caller's stream. The copy in flight stays in the object's entry, and the next operation that needs its result
//! completes it (`in_flight.rs`).
#![expect(unsafe_code, reason = "copies are started between the object's blocks")]

use std::ffi::c_void;

use syncedmem_core::head::Side;
use syncedmem_trace::event::{Cause, What};

use super::access::Source;
use super::{Claim, Detached, ObjectState, SyncedMemory, start};
use crate::copy::transfer::{self, Started};
use crate::cuda;
use crate::cuda::context::ContextGuard;
use crate::cuda::driver::{Driver, Stream};
use crate::cuda::{capture, context};
use crate::error::Error;
use crate::memory::blocks;
use crate::memory::driver::allocator;
use crate::memory::{device, host};
use crate::observe::recorder;
use crate::platform::sync::Ordering;
use crate::state::step::{Contents, Fill, Operation};

impl SyncedMemory {
    /// Starts a copy to the device. The head is SYNCED at once.
    ///
    /// # Safety
    /// Stream: `stream` is NULL or a live CUDA stream. The library does not use it after this call.
    pub unsafe fn async_gpu_push(&self, stream: *mut c_void) -> Result<(), Error> {
        // Compat: the original checks the head before it looks for a device.
        self.step(Operation::Push)?;
        let driver = cuda::driver()?;
        self.unshare()?;
        let mut claim = self.claim_always()?;
        let _operation = context::Operation::begin();
        // SAFETY: the caller of this function guarantees Stream.
        let stream = unsafe { Stream::of(stream) };
        self.ready_for_stream(driver, &mut claim, stream)?;
        let (now, step) = self.step(Operation::Push)?;
        let (next, new) = self.with_device_block(driver, now.with(step.next), Fill::Copy, Source::default())?;
        self.start(driver, &mut claim, (next, new), Side::Device, stream)?;
        self.publish(claim, next);
        Ok(())
    }

    /// Starts a copy to the host, unless the host is current or such a copy is in flight. The head is HEAD_AT_GPU until
    /// `cpu_data`, `wait` or `is_ready` completes the copy.
    ///
    /// # Safety
    /// Stream, as in `async_gpu_push`.
    pub unsafe fn async_cpu_pull(&self, stream: *mut c_void) -> Result<(), Error> {
        if !self.needs_pull()? {
            return Ok(());
        }
        let driver = cuda::driver()?;
        self.unshare()?;
        start();
        let bytes = self.size.load(Ordering::Relaxed);
        let pinned = self.has_no_host_block() && host::wants_pinned(bytes);
        let mut claim = self.claim_always()?;
        let _operation = context::Operation::begin();
        if claim.in_flight.is_some_and(|copy| copy.to == Side::Host) || !self.needs_pull()? {
            return Ok(());
        }
        // SAFETY: the caller of this function guarantees Stream.
        let stream = unsafe { Stream::of(stream) };
        let now = self.ready_for_stream(driver, &mut claim, stream)?;
        let (next, new) = self.with_host_block(now, Fill::Copy, Source { pinned, reuse: None })?;
        self.start(driver, &mut claim, (next, new), Side::Host, stream)?;
        // While the copy is in flight the host is not current.
        let contents = if claim.in_flight.is_some() { Contents::At(Side::Device) } else { Contents::Both };
        self.publish(claim, next.with(contents));
        Ok(())
    }

    /// Refuses a stream that is being captured, and waits for the copy in flight. Must come before a block is made: an allocation
    /// may synchronize, which invalidates captures.
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
        // No context was current: the driver is asked in the device block's context, or in that of a new block.
        let refuse = |guard: &ContextGuard<'_>| capture::refuse_captured_within(driver, guard, stream);
        match now.device {
            Some(device) => refuse(&device::enter(driver, device, None)?.0),
            None => context::for_new_block(driver, refuse),
        }?;
        Ok(now)
    }

    /// Starts the copy. On an error it frees `new`, the block that was made for the copy.
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
        // SAFETY: both blocks have the object's size. The object keeps them while its claim or entry has the copy in flight.
        let started = unsafe { transfer::start(driver, endpoints, subject.bytes, stream) };
        // SAFETY: the caller of this function has published `new` nowhere.
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

    /// After the object's end the cache reuses its blocks only when the work that `stream` has now is done.
    ///
    /// # Safety
    /// Stream, as in `async_gpu_push`.
    pub unsafe fn record_stream(&self, stream: *mut c_void) -> Result<(), Error> {
        self.head()?;
        let driver = cuda::driver()?;
        // SAFETY: the caller of this function guarantees Stream.
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

    fn needs_pull(&self) -> Result<bool, Error> {
        self.step(Operation::Pull).map(|(_, step)| step.fill != Fill::Nothing)
    }
}
