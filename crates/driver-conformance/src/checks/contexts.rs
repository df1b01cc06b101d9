//! The primary context of a device, contexts that a program creates, the stack of a thread, and threads that have none.

use super::*;

pub(crate) const CHECKS: &[Check] = &[
    check("retaining the primary context makes nothing current", "cuDevicePrimaryCtxRetain", |_| {
        let one = Retained::new();
        ensure(one.0 != 0, "a context", "NULL");
        equal("the current context", 0, current());
        equal("the context that is retained twice", one.0, Retained::new().0);
    }),
    check("releasing what is not retained is refused", "cuDevicePrimaryCtxRelease", |_| {
        cuDevicePrimaryCtxRelease_v2(DEVICE).is(INVALID_CONTEXT);
    }),
    check("releasing a retained context pops nothing", "cuDevicePrimaryCtxRelease", |_| {
        let one = Retained::new();
        cuCtxPushCurrent_v2(one.0).ok();
        drop(Retained::new());
        equal("the current context", one.0, current());
        pop();
    }),
    check("its memory goes with the last release", "cuDevicePrimaryCtxRelease", |_| is_given_back_by(|| {})),
    check("its memory goes with a reset", "cuDevicePrimaryCtxReset", |_| {
        is_given_back_by(|| cuDevicePrimaryCtxReset_v2(DEVICE).ok());
    }),
    check("each life of the primary context has its own id", "cuCtxGetId", |_| {
        let id = || value(|id| cuCtxGetId(Retained::new().0, id));
        differ("the ids", id(), id());
    }),
    check("created contexts are not the primary one, and are current", "cuCtxCreate", |_| {
        let (one, two) = (Created::new(), Created::new());
        equal("the current context", two.0, current());
        differ("the contexts", one.0, Retained::new().0);
        let id = |context| value(|id| cuCtxGetId(context, id));
        differ("the ids", id(one.0), id(two.0));
        equal("the id of the current one", id(two.0), id(0));
        equal("the device", DEVICE, value(cuCtxGetDevice));
        two.destroy().ok();
        equal("the one below", one.0, current());
    }),
    check("another thread finds its context destroyed", "cuCtxDestroy", |_| {
        let created = Created::new();
        let context = created.0;
        let (turn, other_turn) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let set = cuCtxSetCurrent(context);
                turn.wait();
                other_turn.wait();
                set.ok();
                cuMemGetInfo_v2(&mut 0, &mut 0).is(CONTEXT_IS_DESTROYED);
            });
            turn.wait();
            let destroyed = created.destroy();
            other_turn.wait();
            join(other);
            destroyed.ok();
        });
    }),
    check("without a context nothing is done", "cuCtxGetCurrent, cuMemAlloc, cuMemHostAlloc and others", |_| {
        equal("the current context", 0, current());
        cuCtxSetCurrent(0).ok();
        cuCtxSynchronize().is(INVALID_CONTEXT);
        cuMemGetInfo_v2(&mut 0, &mut 0).is(INVALID_CONTEXT);
        reply(cuCtxPopCurrent_v2).is(INVALID_CONTEXT);
        reply(cuCtxGetDevice).is(INVALID_CONTEXT);
        reply(|address| cuMemAlloc_v2(address, 4096)).is(INVALID_CONTEXT);
        reply(|address| cuMemHostAlloc(address, 4096, PORTABLE)).is(INVALID_CONTEXT);
        reply(|stream| cuStreamCreate(stream, 0)).is(INVALID_CONTEXT);
        reply(|event| cuEventCreate(event, DISABLE_TIMING)).is(INVALID_CONTEXT);
    }),
];

pub(crate) const STACK: &[Check] = &[
    check("a context is pushed onto another and popped", "cuCtxPushCurrent, cuCtxPopCurrent", |context| {
        let created = Created::new();
        cuCtxPushCurrent_v2(context).ok();
        let pushed = current();
        // The created context is on top again when it is destroyed: no destroyed one stays in the stack.
        equal("the popped context", pushed, pop());
        equal("the pushed context", context, pushed);
        equal("the popped context", created.0, pop());
        equal("the context below", context, current());
    }),
    check("setting a context replaces the top, and setting none pops it", "cuCtxSetCurrent", |context| {
        let created = Created::new();
        cuCtxSetCurrent(context).ok();
        equal("the top", context, pop());
        equal("what lies below", context, current());
        cuCtxPushCurrent_v2(created.0).ok();
        cuCtxSetCurrent(0).ok();
        equal("the current context", context, current());
    }),
];

/// The primary context.
pub(super) struct Retained(pub(super) Handle);

impl Retained {
    pub(super) fn new() -> Self {
        Retained(value(|context| cuDevicePrimaryCtxRetain(context, DEVICE)))
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        let _ = cuDevicePrimaryCtxRelease_v2(DEVICE);
    }
}

fn within<T>(retained: &Retained, work: impl FnOnce() -> T) -> T {
    cuCtxPushCurrent_v2(retained.0).ok();
    let result = work();
    pop();
    result
}

/// A block that is left in the primary context.
fn is_given_back_by(end: impl FnOnce()) {
    const LARGE: usize = 48 << 20;
    let free_now = || {
        within(&Retained::new(), || {
            let mut free = 0;
            cuMemGetInfo_v2(&mut free, &mut 0).ok();
            free
        })
    };
    let before = free_now();
    let retained = Retained::new();
    within(&retained, || DeviceBlock::new(LARGE).release());
    end();
    drop(retained);
    let after = free_now();
    ensure(after + LARGE / 2 > before, &format!("about {before} bytes to be free"), after);
}
