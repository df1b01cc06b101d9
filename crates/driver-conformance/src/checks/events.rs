//! Events.

use super::{Check, Created, check, detached};
use crate::driver::gate::{Diary, Gate};
use crate::driver::numbers::{EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};
use crate::driver::queues::{Event, Stream};
use crate::driver::status::{INVALID_CONTEXT, INVALID_HANDLE, NOT_READY, SUCCESS};
use crate::verdict::{Must, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("an event that nobody recorded is complete", "cuEventRecord", |_| {
        let event = Event::new(EVENT_DISABLE_TIMING)?;
        event.query()?.ok()?;
        event.synchronize()?.ok()?;
        event.destroy()?.ok()
    }),
    check("an event behind work is not ready", "cuEventQuery", |_| {
        let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
        let gate = Gate::close(&stream)?;
        event.record(&stream)?.ok()?;
        gate.linger();
        event.query()?.is(NOT_READY)?;
        gate.is_still_shut("recording and asking")?;
        gate.open();
        event.synchronize()?.ok()?;
        event.query()?.ok()
    }),
    check("an event on an idle stream completes", "cuEventSynchronize", |_| {
        let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
        event.record(&stream)?.ok()?;
        event.synchronize()?.ok()?;
        event.query()?.ok()
    }),
    check("an event captures what was queued before it", "cuEventRecord", |_| {
        let (stream, event, diary) =
            (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?, Diary::default());
        diary.note(1, &stream)?;
        event.record(&stream)?.ok()?;
        let gate = Gate::close(&stream)?;
        event.synchronize()?.ok()?;
        gate.is_still_shut("an event recorded earlier")?;
        equal("the calls", vec![1], diary.pages())
    }),
    check("recording again forgets the first time", "cuEventRecord", |_| {
        let (held, idle) = (Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?);
        let event = Event::new(EVENT_DISABLE_TIMING)?;
        let gate = Gate::close(&held)?;
        event.record(&held)?.ok()?;
        event.query()?.is(NOT_READY)?;
        event.record(&idle)?.ok()?;
        event.synchronize()?.ok()?;
        gate.is_still_shut("the event")
    }),
    check("a wait keeps what the event had captured", "cuEventRecord", |_| {
        let (held, waits, idle) =
            (Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?);
        let (event, diary) = (Event::new(EVENT_DISABLE_TIMING)?, Diary::default());
        let gate = Gate::close(&held)?;
        event.record(&held)?.ok()?;
        waits.wait(&event)?.ok()?;
        diary.note(1, &waits)?;
        event.record(&idle)?.ok()?;
        event.synchronize()?.ok()?;
        gate.linger();
        waits.query()?.is(NOT_READY)?;
        equal("the calls", vec![], diary.pages())?;
        gate.is_still_shut("the second recording")?;
        gate.open();
        waits.synchronize()?.ok()?;
        equal("the calls", vec![1], diary.pages())
    }),
    check("an event may be destroyed before it is complete", "cuEventDestroy", |_| {
        let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
        let (gate, diary) = (Gate::close(&stream)?, Diary::default());
        event.record(&stream)?.ok()?;
        event.destroy()?.ok()?;
        gate.is_still_shut("destroying the event")?;
        diary.note(1, &stream)?;
        gate.open();
        stream.synchronize()?.ok()?;
        equal("the calls", vec![1], diary.pages())
    }),
    check("an event outlives its stream", "cuStreamDestroy; cuEventQuery", |_| {
        let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
        event.record(&stream)?.ok()?;
        stream.destroy()?.ok()?;
        event.synchronize()?.ok()?;
        event.query()?.ok()
    }),
    check(
        "asking an event without a current context harms nothing",
        "cuEventQuery: does not list INVALID_CONTEXT, which other calls of the module do",
        |session| {
            let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
            event.record(&stream)?.ok()?;
            event.synchronize()?.ok()?;
            detached(session, || event.query())?.is_one_of(&[SUCCESS, INVALID_CONTEXT])?;
            event.query()?.ok()
        },
    ),
    check("an event and a stream are of one context", "cuEventRecord", |session| {
        let event = Event::new(EVENT_DISABLE_TIMING)?;
        let _created = Created::new(session)?;
        event.record(&Stream::new(STREAM_NON_BLOCKING)?)?.is(INVALID_HANDLE)
    }),
    check("time passes between two events", "cuEventElapsedTime", |_| {
        let (stream, start, end) = (Stream::new(0)?, Event::new(0)?, Event::new(0)?);
        start.record(&stream)?.ok()?;
        end.record(&stream)?.ok()?;
        end.synchronize()?.ok()?;
        let time = start.until(&end).must()?;
        ensure((0.0..10_000.0).contains(&time), "a few milliseconds at most", format!("{time} ms"))
    }),
    check("no time is known before an event is recorded", "cuEventElapsedTime", |_| {
        let (start, end) = (Event::new(0)?, Event::new(0)?);
        start.until(&end)?.0.is(INVALID_HANDLE)
    }),
    check("no time is known before an event is complete", "cuEventElapsedTime", |_| {
        let (stream, start, end) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(0)?, Event::new(0)?);
        start.record(&stream)?.ok()?;
        let gate = Gate::close(&stream)?;
        end.record(&stream)?.ok()?;
        start.until(&end)?.0.is(NOT_READY)?;
        gate.is_still_shut("asking for the time")
    }),
    check("an event without timing tells no time", "cuEventElapsedTime", |_| {
        let stream = Stream::new(0)?;
        let (start, end) = (Event::new(EVENT_DISABLE_TIMING)?, Event::new(EVENT_DISABLE_TIMING)?);
        start.record(&stream)?.ok()?;
        end.record(&stream)?.ok()?;
        end.synchronize()?.ok()?;
        start.until(&end)?.0.is(INVALID_HANDLE)
    }),
];
