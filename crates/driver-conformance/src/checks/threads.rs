//! Several threads.

use super::{Check, Session, check, elsewhere};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::{Event, Stream};
use crate::verdict::{Must, Outcome, Verdict, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(a_new_thread_has_no_current_context, "cuCtxGetCurrent; Programming Guide, Driver API, Context"),
    check!(a_thread_keeps_its_context_while_another_changes_its_own, "Programming Guide, Driver API, Context"),
    check!(a_block_is_freed_on_another_thread, "Programming Guide, Driver API, Context: a context's resources"),
    check!(pinned_memory_is_freed_on_another_thread, "cuMemFreeHost"),
    check!(a_block_is_copied_on_another_thread, "Programming Guide, Driver API, Context: a context's resources"),
    check!(an_event_is_awaited_on_another_thread, "cuEventSynchronize"),
    check!(many_threads_allocate_copy_and_free_at_once, "cuCtxSetCurrent: one context may be current to many threads"),
    check!(threads_initialize_again_at_once, "cuInit"),
];

const BYTES: usize = 100_000;

fn a_new_thread_has_no_current_context(_: &Session) -> Outcome {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| equal("the current context", 0, calls::current().must()?));
        thread.join().unwrap_or_else(|_| Err(Verdict::panicked()))
    })
}

fn a_thread_keeps_its_context_while_another_changes_its_own(session: &Session) -> Outcome {
    elsewhere(session, || {
        calls::pop().must()?;
        calls::set_current(0).must()?;
        equal("the other thread's context", 0, calls::current().must()?)
    })?;
    equal("this thread's context", session.context, calls::current().must()?)
}

fn a_block_is_freed_on_another_thread(session: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    elsewhere(session, || block.free()?.ok())
}

fn pinned_memory_is_freed_on_another_thread(session: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    elsewhere(session, || pinned.free()?.ok())
}

fn a_block_is_copied_on_another_thread(session: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
    host.fill_pattern(1);
    copy(block.at(0), host.at(0), BYTES).must()?;
    elsewhere(session, || {
        let host = HostBlock::pageable(BYTES);
        copy(host.at(0), block.at(0), BYTES).must()?;
        host.has_pattern("what the other thread copied", 1)
    })
}

fn an_event_is_awaited_on_another_thread(session: &Session) -> Outcome {
    let (stream, event) = (Stream::new(STREAM_NON_BLOCKING)?, Event::new(0)?);
    event.record(&stream)?.ok()?;
    elsewhere(session, || {
        event.synchronize()?.ok()?;
        event.query()?.ok()
    })
}

fn many_threads_allocate_copy_and_free_at_once(session: &Session) -> Outcome {
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
}

fn threads_initialize_again_at_once(_: &Session) -> Outcome {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| calls::init(0)?.ok())).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(Verdict::panicked())))
    })
}
