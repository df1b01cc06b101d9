//! Events.

use super::{Check, Created, Session, check, detached};
use crate::driver::gate::{Diary, Gate};
use crate::driver::numbers::{EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING};
use crate::driver::queues::{Event, Stream};
use crate::driver::status::{INVALID_CONTEXT, INVALID_HANDLE, NOT_READY, SUCCESS};
use crate::verdict::{Must, Outcome, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(an_event_that_nobody_recorded_is_complete, "cuEventRecord"),
    check!(an_event_behind_work_is_not_ready, "cuEventQuery"),
    check!(an_event_on_an_idle_stream_completes, "cuEventSynchronize"),
    check!(an_event_captures_what_was_queued_before_it, "cuEventRecord"),
    check!(recording_again_forgets_the_first_time, "cuEventRecord"),
    check!(a_wait_keeps_what_the_event_had_captured, "cuEventRecord"),
    check!(an_event_may_be_destroyed_before_it_is_complete, "cuEventDestroy"),
    check!(an_event_outlives_its_stream, "cuStreamDestroy; cuEventQuery"),
    check!(
        asking_an_event_without_a_current_context_harms_nothing,
        "cuEventQuery: does not list INVALID_CONTEXT, which other calls of the module do"
    ),
    check!(an_event_and_a_stream_are_of_one_context, "cuEventRecord"),
    check!(time_passes_between_two_events, "cuEventElapsedTime"),
    check!(no_time_is_known_before_an_event_is_recorded, "cuEventElapsedTime"),
    check!(no_time_is_known_before_an_event_is_complete, "cuEventElapsedTime"),
    check!(an_event_without_timing_tells_no_time, "cuEventElapsedTime"),
];

fn an_event_that_nobody_recorded_is_complete(_: &Session) -> Outcome {
    let event = Event::new(EVENT_DISABLE_TIMING)?;
    event.query()?.ok()?;
    event.synchronize()?.ok()?;
    event.destroy()?.ok()
}

fn an_event_behind_work_is_not_ready(_: &Session) -> Outcome {
    let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
    let gate = Gate::close(&stream)?;
    event.record(&stream)?.ok()?;
    gate.linger();
    event.query()?.is(NOT_READY)?;
    gate.is_still_shut("recording and asking")?;
    gate.open();
    event.synchronize()?.ok()?;
    event.query()?.ok()
}

fn an_event_on_an_idle_stream_completes(_: &Session) -> Outcome {
    let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
    event.record(&stream)?.ok()?;
    event.synchronize()?.ok()?;
    event.query()?.ok()
}

fn an_event_captures_what_was_queued_before_it(_: &Session) -> Outcome {
    let (stream, event, diary) =
        (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?, Diary::default());
    diary.note(1, &stream)?;
    event.record(&stream)?.ok()?;
    let gate = Gate::close(&stream)?;
    event.synchronize()?.ok()?;
    gate.is_still_shut("an event recorded earlier")?;
    equal("the calls", vec![1], diary.pages())
}

fn recording_again_forgets_the_first_time(_: &Session) -> Outcome {
    let (held, idle) = (Stream::new(STREAM_NON_BLOCKING)?, Stream::new(STREAM_NON_BLOCKING)?);
    let event = Event::new(EVENT_DISABLE_TIMING)?;
    let gate = Gate::close(&held)?;
    event.record(&held)?.ok()?;
    event.query()?.is(NOT_READY)?;
    event.record(&idle)?.ok()?;
    event.synchronize()?.ok()?;
    gate.is_still_shut("the event")
}

fn a_wait_keeps_what_the_event_had_captured(_: &Session) -> Outcome {
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
}

fn an_event_may_be_destroyed_before_it_is_complete(_: &Session) -> Outcome {
    let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
    let (gate, diary) = (Gate::close(&stream)?, Diary::default());
    event.record(&stream)?.ok()?;
    event.destroy()?.ok()?;
    gate.is_still_shut("destroying the event")?;
    diary.note(1, &stream)?;
    gate.open();
    stream.synchronize()?.ok()?;
    equal("the calls", vec![1], diary.pages())
}

fn an_event_outlives_its_stream(_: &Session) -> Outcome {
    let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
    event.record(&stream)?.ok()?;
    stream.destroy()?.ok()?;
    event.synchronize()?.ok()?;
    event.query()?.ok()
}

fn asking_an_event_without_a_current_context_harms_nothing(session: &Session) -> Outcome {
    let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(EVENT_DISABLE_TIMING)?);
    event.record(&stream)?.ok()?;
    event.synchronize()?.ok()?;
    detached(session, || event.query())?.is_one_of(&[SUCCESS, INVALID_CONTEXT])?;
    event.query()?.ok()
}

fn an_event_and_a_stream_are_of_one_context(session: &Session) -> Outcome {
    let event = Event::new(EVENT_DISABLE_TIMING)?;
    let _created = Created::new(session)?;
    event.record(&Stream::new(STREAM_NON_BLOCKING)?)?.is(INVALID_HANDLE)
}

fn time_passes_between_two_events(_: &Session) -> Outcome {
    let (stream, start, end) = (Stream::new(0)?, Event::new(0)?, Event::new(0)?);
    start.record(&stream)?.ok()?;
    end.record(&stream)?.ok()?;
    end.synchronize()?.ok()?;
    let time = start.until(&end).must()?;
    ensure((0.0..10_000.0).contains(&time), "a few milliseconds at most", format!("{time} ms"))
}

fn no_time_is_known_before_an_event_is_recorded(_: &Session) -> Outcome {
    let (start, end) = (Event::new(0)?, Event::new(0)?);
    start.until(&end)?.0.is(INVALID_HANDLE)
}

fn no_time_is_known_before_an_event_is_complete(_: &Session) -> Outcome {
    let (stream, start, end) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(0)?, Event::new(0)?);
    start.record(&stream)?.ok()?;
    let gate = Gate::close(&stream)?;
    end.record(&stream)?.ok()?;
    start.until(&end)?.0.is(NOT_READY)?;
    gate.is_still_shut("asking for the time")
}

fn an_event_without_timing_tells_no_time(_: &Session) -> Outcome {
    let stream = Stream::new(0)?;
    let (start, end) = (Event::new(EVENT_DISABLE_TIMING)?, Event::new(EVENT_DISABLE_TIMING)?);
    start.record(&stream)?.ok()?;
    end.record(&stream)?.ok()?;
    end.synchronize()?.ok()?;
    start.until(&end)?.0.is(INVALID_HANDLE)
}
