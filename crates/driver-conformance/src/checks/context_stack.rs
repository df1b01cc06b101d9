//! The calling thread's stack of contexts.

use super::{Check, Created, Session, check};
use crate::driver::calls;
use crate::verdict::{Must, Outcome, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(a_pushed_context_is_current, "cuCtxPushCurrent"),
    check!(popping_brings_back_the_context_below, "cuCtxPopCurrent"),
    check!(a_context_may_lie_in_the_stack_twice, "cuCtxPushCurrent"),
    check!(setting_a_context_replaces_the_top, "cuCtxSetCurrent"),
    check!(setting_no_context_pops_the_top, "cuCtxSetCurrent"),
    check!(the_last_context_can_be_popped, "cuCtxPopCurrent"),
    check!(a_popped_context_still_lives, "cuCtxPopCurrent"),
    check!(waiting_for_an_idle_context_returns, "cuCtxSynchronize"),
];

fn a_pushed_context_is_current(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    equal("the current context", created.0, calls::current().must()?)?;
    calls::push(session.context).must()?;
    let pushed = calls::current().must();
    // The created context is on top again when it is destroyed: no destroyed one stays in the stack.
    calls::pop().must()?;
    equal("the pushed context", session.context, pushed?)
}

fn popping_brings_back_the_context_below(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    equal("the popped context", created.0, calls::pop().must()?)?;
    equal("the current context", session.context, calls::current().must()?)
}

fn a_context_may_lie_in_the_stack_twice(session: &Session) -> Outcome {
    calls::push(session.context).must()?;
    equal("the popped context", session.context, calls::pop().must()?)?;
    equal("the current context", session.context, calls::current().must()?)
}

fn setting_a_context_replaces_the_top(session: &Session) -> Outcome {
    let _created = Created::new(session)?;
    calls::set_current(session.context).must()?;
    equal("the top", session.context, calls::pop().must()?)?;
    equal("what lies below", session.context, calls::current().must()?)
}

fn setting_no_context_pops_the_top(session: &Session) -> Outcome {
    let _created = Created::new(session)?;
    calls::set_current(0).must()?;
    equal("the current context", session.context, calls::current().must()?)
}

fn the_last_context_can_be_popped(session: &Session) -> Outcome {
    equal("the popped context", session.context, calls::pop().must()?)?;
    equal("the current context", 0, calls::current().must()?)
}

fn a_popped_context_still_lives(session: &Session) -> Outcome {
    calls::pop().must()?;
    calls::push(session.context).must()?;
    calls::memory_info().must()?;
    Ok(())
}

fn waiting_for_an_idle_context_returns(_: &Session) -> Outcome {
    calls::synchronize()?.ok()
}
