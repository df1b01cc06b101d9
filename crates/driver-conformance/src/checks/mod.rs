//! The checks, in the order in which they run.
//!
//! A source is a function or a part of the CUDA Driver API reference, or, behind "Programming Guide", a part of the
//! CUDA C++ Programming Guide.

mod async_copies;
mod async_fills;
mod before_init;
mod capture;
mod capture_modes;
mod context_stack;
mod copies;
mod created_contexts;
mod device_memory;
mod devices;
mod errors;
mod events;
mod fills;
mod identities;
mod peers;
mod pinned;
mod pointers;
mod pools;
mod primary_context;
mod refused_copies;
mod registration;
mod streams;
mod threads;

use crate::driver::blocks::{self, DeviceBlock, HostBlock};
use crate::driver::calls;
use crate::driver::gate::Gate;
use crate::driver::numbers::STREAM_NON_BLOCKING;
use crate::driver::queues::Stream;
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, Reply, Verdict};

/// How far CUDA is set up before a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    BeforeInit,
    /// `cuInit` was called.
    Init,
    /// The device's primary context is current on the check's thread.
    Context,
}

#[derive(Clone, Copy)]
pub(crate) struct Session {
    pub(crate) device: i32,
    /// The primary context, in the last stage.
    pub(crate) context: Handle,
}

pub(crate) struct Check {
    pub(crate) sentence: &'static str,
    source: &'static str,
    pub(crate) run: fn(&Session) -> Outcome,
}

const fn check(sentence: &'static str, source: &'static str, run: fn(&Session) -> Outcome) -> Check {
    Check { sentence, source, run }
}

impl Check {
    /// Its place in CUDA's documentation.
    pub(crate) fn source(&self) -> String {
        let is_of_the_guide = self.source.starts_with("Programming Guide");
        format!("{}{}", if is_of_the_guide { "" } else { "Driver API, " }, self.source)
    }
}

/// Does each kind of work once: what the driver loads at a first use may wait for the device, which would look like a
/// wait for a held stream.
pub(crate) fn warm_up(session: &Session) {
    const BYTES: usize = 1 << 20;
    // No failure is reported: another check is about it.
    let _ = elsewhere(session, || {
        let (one, two) = (DeviceBlock::new(BYTES)?, DeviceBlock::new(BYTES)?);
        let (pinned, plain) = (HostBlock::pinned(BYTES, 0)?, HostBlock::pageable(BYTES));
        let stream = Stream::new(STREAM_NON_BLOCKING)?;
        for host in [&pinned, &plain] {
            blocks::copy(one.at(0), host.at(0), BYTES).must()?;
            blocks::copy_to_device_async(one.at(0), host.at(0), BYTES, &stream).must()?;
            blocks::copy_to_host_async(host.at(0), one.at(0), BYTES, &stream).must()?;
        }
        blocks::set8(one.at(0), 1, BYTES).must()?;
        blocks::set8_async(one.at(0), 1, BYTES, &stream).must()?;
        blocks::copy_in_device_async(two.at(0), one.at(0), BYTES, &stream).must()?;
        Gate::close(&stream)?.open();
        stream.synchronize()?.ok()
    });
}

/// On a thread of its own, with the session's context.
fn elsewhere(session: &Session, work: impl FnOnce() -> Outcome + Send) -> Outcome {
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            calls::set_current(session.context).must()?;
            work()
        });
        there.join().unwrap_or_else(|_| Err(Verdict::panicked()))
    })
}

/// Does `work` while no context is current.
fn detached<T>(session: &Session, work: impl FnOnce() -> Result<T, Verdict>) -> Result<T, Verdict> {
    calls::set_current(0).must()?;
    let result = work();
    calls::set_current(session.context).must()?;
    result
}

/// A context that was created on the session's device, and is current; destroyed when dropped.
struct Created(Handle);

impl Created {
    fn new(session: &Session) -> Result<Self, Verdict> {
        Ok(Created(calls::context_create(session.device).must()?))
    }

    fn destroy(self) -> Result<Reply, Verdict> {
        let context = self.0;
        std::mem::forget(self);
        calls::context_destroy(context)
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        let _ = calls::context_destroy(self.0);
    }
}

/// The stages in order.
pub(crate) fn all() -> impl Iterator<Item = (Stage, &'static Check)> {
    let groups: [(Stage, &'static [Check]); 24] = [
        (Stage::BeforeInit, before_init::CHECKS),
        (Stage::Init, errors::CHECKS),
        (Stage::Init, devices::CHECKS),
        (Stage::Init, primary_context::CHECKS),
        (Stage::Init, identities::RESETS),
        (Stage::Init, created_contexts::CHECKS),
        (Stage::Context, context_stack::CHECKS),
        (Stage::Context, device_memory::CHECKS),
        (Stage::Context, fills::CHECKS),
        (Stage::Context, copies::CHECKS),
        (Stage::Context, peers::CHECKS),
        (Stage::Context, pinned::CHECKS),
        (Stage::Context, registration::CHECKS),
        (Stage::Context, pointers::CHECKS),
        (Stage::Context, identities::CHECKS),
        (Stage::Context, streams::CHECKS),
        (Stage::Context, events::CHECKS),
        (Stage::Context, async_copies::CHECKS),
        (Stage::Context, async_fills::CHECKS),
        (Stage::Context, pools::CHECKS),
        (Stage::Context, threads::CHECKS),
        (Stage::Context, capture::CHECKS),
        (Stage::Context, capture_modes::CHECKS),
        // Last: a driver that accepts these would break the context.
        (Stage::Context, refused_copies::CHECKS),
    ];
    groups.into_iter().flat_map(|(stage, checks)| checks.iter().map(move |check| (stage, check)))
}
