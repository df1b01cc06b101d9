//! Events.

use super::*;

pub(crate) const CHECKS: &[Check] = &[
    check("an event that was never recorded is complete", "cuEventRecord", |_| {
        let event = Event::new();
        event.query().ok();
        event.synchronize().ok();
        event.destroy();
    }),
    check("an event after work is not ready", "cuEventQuery", |context| {
        let (stream, event) = (Stream::new(), Event::new());
        let gate = Gate::close(&stream);
        event.record(&stream).ok();
        gate.linger();
        event.query().is(NOT_READY);
        gate.is_still_shut("recording and asking");
        gate.open();
        elsewhere(context, || event.synchronize().ok());
        event.query().ok();
    }),
    check("an event captures what was queued before it", "cuEventRecord", |_| {
        let (held, idle, event, diary) = (Stream::new(), Stream::new(), Event::new(), Diary::default());
        diary.note(1, &held);
        event.record(&held).ok();
        let gate = Gate::close(&held);
        event.synchronize().ok();
        gate.is_still_shut("an event recorded earlier");
        diary.has(&[1]);
        event.record(&held).ok();
        event.query().is(NOT_READY);
        // A second recording replaces the first.
        event.record(&idle).ok();
        event.synchronize().ok();
        gate.is_still_shut("an event recorded again");
    }),
    check("a stream waits for what the event had captured", "cuStreamWaitEvent, cuEventRecord", |_| {
        let (held, waits, idle) = (Stream::new(), Stream::new(), Stream::new());
        let (event, diary) = (Event::new(), Diary::default());
        let gate = Gate::close(&held);
        diary.note(1, &held);
        event.record(&held).ok();
        waits.wait(&event).ok();
        diary.note(2, &waits);
        event.record(&idle).ok();
        event.synchronize().ok();
        gate.linger();
        waits.query().is(NOT_READY);
        diary.has(&[]);
        gate.is_still_shut("queueing");
        gate.open();
        waits.synchronize();
        diary.has(&[1, 2]);
    }),
    check("an event may be destroyed before it is complete", "cuEventDestroy", |_| {
        let (stream, event, diary) = (Stream::new(), Event::new(), Diary::default());
        let gate = Gate::close(&stream);
        event.record(&stream).ok();
        event.destroy();
        gate.is_still_shut("destroying the event");
        diary.note(1, &stream);
        gate.open();
        stream.synchronize();
        diary.has(&[1]);
    }),
    check("an event outlives its stream", "cuStreamDestroy; cuEventQuery", |_| {
        let (stream, event) = (Stream::new(), Event::new());
        event.record(&stream).ok();
        stream.destroy();
        event.synchronize().ok();
        event.query().ok();
    }),
    check(
        "asking an event without a current context harms nothing",
        "cuEventQuery: does not list INVALID_CONTEXT, which other calls of the module do",
        |context| {
            let (stream, event) = (Stream::new(), Event::new());
            event.record(&stream).ok();
            event.synchronize().ok();
            detached(context, || event.query()).is_one_of(&[SUCCESS, INVALID_CONTEXT]);
            event.query().ok();
        },
    ),
    check("an event and a stream are of one context", "cuEventRecord", |_| {
        let event = Event::new();
        let _created = Created::new();
        event.record(&Stream::new()).is(INVALID_HANDLE);
    }),
];
