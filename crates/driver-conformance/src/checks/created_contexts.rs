//! Contexts that a program creates, and threads that have none.

use super::{Check, Created, Session, check};
use crate::driver::blocks::HostBlock;
use crate::driver::calls;
use crate::driver::queues::{Event, Stream};
use crate::driver::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_DEVICE};
use crate::verdict::{Must, Outcome, Verdict, differ, equal};
use std::sync::mpsc;

pub(crate) const CHECKS: &[Check] = &[
    check!(creating_a_context_makes_it_current, "cuCtxCreate"),
    check!(destroying_the_current_context_pops_it, "cuCtxDestroy"),
    check!(destroying_a_context_leaves_the_one_below_current, "cuCtxDestroy"),
    check!(created_contexts_are_not_the_primary_one, "Primary Context Management, introduction"),
    check!(every_context_has_an_id_of_its_own, "cuCtxGetId"),
    check!(without_a_context_its_id_is_that_of_the_current_one, "cuCtxGetId"),
    check!(a_context_knows_its_device, "cuCtxGetDevice"),
    check!(a_context_on_no_device_is_refused, "cuCtxCreate"),
    check!(another_thread_finds_its_context_destroyed, "cuCtxDestroy"),
    check!(without_a_context_none_is_current, "cuCtxGetCurrent"),
    check!(without_a_context_there_is_nothing_to_pop, "cuCtxPopCurrent"),
    check!(without_a_context_there_is_no_device, "cuCtxGetDevice"),
    check!(without_a_context_there_is_nothing_to_wait_for, "cuCtxSynchronize"),
    check!(without_a_context_no_device_memory_is_allocated, "cuMemAlloc"),
    check!(without_a_context_no_host_memory_is_pinned, "cuMemHostAlloc"),
    check!(without_a_context_no_memory_is_counted, "cuMemGetInfo"),
    check!(without_a_context_there_are_no_streams, "cuStreamCreate"),
    check!(without_a_context_there_are_no_events, "cuEventCreate"),
    check!(unsetting_where_nothing_is_current_is_no_error, "cuCtxSetCurrent"),
];

fn creating_a_context_makes_it_current(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    equal("the current context", created.0, calls::current().must()?)
}

fn destroying_the_current_context_pops_it(session: &Session) -> Outcome {
    Created::new(session)?.destroy().must()?;
    equal("the current context", 0, calls::current().must()?)
}

fn destroying_a_context_leaves_the_one_below_current(session: &Session) -> Outcome {
    let below = Created::new(session)?;
    Created::new(session)?.destroy().must()?;
    equal("the current context", below.0, calls::current().must()?)
}

fn created_contexts_are_not_the_primary_one(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    let primary = calls::primary_retain(session.device).must()?;
    let compared = differ("the contexts", created.0, primary);
    calls::primary_release(session.device).must()?;
    compared
}

fn every_context_has_an_id_of_its_own(session: &Session) -> Outcome {
    let (one, two) = (Created::new(session)?, Created::new(session)?);
    differ("the ids", calls::context_id(one.0).must()?, calls::context_id(two.0).must()?)
}

fn without_a_context_its_id_is_that_of_the_current_one(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    equal("the id", calls::context_id(created.0).must()?, calls::context_id(0).must()?)
}

fn a_context_knows_its_device(session: &Session) -> Outcome {
    let _created = Created::new(session)?;
    equal("the device", session.device, calls::current_device().must()?)
}

fn a_context_on_no_device_is_refused(_: &Session) -> Outcome {
    let count = calls::device_count().must()?;
    calls::context_create(count)?.0.is(INVALID_DEVICE)
}

fn another_thread_finds_its_context_destroyed(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    let context = created.0;
    let (ready, is_ready) = mpsc::channel();
    let (destroyed, is_destroyed) = mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        calls::set_current(context).must()?;
        let _ = ready.send(());
        // Ends as well if this thread's check gave up.
        let _ = is_destroyed.recv();
        calls::memory_info()?.0.is(CONTEXT_IS_DESTROYED)
    });
    let _ = is_ready.recv();
    let reply = created.destroy();
    drop(destroyed);
    let outcome = other.join().unwrap_or_else(|_| Err(Verdict::panicked()));
    reply.must()?;
    outcome
}

fn without_a_context_none_is_current(_: &Session) -> Outcome {
    equal("the current context", 0, calls::current().must()?)
}

fn without_a_context_there_is_nothing_to_pop(_: &Session) -> Outcome {
    calls::pop()?.0.is(INVALID_CONTEXT)
}

fn without_a_context_there_is_no_device(_: &Session) -> Outcome {
    calls::current_device()?.0.is(INVALID_CONTEXT)
}

fn without_a_context_there_is_nothing_to_wait_for(_: &Session) -> Outcome {
    calls::synchronize()?.is(INVALID_CONTEXT)
}

fn without_a_context_no_device_memory_is_allocated(_: &Session) -> Outcome {
    calls::memory_alloc(4096)?.0.is(INVALID_CONTEXT)
}

fn without_a_context_no_host_memory_is_pinned(_: &Session) -> Outcome {
    HostBlock::try_pinned(4096, 0)?.is(INVALID_CONTEXT)
}

fn without_a_context_no_memory_is_counted(_: &Session) -> Outcome {
    calls::memory_info()?.0.is(INVALID_CONTEXT)
}

fn without_a_context_there_are_no_streams(_: &Session) -> Outcome {
    Stream::create(0)?.0.is(INVALID_CONTEXT)
}

fn without_a_context_there_are_no_events(_: &Session) -> Outcome {
    match Event::new(0) {
        Ok(_) => Err(Verdict::Failed { expected: "INVALID_CONTEXT from cuEventCreate".into(), got: "an event".into() }),
        Err(Verdict::Failed { got, .. }) => equal("the status", crate::driver::status::named(INVALID_CONTEXT), got),
        Err(skipped) => Err(skipped),
    }
}

fn unsetting_where_nothing_is_current_is_no_error(_: &Session) -> Outcome {
    calls::set_current(0).must()?;
    equal("the current context", 0, calls::current().must()?)
}
