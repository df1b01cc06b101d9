//! Stream capture beside calls that are potentially unsafe: which thread may make them, in which mode.
//!
//! Captures are declared behind the blocks of a check, as in `capture`.

use super::capture::non_blocking;
use super::{Check, Session, check, elsewhere};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::captures::{Capture, GLOBAL, RELAXED, Relaxed, THREAD_LOCAL, exchange_mode};
use crate::driver::numbers::{EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};
use crate::driver::queues::{Event, Stream};
use crate::driver::status::STREAM_CAPTURE_UNSUPPORTED;
use crate::verdict::{Must, Outcome, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(a_mode_is_exchanged, "cuThreadExchangeStreamCaptureMode"),
    check!(an_allocation_of_the_capturing_thread_invalidates, "cuThreadExchangeStreamCaptureMode"),
    check!(an_allocation_of_another_thread_invalidates_a_global_capture, "cuThreadExchangeStreamCaptureMode"),
    check!(another_thread_allocates_beside_a_thread_local_capture, "cuThreadExchangeStreamCaptureMode"),
    check!(a_relaxed_thread_allocates_and_frees_beside_any_capture, "cuThreadExchangeStreamCaptureMode"),
    check!(a_relaxed_thread_page_locks_beside_any_capture, "cuThreadExchangeStreamCaptureMode"),
    check!(a_relaxed_thread_waits_for_events_beside_any_capture, "cuThreadExchangeStreamCaptureMode"),
    check!(a_relaxed_thread_copies_beside_a_non_blocking_capture, "cuThreadExchangeStreamCaptureMode"),
];

const BYTES: usize = 4096;

fn a_mode_is_exchanged(session: &Session) -> Outcome {
    equal("a thread's first mode", GLOBAL, exchange_mode(RELAXED).must()?)?;
    let other =
        elsewhere(session, || equal("another thread's first mode", GLOBAL, exchange_mode(THREAD_LOCAL).must()?));
    equal("the mode before", RELAXED, exchange_mode(GLOBAL).must()?)?;
    other
}

fn an_allocation_of_the_capturing_thread_invalidates(_: &Session) -> Outcome {
    for mode in [GLOBAL, THREAD_LOCAL] {
        let stream = non_blocking()?;
        let capture = Capture::new(&stream, mode)?;
        calls::memory_alloc(BYTES)?.0.is(STREAM_CAPTURE_UNSUPPORTED)?;
        capture.end_invalidated()?;
    }
    Ok(())
}

fn an_allocation_of_another_thread_invalidates_a_global_capture(session: &Session) -> Outcome {
    let stream = non_blocking()?;
    let capture = Capture::new(&stream, GLOBAL)?;
    elsewhere(session, || calls::memory_alloc(BYTES)?.0.is(STREAM_CAPTURE_UNSUPPORTED))?;
    capture.end_invalidated()
}

fn allocates_and_frees() -> Outcome {
    let address = calls::memory_alloc(BYTES).must()?;
    calls::memory_free(address).must()
}

fn another_thread_allocates_beside_a_thread_local_capture(session: &Session) -> Outcome {
    let stream = non_blocking()?;
    let capture = Capture::new(&stream, THREAD_LOCAL)?;
    let other = elsewhere(session, || {
        exchange_mode(THREAD_LOCAL).must()?;
        allocates_and_frees()
    });
    other?;
    capture.end_whole()
}

fn a_relaxed_thread_allocates_and_frees_beside_any_capture(session: &Session) -> Outcome {
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
}

fn a_relaxed_thread_page_locks_beside_any_capture(_: &Session) -> Outcome {
    let (stream, memory) = (non_blocking()?, HostBlock::pageable(64 << 10));
    let capture = Capture::new(&stream, GLOBAL)?;
    let _relaxed = Relaxed::new()?;
    HostBlock::pinned(BYTES, 0)?.free().must()?;
    memory.register().must()?;
    calls::unregister(memory.address()).must()?;
    capture.end_whole()
}

fn a_relaxed_thread_waits_for_events_beside_any_capture(_: &Session) -> Outcome {
    let (stream, other, event) = (non_blocking()?, non_blocking()?, Event::new(EVENT_DISABLE_TIMING)?);
    let capture = Capture::new(&stream, GLOBAL)?;
    let _relaxed = Relaxed::new()?;
    event.record(&other).must()?;
    event.synchronize().must()?;
    event.query().must()?;
    capture.end_whole()
}

fn a_relaxed_thread_copies_beside_a_non_blocking_capture(_: &Session) -> Outcome {
    let (block, host, stream) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?, non_blocking()?);
    let capture = Capture::new(&stream, GLOBAL)?;
    let _relaxed = Relaxed::new()?;
    copy(host.at(0), block.at(0), BYTES).must()?;
    capture.end_whole()
}
