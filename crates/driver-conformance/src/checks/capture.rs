//! Stream capture: what is captured, which calls it forbids, and what of them invalidates it.
//!
//! Captures are declared behind the blocks of a check: the end of a block waits for the context, and would invalidate
//! the capture.

use super::{Check, check, elsewhere};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, set8, set8_async};
use crate::driver::calls;
use crate::driver::captures::{CAPTURED, Capture, GLOBAL, NOT_CAPTURED, RELAXED, Relaxed, info, status};
use crate::driver::numbers::{EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};
use crate::driver::queues::{Event, Stream};
use crate::driver::status::{
    CAPTURED_EVENT, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_MERGE, STREAM_CAPTURE_UNJOINED,
    STREAM_CAPTURE_UNMATCHED, STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_WRONG_THREAD,
};
use crate::verdict::{Must, Verdict, differ, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("a stream is captured from begin to end", "cuStreamIsCapturing", |_| {
        let stream = non_blocking()?;
        equal("the status before", NOT_CAPTURED, status(&stream).must()?)?;
        let capture = Capture::new(&stream, GLOBAL)?;
        equal("the status", CAPTURED, status(&stream).must()?)?;
        capture.end().must()?;
        equal("the status after", NOT_CAPTURED, status(&stream).must()?)
    }),
    check("a captured stream has the number of its capture", "cuStreamGetCaptureInfo", |_| {
        let (stream, other) = (non_blocking()?, non_blocking()?);
        let number = |stream: &Stream| -> Result<u64, Verdict> {
            let _capture = Capture::new(stream, GLOBAL)?;
            let (status, id) = info(stream).must()?;
            equal("the status", CAPTURED, status)?;
            equal("the number, asked again", id, info(stream).must()?.1)?;
            Ok(id)
        };
        differ("the numbers of two captures", number(&stream)?, number(&other)?)
    }),
    check("captured work runs when its graph is launched", "cuStreamBeginCapture", |_| {
        let (block, host, stream) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?, non_blocking()?);
        let seen = |what: &str, byte| {
            copy(host.at(0), block.at(0), BYTES).must()?;
            host.has(what, byte)
        };
        set8(block.at(0), 1, BYTES).must()?;
        calls::synchronize().must()?;
        let capture = Capture::new(&stream, GLOBAL)?;
        set8_async(block.at(0), 2, BYTES, &stream).must()?;
        let graph = capture.end().must()?;
        seen("the block after the capture", 1)?;
        graph.launch(&stream)?;
        seen("the block after the launch", 2)
    }),
    check("the legacy stream is not captured", "cuStreamBeginCapture", |_| {
        for stream in [Stream::null(), Stream::legacy()] {
            let reply = Capture::begin(&stream, GLOBAL)?;
            if reply.fails().is_err() {
                Capture::end_of(&stream).must()?;
            }
            reply.fails()?;
        }
        Ok(())
    }),
    check("a captured stream is not captured again", "cuStreamBeginCapture", |_| {
        let stream = non_blocking()?;
        let _capture = Capture::new(&stream, GLOBAL)?;
        Capture::begin(&stream, GLOBAL)?.fails()
    }),
    check("a capture ends where it began", "cuStreamEndCapture", |_| {
        let (stream, other, event) = (non_blocking()?, non_blocking()?, Event::new(EVENT_DISABLE_TIMING)?);
        let _capture = Capture::new(&stream, GLOBAL)?;
        event.record(&stream).must()?;
        other.wait(&event).must()?;
        Capture::end_of(&other)?.is(STREAM_CAPTURE_UNMATCHED)
    }),
    check("a capture ends on its thread", "cuStreamEndCapture", |session| {
        let stream = non_blocking()?;
        let capture = Capture::new(&stream, GLOBAL)?;
        elsewhere(session, || Capture::end_of(&stream)?.is(STREAM_CAPTURE_WRONG_THREAD))?;
        drop(capture);
        equal("the status after", NOT_CAPTURED, status(&stream).must()?)
    }),
    check("a relaxed capture ends on any thread", "cuStreamEndCapture", |session| {
        let stream = non_blocking()?;
        let capture = Capture::new(&stream, RELAXED)?;
        elsewhere(session, || capture.end().must().map(drop))
    }),
    check(
        "waiting for a captured stream invalidates",
        "Programming Guide, Prohibited and Unhandled Operations",
        |_| {
            let stream = non_blocking()?;
            let capture = Capture::new(&stream, RELAXED)?;
            stream.synchronize()?.is(STREAM_CAPTURE_UNSUPPORTED)?;
            capture.end_invalidated()
        },
    ),
    check("asking a captured stream invalidates", "Programming Guide, Prohibited and Unhandled Operations", |_| {
        let stream = non_blocking()?;
        let capture = Capture::new(&stream, RELAXED)?;
        stream.query()?.is(STREAM_CAPTURE_UNSUPPORTED)?;
        capture.end_invalidated()
    }),
    check("waiting for the context invalidates", "Programming Guide, Prohibited and Unhandled Operations", |_| {
        for flags in [0, STREAM_NON_BLOCKING] {
            let stream = Stream::new(flags)?;
            let capture = Capture::new(&stream, RELAXED)?;
            let _relaxed = Relaxed::new()?;
            calls::synchronize()?.is_one_of(&[STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_IMPLICIT])?;
            capture.end_invalidated()?;
        }
        Ok(())
    }),
    check(
        "waiting for another stream is no conflict",
        "Programming Guide, Prohibited and Unhandled Operations",
        |_| {
            let (block, stream, other) = (DeviceBlock::new(BYTES)?, non_blocking()?, non_blocking()?);
            let capture = Capture::new(&stream, GLOBAL)?;
            let _relaxed = Relaxed::new()?;
            set8_async(block.at(0), 1, BYTES, &other).must()?;
            other.synchronize().must()?;
            capture.end_whole()
        },
    ),
    check("an event that was captured is not waited for", "Data types, CUDA_ERROR_CAPTURED_EVENT", |_| {
        for asks in [false, true] {
            let (stream, event) = (non_blocking()?, Event::new(EVENT_DISABLE_TIMING)?);
            let capture = Capture::new(&stream, RELAXED)?;
            event.record(&stream).must()?;
            let reply = if asks { event.query()? } else { event.synchronize()? };
            reply.is(CAPTURED_EVENT)?;
            drop(capture);
            // Recorded anew, the event is as any.
            event.record(&stream).must()?;
            event.synchronize().must()?;
        }
        Ok(())
    }),
    check("the legacy stream tells of a blocking capture", "cuStreamIsCapturing", |_| {
        let stream = Stream::new(0)?;
        let capture = Capture::new(&stream, GLOBAL)?;
        for legacy in [Stream::null(), Stream::legacy()] {
            status(&legacy)?.0.is(STREAM_CAPTURE_IMPLICIT)?;
        }
        capture.end_whole()
    }),
    check("the legacy stream passes a non blocking capture", "cuStreamIsCapturing", |_| {
        let stream = non_blocking()?;
        let capture = Capture::new(&stream, GLOBAL)?;
        equal("the legacy stream's capture status", NOT_CAPTURED, status(&Stream::null()).must()?)?;
        capture.end_whole()
    }),
    check(
        "a copy beside a blocking capture invalidates",
        "Programming Guide, Prohibited and Unhandled Operations",
        |_| {
            let (block, host, stream) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?, Stream::new(0)?);
            let capture = Capture::new(&stream, RELAXED)?;
            copy(host.at(0), block.at(0), BYTES)?.is(STREAM_CAPTURE_IMPLICIT)?;
            capture.end_invalidated()
        },
    ),
    check(
        "a fill beside a blocking capture invalidates",
        "Programming Guide, Prohibited and Unhandled Operations",
        |_| {
            let (block, stream) = (DeviceBlock::new(BYTES)?, Stream::new(0)?);
            let capture = Capture::new(&stream, RELAXED)?;
            set8(block.at(0), 1, BYTES)?.is(STREAM_CAPTURE_IMPLICIT)?;
            capture.end_invalidated()
        },
    ),
    check(
        "a stream that waits for a captured event is captured",
        "Programming Guide, Cross-stream Dependencies and Events",
        |_| {
            let (stream, other) = (non_blocking()?, non_blocking()?);
            let (fork, join) = (Event::new(EVENT_DISABLE_TIMING)?, Event::new(EVENT_DISABLE_TIMING)?);
            let capture = Capture::new(&stream, GLOBAL)?;
            fork.record(&stream).must()?;
            other.wait(&fork).must()?;
            equal("the other stream's status", CAPTURED, status(&other).must()?)?;
            join.record(&other).must()?;
            stream.wait(&join).must()?;
            capture.end_whole()?;
            equal("the other stream's status after", NOT_CAPTURED, status(&other).must()?)
        },
    ),
    check(
        "a capture whose streams are not joined fails",
        "Programming Guide, Cross-stream Dependencies and Events",
        |_| {
            let (block, stream, other) = (DeviceBlock::new(BYTES)?, non_blocking()?, non_blocking()?);
            let event = Event::new(EVENT_DISABLE_TIMING)?;
            let capture = Capture::new(&stream, GLOBAL)?;
            event.record(&stream).must()?;
            other.wait(&event).must()?;
            set8_async(block.at(0), 1, BYTES, &other).must()?;
            capture.end()?.0.is(STREAM_CAPTURE_UNJOINED)?;
            equal("the other stream's status after", NOT_CAPTURED, status(&other).must()?)
        },
    ),
    check("captured work waits for nothing outside", "Programming Guide, Prohibited and Unhandled Operations", |_| {
        let (stream, other, event) = (non_blocking()?, non_blocking()?, Event::new(EVENT_DISABLE_TIMING)?);
        event.record(&other).must()?;
        let capture = Capture::new(&stream, RELAXED)?;
        stream.wait(&event)?.is(STREAM_CAPTURE_ISOLATION)?;
        capture.end_invalidated()
    }),
    check("two captures are not merged", "Programming Guide, Prohibited and Unhandled Operations", |_| {
        let (stream, other, event) = (non_blocking()?, non_blocking()?, Event::new(EVENT_DISABLE_TIMING)?);
        let one = Capture::new(&stream, RELAXED)?;
        let two = Capture::new(&other, RELAXED)?;
        event.record(&stream).must()?;
        other.wait(&event)?.is(STREAM_CAPTURE_MERGE)?;
        one.end_invalidated()?;
        two.end_invalidated()
    }),
];

const BYTES: usize = 4096;

pub(super) fn non_blocking() -> Result<Stream, Verdict> {
    Stream::new(STREAM_NON_BLOCKING)
}
