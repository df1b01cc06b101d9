//! Stream capture beside calls that are potentially unsafe: which thread may make them, in which mode.
//!
//! Captures are declared behind the blocks of a check, as in `capture`.

use super::capture::non_blocking;
use super::{Check, check, elsewhere};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::captures::{Capture, GLOBAL, RELAXED, Relaxed, THREAD_LOCAL, exchange_mode};
use crate::driver::numbers::{EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};
use crate::driver::queues::{Event, Stream};
use crate::driver::status::STREAM_CAPTURE_UNSUPPORTED;
use crate::verdict::{Must, Outcome, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("a mode is exchanged", "cuThreadExchangeStreamCaptureMode", |session| {
        equal("a thread's first mode", GLOBAL, exchange_mode(RELAXED).must()?)?;
        let other =
            elsewhere(session, || equal("another thread's first mode", GLOBAL, exchange_mode(THREAD_LOCAL).must()?));
        equal("the mode before", RELAXED, exchange_mode(GLOBAL).must()?)?;
        other
    }),
    check("an allocation of the capturing thread invalidates", "cuThreadExchangeStreamCaptureMode", |_| {
        for mode in [GLOBAL, THREAD_LOCAL] {
            let stream = non_blocking()?;
            let capture = Capture::new(&stream, mode)?;
            calls::memory_alloc(BYTES)?.0.is(STREAM_CAPTURE_UNSUPPORTED)?;
            capture.end_invalidated()?;
        }
        Ok(())
    }),
    check(
        "an allocation of another thread invalidates a global capture",
        "cuThreadExchangeStreamCaptureMode",
        |session| {
            let stream = non_blocking()?;
            let capture = Capture::new(&stream, GLOBAL)?;
            elsewhere(session, || calls::memory_alloc(BYTES)?.0.is(STREAM_CAPTURE_UNSUPPORTED))?;
            capture.end_invalidated()
        },
    ),
    check("another thread allocates beside a thread local capture", "cuThreadExchangeStreamCaptureMode", |session| {
        let stream = non_blocking()?;
        let capture = Capture::new(&stream, THREAD_LOCAL)?;
        let other = elsewhere(session, || {
            exchange_mode(THREAD_LOCAL).must()?;
            allocates_and_frees()
        });
        other?;
        capture.end_whole()
    }),
    check("a relaxed thread allocates and frees beside any capture", "cuThreadExchangeStreamCaptureMode", |session| {
        for (flags, mode) in [(STREAM_NON_BLOCKING, GLOBAL), (STREAM_NON_BLOCKING, THREAD_LOCAL), (0, GLOBAL)] {
            let stream = Stream::new(flags)?;
            let capture = Capture::new(&stream, mode)?;
            {
                let _relaxed = Relaxed::new()?;
                allocates_and_frees()?;
            }
            elsewhere(session, || {
                let _relaxed = Relaxed::new()?;
                allocates_and_frees()
            })?;
            capture.end_whole()?;
        }
        Ok(())
    }),
    check("a relaxed thread page locks beside any capture", "cuThreadExchangeStreamCaptureMode", |_| {
        let (stream, memory) = (non_blocking()?, HostBlock::pageable(64 << 10));
        let capture = Capture::new(&stream, GLOBAL)?;
        let _relaxed = Relaxed::new()?;
        HostBlock::pinned(BYTES, 0)?.free().must()?;
        memory.register().must()?;
        calls::unregister(memory.address()).must()?;
        capture.end_whole()
    }),
    check("a relaxed thread waits for events beside any capture", "cuThreadExchangeStreamCaptureMode", |_| {
        let (stream, other, event) = (non_blocking()?, non_blocking()?, Event::new(EVENT_DISABLE_TIMING)?);
        let capture = Capture::new(&stream, GLOBAL)?;
        let _relaxed = Relaxed::new()?;
        event.record(&other).must()?;
        event.synchronize().must()?;
        event.query().must()?;
        capture.end_whole()
    }),
    check("a relaxed thread copies beside a non blocking capture", "cuThreadExchangeStreamCaptureMode", |_| {
        let (block, host, stream) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?, non_blocking()?);
        let capture = Capture::new(&stream, GLOBAL)?;
        let _relaxed = Relaxed::new()?;
        copy(host.at(0), block.at(0), BYTES).must()?;
        capture.end_whole()
    }),
];

const BYTES: usize = 4096;

fn allocates_and_frees() -> Outcome {
    let address = calls::memory_alloc(BYTES).must()?;
    calls::memory_free(address).must()
}
