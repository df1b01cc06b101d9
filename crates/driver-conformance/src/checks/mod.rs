//! The checks, in the order in which they run.
//!
//! A source is a function or a part of the CUDA Driver API reference, or, after "Programming Guide", a part of the
//! CUDA C++ Programming Guide.

mod capture;
mod contexts;
mod copies;
mod events;
mod identities;
mod later;
mod memory;
mod peers;
mod pointers;
mod start;
mod streams;

use crate::blocks::*;
use crate::driver::*;
use crate::queues::*;
use pointers::ask;

/// How far CUDA is set up before a check.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Stage {
    BeforeInit,
    /// `cuInit` was called.
    Init,
    /// The device's primary context is current on the check's thread, and given to it.
    Context,
}

pub(crate) struct Check {
    pub(crate) sentence: &'static str,
    /// The place of the rule in CUDA's documentation.
    pub(crate) source: &'static str,
    pub(crate) run: fn(Handle),
}

const fn check(sentence: &'static str, source: &'static str, run: fn(Handle)) -> Check {
    Check { sentence, source, run }
}

/// Does each kind of work once: what the driver loads at a first use may wait for the device, which would look like a
/// wait for a held stream.
pub(crate) fn warm_up(context: Handle) {
    const BYTES: usize = 1 << 20;
    cuCtxSetCurrent(context).ok();
    let (one, two) = (DeviceBlock::new(BYTES), DeviceBlock::new(BYTES));
    let (pinned, plain, stream) = (HostBlock::pinned(BYTES), HostBlock::pageable(BYTES), Stream::new());
    for host in [&pinned, &plain] {
        cuMemcpy(one.0, host.address(), BYTES).ok();
        cuMemcpyAsync(one.0, host.address(), BYTES, stream.0).ok();
        cuMemcpyAsync(host.address(), one.0, BYTES, stream.0).ok();
    }
    cuMemsetD8_v2(one.0, 1, BYTES).ok();
    cuMemsetD8Async(one.0, 1, BYTES, stream.0).ok();
    cuMemcpyAsync(two.0, one.0, BYTES, stream.0).ok();
    drop(Gate::close(&stream));
    stream.synchronize();
}

pub(crate) fn all() -> impl Iterator<Item = (Stage, &'static Check)> {
    let groups: [(Stage, &'static [Check]); 14] = [
        (Stage::BeforeInit, start::BEFORE_INIT),
        (Stage::Init, start::CHECKS),
        (Stage::Init, contexts::CHECKS),
        (Stage::Init, identities::RESETS),
        (Stage::Context, contexts::STACK),
        (Stage::Context, memory::CHECKS),
        (Stage::Context, copies::CHECKS),
        (Stage::Context, peers::CHECKS),
        (Stage::Context, pointers::CHECKS),
        (Stage::Context, identities::CHECKS),
        (Stage::Context, streams::CHECKS),
        (Stage::Context, events::CHECKS),
        (Stage::Context, later::CHECKS),
        (Stage::Context, capture::CHECKS),
    ];
    groups.into_iter().flat_map(|(stage, checks)| checks.iter().map(move |check| (stage, check)))
}
