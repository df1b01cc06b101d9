//! Streams: what waits for what.
//!
//! While a stream is held, nothing is allocated, freed or created: the driver may wait for the device there.

use super::{Check, Created, check, detached};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host_async, set8, set8_async};
use crate::driver::calls;
use crate::driver::gate::{Diary, Gate};
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::{Event, Stream};
use crate::driver::status::{INVALID_CONTEXT, INVALID_VALUE, NOT_READY};
use crate::verdict::{Must, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("a new stream has nothing to do", "cuStreamQuery", |_| {
        let stream = Stream::new(0)?;
        stream.query()?.ok()?;
        stream.synchronize()?.ok()?;
        stream.destroy()?.ok()
    }),
    check("unknown flags make no stream", "cuStreamCreate", |_| Stream::create(1 << 20)?.0.is(INVALID_VALUE)),
    check("a stream knows its context", "cuStreamGetCtx", |session| {
        let created = Created::new(session)?;
        let stream = Stream::new(0)?;
        calls::push(session.context).must()?;
        let context = stream.context().must();
        calls::pop().must()?;
        equal("the context", created.0, context?)
    }),
    check("the default stream is in the current context", "cuStreamGetCtx", |session| {
        for stream in [Stream::null(), Stream::legacy(), Stream::per_thread()] {
            equal("the context", session.context, stream.context().must()?)?;
        }
        Ok(())
    }),
    check("without a context the default stream is nowhere", "cuStreamGetCtx", |session| {
        detached(session, || Stream::null().context())?.0.is(INVALID_CONTEXT)
    }),
    check("a stream runs in order", "cuLaunchHostFunc", |_| {
        let (stream, diary) = (Stream::new(STREAM_NON_BLOCKING)?, Diary::default());
        let gate = Gate::close(&stream)?;
        (0..20).try_for_each(|number| diary.note(number, &stream))?;
        gate.open();
        stream.synchronize()?.ok()?;
        equal("the calls", (0..20).collect::<Vec<_>>(), diary.pages())
    }),
    check("a held stream is not ready", "cuStreamQuery", |_| {
        let stream = Stream::new(STREAM_NON_BLOCKING)?;
        let gate = Gate::close(&stream)?;
        gate.await_stream()?;
        stream.query()?.is(NOT_READY)?;
        gate.is_still_shut("the query")?;
        gate.open();
        stream.synchronize()?.ok()?;
        stream.query()?.ok()
    }),
    check("waiting for a stream waits for all of it", "cuStreamSynchronize", |_| {
        let stream = Stream::new(STREAM_NON_BLOCKING)?;
        let (gate, diary) = (Gate::close(&stream)?, Diary::default());
        diary.note(1, &stream)?;
        gate.open_during(|| stream.synchronize()?.ok())?;
        ensure(gate.was_passed(), "the stream to have gone on", "it was still held")?;
        equal("the calls", vec![1], diary.pages())
    }),
    check("waiting for the context waits for every stream", "cuCtxSynchronize", |_| {
        let (blocking, other) = (Stream::new(0)?, Stream::new(STREAM_NON_BLOCKING)?);
        let (gate, diary) = (Gate::close(&other)?, Diary::default());
        diary.note(1, &other)?;
        diary.note(1, &blocking)?;
        gate.open_during(|| calls::synchronize()?.ok())?;
        equal("the calls", vec![1, 1], diary.pages())
    }),
    check(
        "two streams do not wait for each other",
        "Programming Guide, Asynchronous Concurrent Execution, Streams",
        |_| {
            let (held, free) = (Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?);
            let block = DeviceBlock::new(BYTES)?;
            let gate = Gate::close(&held)?;
            gate.await_stream()?;
            set8_async(block.at(0), 1, BYTES, &free).must()?;
            free.synchronize()?.ok()?;
            gate.is_still_shut("the other stream")
        },
    ),
    // The event is only asked, so that nothing hangs.
    check(
        "the default stream waits for a blocking stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, event) = (Stream::new(0)?, Event::new(0)?);
            let gate = Gate::close(&stream)?;
            gate.await_stream()?;
            event.record(&Stream::null())?.ok()?;
            gate.linger();
            event.query()?.is(NOT_READY)?;
            gate.is_still_shut("recording an event")?;
            gate.open();
            event.synchronize()?.ok()?;
            ensure(gate.was_passed(), "the blocking stream to have gone on", "it was still held")
        },
    ),
    check(
        "a blocking stream waits for the default stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, event) = (Stream::new(0)?, Event::new(0)?);
            let gate = Gate::close(&Stream::null())?;
            gate.await_stream()?;
            event.record(&stream)?.ok()?;
            // An event alone may count as no work.
            let diary = Diary::default();
            diary.note(1, &stream)?;
            gate.linger();
            stream.query()?.is(NOT_READY)?;
            equal("the calls", vec![], diary.pages())?;
            gate.is_still_shut("queueing")?;
            gate.open();
            stream.synchronize()?.ok()?;
            equal("the calls", vec![1], diary.pages())
        },
    ),
    check(
        "the default stream passes a non blocking stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (held, block) = (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?);
            let gate = Gate::close(&held)?;
            gate.await_stream()?;
            set8(block.at(0), 1, BYTES).must()?;
            Stream::null().synchronize()?.ok()?;
            gate.is_still_shut("the default stream")
        },
    ),
    check("a copy passes a non blocking stream", "Stream synchronization behavior, Legacy default stream", |_| {
        let (held, block, host) =
            (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        host.fill_pattern(1);
        let gate = Gate::close(&held)?;
        gate.await_stream()?;
        copy(block.at(0), host.at(0), BYTES).must()?;
        host.fill(0);
        copy(host.at(0), block.at(0), BYTES).must()?;
        gate.is_still_shut("a copy")?;
        host.has_pattern("what came back", 1)
    }),
    check(
        "a non blocking stream passes the default stream",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (free, block) = (Stream::new(STREAM_NON_BLOCKING)?, DeviceBlock::new(BYTES)?);
            let gate = Gate::close(&Stream::null())?;
            gate.await_stream()?;
            set8_async(block.at(0), 1, BYTES, &free).must()?;
            free.synchronize()?.ok()?;
            gate.is_still_shut("the non-blocking stream")
        },
    ),
    check(
        "a copy comes after a blocking streams work",
        "Stream synchronization behavior, Legacy default stream",
        |_| {
            let (stream, block, host) = (Stream::new(0)?, DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
            set8(block.at(0), 1, BYTES).must()?;
            let gate = Gate::close(&stream)?;
            set8_async(block.at(0), 2, BYTES, &stream).must()?;
            gate.open_during(|| copy(host.at(0), block.at(0), BYTES).must())?;
            host.has("the block", 2)
        },
    ),
    check("null and the legacy handle are one stream", "Data types, CU_STREAM_LEGACY", |_| {
        let diary = Diary::default();
        let gate = Gate::close(&Stream::legacy())?;
        gate.await_stream()?;
        diary.note(1, &Stream::null())?;
        gate.linger();
        Stream::null().query()?.is(NOT_READY)?;
        Stream::legacy().query()?.is(NOT_READY)?;
        gate.open();
        Stream::null().synchronize()?.ok()?;
        equal("the calls", vec![1], diary.pages())
    }),
    check("the per thread stream works", "Stream synchronization behavior, Per-thread default stream", |_| {
        let (stream, block, host) = (Stream::per_thread(), DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        set8_async(block.at(0), 5, BYTES, &stream).must()?;
        copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
        stream.synchronize()?.ok()?;
        host.has("the block", 5)
    }),
    check("a stream waits for another ones event", "cuStreamWaitEvent", |_| {
        let (first, second) = (Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?);
        let (event, diary) = (Event::new(0)?, Diary::default());
        let gate = Gate::close(&first)?;
        diary.note(1, &first)?;
        event.record(&first)?.ok()?;
        second.wait(&event)?.ok()?;
        diary.note(2, &second)?;
        gate.linger();
        second.query()?.is(NOT_READY)?;
        equal("the calls", vec![], diary.pages())?;
        gate.is_still_shut("queueing")?;
        gate.open();
        second.synchronize()?.ok()?;
        equal("the calls", vec![1, 2], diary.pages())
    }),
    check("a stream destroyed with work finishes it", "cuStreamDestroy", |_| {
        let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(0)?);
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        set8(block.at(0), 9, BYTES).must()?;
        Stream::null().synchronize()?.ok()?;
        let gate = Gate::close(&stream)?;
        gate.await_stream()?;
        copy_to_host_async(host.at(0), block.at(0), BYTES, &stream).must()?;
        event.record(&stream)?.ok()?;
        stream.destroy()?.ok()?;
        gate.is_still_shut("destroying the stream")?;
        event.query()?.is(NOT_READY)?;
        gate.open();
        event.synchronize()?.ok()?;
        host.has("the block", 9)
    }),
];

const BYTES: usize = 1 << 20;
