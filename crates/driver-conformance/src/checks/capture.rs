//! Stream capture: what is captured, which calls it forbids on which thread, and what of them invalidates it.
//!
//! Captures are declared after the blocks of a check: the end of a block waits for the context, and would invalidate
//! the capture.

use super::*;

const BYTES: usize = 4096;
const PROHIBITED: &str = "Programming Guide, Prohibited and Unhandled Operations";
const MODES: &str = "cuThreadExchangeStreamCaptureMode";

pub(crate) const CHECKS: &[Check] = &[
    check("the legacy stream is not captured", "cuStreamBeginCapture", |_| {
        for stream in [DEFAULT, LEGACY] {
            let reply = cuStreamBeginCapture_v2(stream.0, GLOBAL);
            if reply.status == SUCCESS {
                end_capture(&stream).ok();
            }
            reply.fails();
        }
    }),
    check("waiting for a captured stream and asking it invalidates", PROHIBITED, |_| {
        let stream = Stream::new();
        let capture = Capture::new(&stream, RELAXED);
        cuStreamSynchronize(stream.0).is(STREAM_CAPTURE_UNSUPPORTED);
        capture.end_invalidated();
        let capture = Capture::new(&stream, RELAXED);
        stream.query().is(STREAM_CAPTURE_UNSUPPORTED);
        capture.end_invalidated();
    }),
    check("waiting for the context invalidates", PROHIBITED, |_| {
        for stream in [Stream::blocking(), Stream::new()] {
            let capture = Capture::new(&stream, RELAXED);
            let _relaxed = Relaxed::new();
            cuCtxSynchronize().is_one_of(&[STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_IMPLICIT]);
            capture.end_invalidated();
        }
    }),
    check("an event that was captured is not waited for", "Data types, CUDA_ERROR_CAPTURED_EVENT", |_| {
        for call in [Event::query, Event::synchronize] {
            let (stream, event) = (Stream::new(), Event::new());
            let capture = Capture::new(&stream, RELAXED);
            event.record(&stream).ok();
            call(&event).is(CAPTURED_EVENT);
            drop(capture);
            // Recorded anew, the event is as any.
            event.record(&stream).ok();
            event.synchronize().ok();
        }
    }),
    check("the legacy stream reports a blocking capture alone", "cuStreamIsCapturing", |_| {
        for (stream, is_blocking) in [(Stream::blocking(), true), (Stream::new(), false)] {
            let capture = Capture::new(&stream, GLOBAL);
            for legacy in [DEFAULT, LEGACY] {
                let mut status = NOT_CAPTURED;
                let reply = cuStreamIsCapturing(legacy.0, &mut status);
                reply.is(if is_blocking { STREAM_CAPTURE_IMPLICIT } else { SUCCESS });
                equal("the legacy stream's capture status", NOT_CAPTURED, status);
            }
            capture.end_whole();
        }
    }),
    check("a copy or a fill beside a blocking capture invalidates", PROHIBITED, |_| {
        let (block, host, stream) = (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES), Stream::blocking());
        let capture = Capture::new(&stream, RELAXED);
        cuMemcpy(host.address(), block.0, BYTES).is(STREAM_CAPTURE_IMPLICIT);
        capture.end_invalidated();
        let capture = Capture::new(&stream, RELAXED);
        cuMemsetD8_v2(block.0, 1, BYTES).is(STREAM_CAPTURE_IMPLICIT);
        capture.end_invalidated();
    }),
    check("captured work waits for nothing outside", PROHIBITED, |_| {
        let (stream, other, event) = (Stream::new(), Stream::new(), Event::new());
        event.record(&other).ok();
        let capture = Capture::new(&stream, RELAXED);
        stream.wait(&event).is(STREAM_CAPTURE_ISOLATION);
        capture.end_invalidated();
        let (one, two) = (Capture::new(&stream, RELAXED), Capture::new(&other, RELAXED));
        event.record(&stream).ok();
        other.wait(&event).is(STREAM_CAPTURE_MERGE);
        one.end_invalidated();
        two.end_invalidated();
    }),
    check("a mode is exchanged", MODES, |context| {
        equal("a thread's first mode", GLOBAL, exchange_mode(RELAXED));
        elsewhere(context, || equal("another thread's first mode", GLOBAL, exchange_mode(THREAD_LOCAL)));
        equal("the mode before", RELAXED, exchange_mode(GLOBAL));
    }),
    check("an allocation beside a capture that forbids it invalidates", MODES, |context| {
        let allocate = || reply(|address| cuMemAlloc_v2(address, BYTES)).is(STREAM_CAPTURE_UNSUPPORTED);
        let stream = Stream::new();
        for mode in [GLOBAL, THREAD_LOCAL] {
            let capture = Capture::new(&stream, mode);
            allocate();
            capture.end_invalidated();
        }
        let capture = Capture::new(&stream, GLOBAL);
        elsewhere(context, allocate);
        capture.end_invalidated();
    }),
    check("another thread allocates beside a thread local capture", MODES, |context| {
        let stream = Stream::new();
        let capture = Capture::new(&stream, THREAD_LOCAL);
        elsewhere(context, || {
            exchange_mode(THREAD_LOCAL);
            allocate_and_free();
        });
        capture.end_whole();
    }),
    check("a relaxed thread allocates and frees beside any capture", MODES, |context| {
        for (stream, mode) in [(Stream::new(), GLOBAL), (Stream::new(), THREAD_LOCAL), (Stream::blocking(), GLOBAL)] {
            let capture = Capture::new(&stream, mode);
            let work = || {
                let _relaxed = Relaxed::new();
                allocate_and_free();
            };
            work();
            elsewhere(context, work);
            capture.end_whole();
        }
    }),
    check("a relaxed thread page locks waits for events and copies beside a non blocking capture", MODES, |_| {
        let (block, host) = (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES));
        let (stream, other, event) = (Stream::new(), Stream::new(), Event::new());
        let capture = Capture::new(&stream, GLOBAL);
        let _relaxed = Relaxed::new();
        cuMemFreeHost(value(|address| cuMemHostAlloc(address, BYTES, PORTABLE))).ok();
        event.record(&other).ok();
        event.synchronize().ok();
        event.query().ok();
        cuMemcpy(host.address(), block.0, BYTES).ok();
        capture.end_whole();
    }),
    check("what a copy beside a non blocking capture of its thread does", PROHIBITED, |_| {
        let (block, pageable, pinned) = (DeviceBlock::new(BYTES), HostBlock::pageable(BYTES), HostBlock::pinned(BYTES));
        let mut text = Vec::new();
        for (name, host) in [("pageable", pageable.address()), ("pinned", pinned.address())] {
            for (way, to, from) in [("to the device", block.0, host), ("to the host", host, block.0)] {
                let stream = Stream::new();
                let capture = Capture::new(&stream, GLOBAL);
                let copied = cuMemcpy(to, from, BYTES);
                let (ended, graph) = capture.end();
                text.push(format!("{name}, {way}: {}; the end: {}", named(copied.status), named(ended.status)));
                if ended.status == SUCCESS {
                    cuGraphDestroy(graph).ok();
                }
            }
        }
        found(text.join("; "));
    }),
];

fn allocate_and_free() {
    cuMemFree_v2(value(|address| cuMemAlloc_v2(address, BYTES))).ok();
}
