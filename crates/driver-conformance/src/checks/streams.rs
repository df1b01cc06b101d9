//! Streams: what waits for what.
//!
//! While a stream is held, nothing is allocated, freed or created: the driver may wait for the device there.

use super::*;

const BYTES: usize = 1 << 20;

pub(crate) const CHECKS: &[Check] = &[
    check("a stream knows its context", "cuStreamGetCtx", |context| {
        let context_of = |stream: &Stream| value(|context| cuStreamGetCtx(stream.0, context));
        for stream in [DEFAULT, LEGACY, PER_THREAD] {
            equal("the context of a default stream", context, context_of(&stream));
        }
        detached(context, || reply(|context| cuStreamGetCtx(0, context))).is(INVALID_CONTEXT);
        let created = Created::new();
        let stream = Stream::new();
        cuCtxPushCurrent_v2(context).ok();
        let found = context_of(&stream);
        pop();
        equal("the context", created.0, found);
    }),
    check("a stream runs in order", "cuLaunchHostFunc", |_| {
        let (stream, diary) = (Stream::new(), Diary::default());
        let gate = Gate::close(&stream);
        (0..20).for_each(|number| diary.note(number, &stream));
        stream.query().is(NOT_READY);
        gate.is_still_shut("the query");
        gate.open();
        stream.synchronize();
        stream.query().ok();
        diary.has(&(0..20).collect::<Vec<_>>());
    }),
    check("waiting for the context waits for every stream", "cuCtxSynchronize", |_| {
        let (blocking, other, diary) = (Stream::blocking(), Stream::new(), Diary::default());
        let gate = Gate::close(&other);
        diary.note(1, &other);
        diary.note(1, &blocking);
        gate.open_during(|| cuCtxSynchronize().ok());
        diary.has(&[1, 1]);
    }),
    check("no stream waits for a non blocking one", "Stream synchronization behavior, Legacy default stream", |_| {
        let (held, free, block, host) =
            (Stream::new(), Stream::new(), DeviceBlock::new(BYTES), HostBlock::pinned(BYTES));
        let gate = Gate::close(&held);
        cuMemsetD8Async(block.0, 1, BYTES, free.0).ok();
        free.synchronize();
        gate.is_still_shut("another stream");
        cuMemsetD8_v2(block.0, 1, BYTES).ok();
        DEFAULT.synchronize();
        gate.is_still_shut("the default stream");
        there_and_back(&host, &block);
        gate.is_still_shut("a copy");
    }),
    check(
        "a non blocking stream passes the default stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (free, block) = (Stream::new(), DeviceBlock::new(BYTES));
            let gate = Gate::close(&DEFAULT);
            cuMemsetD8Async(block.0, 1, BYTES, free.0).ok();
            free.synchronize();
            gate.is_still_shut("the non-blocking stream");
        },
    ),
    // The event is only asked, so that nothing hangs.
    check(
        "the default stream waits for a blocking stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, event) = (Stream::blocking(), Event::new());
            let gate = Gate::close(&stream);
            event.record(&DEFAULT).ok();
            gate.linger();
            event.query().is(NOT_READY);
            gate.is_still_shut("recording an event");
            gate.open();
            event.synchronize().ok();
            ensure(gate.was_passed(), "the blocking stream to have gone on", "a stream that is held");
        },
    ),
    check(
        "a blocking stream waits for the default stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, diary) = (Stream::blocking(), Diary::default());
            let gate = Gate::close(&DEFAULT);
            diary.note(1, &stream);
            gate.linger();
            stream.query().is(NOT_READY);
            diary.has(&[]);
            gate.is_still_shut("queueing");
            gate.open();
            stream.synchronize();
            diary.has(&[1]);
        },
    ),
    check(
        "a copy comes after a blocking streams work",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, block, host) = (Stream::blocking(), DeviceBlock::new(BYTES), HostBlock::pageable(BYTES));
            cuMemsetD8_v2(block.0, 1, BYTES).ok();
            let gate = Gate::close(&stream);
            cuMemsetD8Async(block.0, 2, BYTES, stream.0).ok();
            gate.open_during(|| cuMemcpy(host.address(), block.0, BYTES).ok());
            host.has("the block", 2);
        },
    ),
    check("null and the legacy handle are one stream", "Data types, CU_STREAM_LEGACY", |_| {
        let (gate, diary) = (Gate::close(&LEGACY), Diary::default());
        diary.note(1, &DEFAULT);
        gate.linger();
        DEFAULT.query().is(NOT_READY);
        LEGACY.query().is(NOT_READY);
        gate.open();
        DEFAULT.synchronize();
        diary.has(&[1]);
    }),
    check("a stream destroyed with work finishes it", "cuStreamDestroy", |_| {
        let (stream, event) = (Stream::new(), Event::new());
        let (block, host) = (DeviceBlock::new(BYTES), HostBlock::pinned(BYTES));
        cuMemsetD8_v2(block.0, 9, BYTES).ok();
        DEFAULT.synchronize();
        let gate = Gate::close(&stream);
        cuMemcpyAsync(host.address(), block.0, BYTES, stream.0).ok();
        event.record(&stream).ok();
        stream.destroy();
        gate.is_still_shut("destroying the stream");
        event.query().is(NOT_READY);
        gate.open();
        event.synchronize().ok();
        host.has("the block", 9);
    }),
];
