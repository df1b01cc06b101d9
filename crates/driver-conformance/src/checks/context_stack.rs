//! The calling thread's stack of contexts.

use super::{Check, Created, check};
use crate::driver::calls;
use crate::verdict::{Must, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("a pushed context is current", "cuCtxPushCurrent", |session| {
        let created = Created::new(session)?;
        equal("the current context", created.0, calls::current().must()?)?;
        calls::push(session.context).must()?;
        let pushed = calls::current().must();
        // The created context is on top again when it is destroyed: no destroyed one stays in the stack.
        calls::pop().must()?;
        equal("the pushed context", session.context, pushed?)
    }),
    check("popping brings back the context below", "cuCtxPopCurrent", |session| {
        let created = Created::new(session)?;
        equal("the popped context", created.0, calls::pop().must()?)?;
        equal("the current context", session.context, calls::current().must()?)
    }),
    check("a context may lie in the stack twice", "cuCtxPushCurrent", |session| {
        calls::push(session.context).must()?;
        equal("the popped context", session.context, calls::pop().must()?)?;
        equal("the current context", session.context, calls::current().must()?)
    }),
    check("setting a context replaces the top", "cuCtxSetCurrent", |session| {
        let _created = Created::new(session)?;
        calls::set_current(session.context).must()?;
        equal("the top", session.context, calls::pop().must()?)?;
        equal("what lies below", session.context, calls::current().must()?)
    }),
    check("setting no context pops the top", "cuCtxSetCurrent", |session| {
        let _created = Created::new(session)?;
        calls::set_current(0).must()?;
        equal("the current context", session.context, calls::current().must()?)
    }),
    check("the last context can be popped", "cuCtxPopCurrent", |session| {
        equal("the popped context", session.context, calls::pop().must()?)?;
        equal("the current context", 0, calls::current().must()?)
    }),
    check("a popped context still lives", "cuCtxPopCurrent", |session| {
        calls::pop().must()?;
        calls::push(session.context).must()?;
        calls::memory_info().must()?;
        Ok(())
    }),
    check("waiting for an idle context returns", "cuCtxSynchronize", |_| calls::synchronize()?.ok()),
];
