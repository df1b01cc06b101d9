//! Contexts that a program creates, and threads that have none.

use super::{Check, Created, check};
use crate::driver::blocks::HostBlock;
use crate::driver::calls;
use crate::driver::queues::{Event, Stream};
use crate::driver::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_DEVICE};
use crate::verdict::{Must, Verdict, differ, equal};
use std::sync::mpsc;

pub(crate) const CHECKS: &[Check] = &[
    check("creating a context makes it current", "cuCtxCreate", |session| {
        let created = Created::new(session)?;
        equal("the current context", created.0, calls::current().must()?)
    }),
    check("destroying the current context pops it", "cuCtxDestroy", |session| {
        Created::new(session)?.destroy().must()?;
        equal("the current context", 0, calls::current().must()?)
    }),
    check("destroying a context leaves the one below current", "cuCtxDestroy", |session| {
        let below = Created::new(session)?;
        Created::new(session)?.destroy().must()?;
        equal("the current context", below.0, calls::current().must()?)
    }),
    check("created contexts are not the primary one", "Primary Context Management, introduction", |session| {
        let created = Created::new(session)?;
        let primary = calls::primary_retain(session.device).must()?;
        let compared = differ("the contexts", created.0, primary);
        calls::primary_release(session.device).must()?;
        compared
    }),
    check("every context has an id of its own", "cuCtxGetId", |session| {
        let (one, two) = (Created::new(session)?, Created::new(session)?);
        differ("the ids", calls::context_id(one.0).must()?, calls::context_id(two.0).must()?)
    }),
    check("without a context its id is that of the current one", "cuCtxGetId", |session| {
        let created = Created::new(session)?;
        equal("the id", calls::context_id(created.0).must()?, calls::context_id(0).must()?)
    }),
    check("a context knows its device", "cuCtxGetDevice", |session| {
        let _created = Created::new(session)?;
        equal("the device", session.device, calls::current_device().must()?)
    }),
    check("a context on no device is refused", "cuCtxCreate", |_| {
        let count = calls::device_count().must()?;
        calls::context_create(count)?.0.is(INVALID_DEVICE)
    }),
    check("another thread finds its context destroyed", "cuCtxDestroy", |session| {
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
    }),
    check("without a context none is current", "cuCtxGetCurrent", |_| {
        equal("the current context", 0, calls::current().must()?)
    }),
    check("without a context there is nothing to pop", "cuCtxPopCurrent", |_| calls::pop()?.0.is(INVALID_CONTEXT)),
    check("without a context there is no device", "cuCtxGetDevice", |_| calls::current_device()?.0.is(INVALID_CONTEXT)),
    check("without a context there is nothing to wait for", "cuCtxSynchronize", |_| {
        calls::synchronize()?.is(INVALID_CONTEXT)
    }),
    check("without a context no device memory is allocated", "cuMemAlloc", |_| {
        calls::memory_alloc(4096)?.0.is(INVALID_CONTEXT)
    }),
    check("without a context no host memory is pinned", "cuMemHostAlloc", |_| {
        HostBlock::try_pinned(4096, 0)?.is(INVALID_CONTEXT)
    }),
    check("without a context no memory is counted", "cuMemGetInfo", |_| calls::memory_info()?.0.is(INVALID_CONTEXT)),
    check("without a context there are no streams", "cuStreamCreate", |_| Stream::create(0)?.0.is(INVALID_CONTEXT)),
    check("without a context there are no events", "cuEventCreate", |_| match Event::new(0) {
        Ok(_) => Err(Verdict::Failed { expected: "INVALID_CONTEXT from cuEventCreate".into(), got: "an event".into() }),
        Err(Verdict::Failed { got, .. }) => equal("the status", crate::driver::status::named(INVALID_CONTEXT), got),
        Err(skipped) => Err(skipped),
    }),
    check("unsetting where nothing is current is no error", "cuCtxSetCurrent", |_| {
        calls::set_current(0).must()?;
        equal("the current context", 0, calls::current().must()?)
    }),
];
