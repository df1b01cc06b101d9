//! The primary context: one for each device, shared by all that retain it.

use super::{Check, Session, check};
use crate::driver::calls;
use crate::driver::status::{INVALID_CONTEXT, INVALID_DEVICE};
use crate::driver::table::Handle;
use crate::verdict::{Must, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("it is inactive until it is retained", "cuDevicePrimaryCtxGetState", |session| {
        equal("whether it is active", false, is_active(session)?)
    }),
    check("retaining it makes it active", "cuDevicePrimaryCtxRetain", |session| {
        let retained = Retained::new(session)?;
        ensure(retained.context != 0, "a context", "NULL")?;
        equal("whether it is active", true, is_active(session)?)
    }),
    check("retaining it makes nothing current", "cuDevicePrimaryCtxRetain", |session| {
        let _retained = Retained::new(session)?;
        equal("the current context", 0, calls::current().must()?)
    }),
    check(
        "retaining it twice gives the same context",
        "Primary Context Management, introduction: unique per device",
        |session| {
            let one = Retained::new(session)?;
            let two = Retained::new(session)?;
            equal("the second", one.context, two.context)
        },
    ),
    check("it stays active until the last release", "cuDevicePrimaryCtxRelease", |session| {
        let one = Retained::new(session)?;
        let two = Retained::new(session)?;
        drop(two);
        equal("whether it is active after the first release", true, is_active(session)?)?;
        drop(one);
        equal("whether it is active after the last", false, is_active(session)?)
    }),
    check("releasing what nobody retains is refused", "cuDevicePrimaryCtxRelease", |session| {
        calls::primary_release(session.device)?.is(INVALID_CONTEXT)
    }),
    check("releasing it pops nothing", "cuDevicePrimaryCtxRelease", |session| {
        let one = Retained::new(session)?;
        let two = Retained::new(session)?;
        calls::push(one.context).must()?;
        drop(two);
        equal("the current context", one.context, calls::current().must()?)?;
        calls::pop().must()?;
        Ok(())
    }),
    check("its memory goes with the last release", "cuDevicePrimaryCtxRelease", |session| {
        let retained = Retained::new(session)?;
        let before = free_in(&retained)?;
        calls::push(retained.context).must()?;
        let _left_behind = calls::memory_alloc(LARGE).must()?;
        calls::pop().must()?;
        drop(retained);
        let after = free_in(&Retained::new(session)?)?;
        ensure(after + LARGE / 2 > before, format!("about {before} bytes to be free"), after.to_string())
    }),
    check("its memory goes with a reset", "cuDevicePrimaryCtxReset", |session| {
        let before = free_in(&Retained::new(session)?)?;
        let retained = Retained::new(session)?;
        calls::push(retained.context).must()?;
        let _left_behind = calls::memory_alloc(LARGE).must()?;
        calls::pop().must()?;
        calls::primary_reset(session.device).must()?;
        drop(retained);
        let after = free_in(&Retained::new(session)?)?;
        ensure(after + LARGE / 2 > before, format!("about {before} bytes to be free"), after.to_string())
    }),
    check("it may be released after a reset", "cuDevicePrimaryCtxReset", |session| {
        calls::primary_retain(session.device).must()?;
        calls::primary_reset(session.device).must()?;
        calls::primary_release(session.device).must()?;
        equal("whether it is active", false, is_active(session)?)
    }),
    check("each life of it has an id of its own", "cuCtxGetId", |session| {
        let one = calls::context_id(Retained::new(session)?.context).must()?;
        let two = calls::context_id(Retained::new(session)?.context).must()?;
        differ("the ids", one, two)
    }),
    check("no device has no primary context", "cuDevicePrimaryCtxRetain", |_| {
        let count = calls::device_count().must()?;
        calls::primary_retain(count)?.0.is(INVALID_DEVICE)
    }),
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

fn free_in(retained: &Retained) -> Result<usize, crate::verdict::Verdict> {
    calls::push(retained.context).must()?;
    let (free, _) = calls::memory_info().must()?;
    calls::pop().must()?;
    Ok(free)
}

const LARGE: usize = 48 << 20;
