//! The primary context: one for each device, shared by all that retain it.

use super::{Check, Session, check};
use crate::driver::calls;
use crate::driver::status::{INVALID_CONTEXT, INVALID_DEVICE};
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(it_is_inactive_until_it_is_retained, "cuDevicePrimaryCtxGetState"),
    check!(retaining_it_makes_it_active, "cuDevicePrimaryCtxRetain"),
    check!(retaining_it_makes_nothing_current, "cuDevicePrimaryCtxRetain"),
    check!(retaining_it_twice_gives_the_same_context, "Primary Context Management, introduction: unique per device"),
    check!(it_stays_active_until_the_last_release, "cuDevicePrimaryCtxRelease"),
    check!(releasing_what_nobody_retains_is_refused, "cuDevicePrimaryCtxRelease"),
    check!(releasing_it_pops_nothing, "cuDevicePrimaryCtxRelease"),
    check!(its_memory_goes_with_the_last_release, "cuDevicePrimaryCtxRelease"),
    check!(its_memory_goes_with_a_reset, "cuDevicePrimaryCtxReset"),
    check!(it_may_be_released_after_a_reset, "cuDevicePrimaryCtxReset"),
    check!(each_life_of_it_has_an_id_of_its_own, "cuCtxGetId"),
    check!(no_device_has_no_primary_context, "cuDevicePrimaryCtxRetain"),
];

pub(super) struct Retained {
    device: i32,
    pub(super) context: Handle,
}

impl Retained {
    pub(super) fn new(session: &Session) -> Result<Self, crate::verdict::Verdict> {
        Ok(Retained { device: session.device, context: calls::primary_retain(session.device).must()? })
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        let _ = calls::primary_release(self.device);
    }
}

fn is_active(session: &Session) -> Result<bool, crate::verdict::Verdict> {
    Ok(calls::primary_state(session.device).must()?.1)
}

fn it_is_inactive_until_it_is_retained(session: &Session) -> Outcome {
    equal("whether it is active", false, is_active(session)?)
}

fn retaining_it_makes_it_active(session: &Session) -> Outcome {
    let retained = Retained::new(session)?;
    ensure(retained.context != 0, "a context", "NULL")?;
    equal("whether it is active", true, is_active(session)?)
}

fn retaining_it_makes_nothing_current(session: &Session) -> Outcome {
    let _retained = Retained::new(session)?;
    equal("the current context", 0, calls::current().must()?)
}

fn retaining_it_twice_gives_the_same_context(session: &Session) -> Outcome {
    let one = Retained::new(session)?;
    let two = Retained::new(session)?;
    equal("the second", one.context, two.context)
}

fn it_stays_active_until_the_last_release(session: &Session) -> Outcome {
    let one = Retained::new(session)?;
    let two = Retained::new(session)?;
    drop(two);
    equal("whether it is active after the first release", true, is_active(session)?)?;
    drop(one);
    equal("whether it is active after the last", false, is_active(session)?)
}

fn releasing_what_nobody_retains_is_refused(session: &Session) -> Outcome {
    calls::primary_release(session.device)?.is(INVALID_CONTEXT)
}

fn releasing_it_pops_nothing(session: &Session) -> Outcome {
    let one = Retained::new(session)?;
    let two = Retained::new(session)?;
    calls::push(one.context).must()?;
    drop(two);
    equal("the current context", one.context, calls::current().must()?)?;
    calls::pop().must()?;
    Ok(())
}

fn free_in(retained: &Retained) -> Result<usize, crate::verdict::Verdict> {
    calls::push(retained.context).must()?;
    let (free, _) = calls::memory_info().must()?;
    calls::pop().must()?;
    Ok(free)
}

const LARGE: usize = 48 << 20;

fn its_memory_goes_with_the_last_release(session: &Session) -> Outcome {
    let retained = Retained::new(session)?;
    let before = free_in(&retained)?;
    calls::push(retained.context).must()?;
    let _left_behind = calls::memory_alloc(LARGE).must()?;
    calls::pop().must()?;
    drop(retained);
    let after = free_in(&Retained::new(session)?)?;
    ensure(after + LARGE / 2 > before, format!("about {before} bytes to be free"), after.to_string())
}

fn its_memory_goes_with_a_reset(session: &Session) -> Outcome {
    let before = free_in(&Retained::new(session)?)?;
    let retained = Retained::new(session)?;
    calls::push(retained.context).must()?;
    let _left_behind = calls::memory_alloc(LARGE).must()?;
    calls::pop().must()?;
    calls::primary_reset(session.device).must()?;
    drop(retained);
    let after = free_in(&Retained::new(session)?)?;
    ensure(after + LARGE / 2 > before, format!("about {before} bytes to be free"), after.to_string())
}

fn it_may_be_released_after_a_reset(session: &Session) -> Outcome {
    calls::primary_retain(session.device).must()?;
    calls::primary_reset(session.device).must()?;
    calls::primary_release(session.device).must()?;
    equal("whether it is active", false, is_active(session)?)
}

fn each_life_of_it_has_an_id_of_its_own(session: &Session) -> Outcome {
    let one = calls::context_id(Retained::new(session)?.context).must()?;
    let two = calls::context_id(Retained::new(session)?.context).must()?;
    differ("the ids", one, two)
}

fn no_device_has_no_primary_context(_: &Session) -> Outcome {
    let count = calls::device_count().must()?;
    calls::primary_retain(count)?.0.is(INVALID_DEVICE)
}
