//! Several threads.

use super::{Check, check, elsewhere};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::{Event, Stream};
use crate::verdict::{Must, Outcome, Verdict, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("a new thread has no current context", "cuCtxGetCurrent; Programming Guide, Driver API, Context", |_| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| equal("the current context", 0, calls::current().must()?));
            thread.join().unwrap_or_else(|_| Err(Verdict::panicked()))
        })
    }),
    check(
        "a thread keeps its context while another changes its own",
        "Programming Guide, Driver API, Context",
        |session| {
            elsewhere(session, || {
                calls::pop().must()?;
                calls::set_current(0).must()?;
                equal("the other thread's context", 0, calls::current().must()?)
            })?;
            equal("this thread's context", session.context, calls::current().must()?)
        },
    ),
    check(
        "a block is freed on another thread",
        "Programming Guide, Driver API, Context: a context's resources",
        |session| {
            let block = DeviceBlock::new(BYTES)?;
            elsewhere(session, || block.free()?.ok())
        },
    ),
    check("pinned memory is freed on another thread", "cuMemFreeHost", |session| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        elsewhere(session, || pinned.free()?.ok())
    }),
    check(
        "a block is copied on another thread",
        "Programming Guide, Driver API, Context: a context's resources",
        |session| {
            let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
            host.fill_pattern(1);
            copy(block.at(0), host.at(0), BYTES).must()?;
            elsewhere(session, || {
                let host = HostBlock::pageable(BYTES);
                copy(host.at(0), block.at(0), BYTES).must()?;
                host.has_pattern("what the other thread copied", 1)
            })
        },
    ),
    check("an event is awaited on another thread", "cuEventSynchronize", |session| {
        let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(0)?);
        event.record(&stream)?.ok()?;
        elsewhere(session, || {
            event.synchronize()?.ok()?;
            event.query()?.ok()
        })
    }),
    check(
        "many threads allocate copy and free at once",
        "cuCtxSetCurrent: one context may be current to many threads",
        |session| {
            let context = session.context;
            let work = move |seed: usize| -> Outcome {
                calls::set_current(context).must()?;
                let (host, pinned) = (HostBlock::pageable(BYTES), HostBlock::pinned(BYTES, 0)?);
                for round in 0..10 {
                    let block = DeviceBlock::new(BYTES)?;
                    host.fill_pattern(seed * 10 + round);
                    copy(block.at(0), host.at(0), BYTES).must()?;
                    copy(pinned.at(0), block.at(0), BYTES).must()?;
                    pinned.has_pattern("what came back", seed * 10 + round)?;
                    block.free()?.ok()?;
                }
                Ok(())
            };
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(Verdict::panicked())))
            })
        },
    ),
    check("threads initialize again at once", "cuInit", |_| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| calls::init(0)?.ok())).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(Verdict::panicked())))
        })
    }),
];

const BYTES: usize = 100_000;
