//! The checks, in the order in which they run.
//!
//! Sources are named as CUDA's documentation names its parts: "Driver API" is the CUDA Driver API reference,
//! followed by the module and the function; "Programming Guide" is the CUDA C++ Programming Guide.

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
use crate::verdict::{Must, Outcome};

/// How far CUDA is set up when a check starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// `cuInit` was not called.
    BeforeInit,
    /// `cuInit` was called; no context is there.
    Init,
    /// The primary context of the device is retained, and current on the check's thread.
    Context,
}

#[derive(Clone, Copy)]
pub(crate) struct Session {
    pub(crate) device: i32,
    /// The primary context, in the last stage.
    pub(crate) context: Handle,
}

pub(crate) struct Check {
    name: &'static str,
    /// Where CUDA's documentation says so.
    pub(crate) source: &'static str,
    pub(crate) stage: Stage,
    pub(crate) run: fn(&Session) -> Outcome,
}

impl Check {
    pub(crate) fn sentence(&self) -> String {
        self.name.replace('_', " ")
    }
}

/// Uses each kind of work once. What the driver loads at the first use of it may make it wait for the device,
/// which would look like a wait for a stream that a check holds back.
pub(crate) fn warm_up(session: &Session) {
    const BYTES: usize = 1 << 20;
    let work = |context: Handle| -> Outcome {
        calls::set_current(context).must()?;
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
    };
    // A failure here is not reported: another check is about it.
    let context = session.context;
    let _ = std::thread::scope(|scope| scope.spawn(|| work(context)).join());
}

/// A check by its function, whose name is the sentence.
macro_rules! check {
    ($stage:ident, $function:ident, $source:literal) => {
        $crate::checks::Check {
            name: stringify!($function),
            source: $source,
            stage: $crate::checks::Stage::$stage,
            run: $function,
        }
    };
}
use check;

/// All of them; the stages in order.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    let groups: [&'static [Check]; 24] = [
        before_init::CHECKS,
        errors::CHECKS,
        devices::CHECKS,
        primary_context::CHECKS,
        identities::RESETS,
        created_contexts::CHECKS,
        context_stack::CHECKS,
        device_memory::CHECKS,
        fills::CHECKS,
        copies::CHECKS,
        peers::CHECKS,
        pinned::CHECKS,
        registration::CHECKS,
        pointers::CHECKS,
        identities::CHECKS,
        streams::CHECKS,
        events::CHECKS,
        async_copies::CHECKS,
        async_fills::CHECKS,
        pools::CHECKS,
        threads::CHECKS,
        capture::CHECKS,
        capture_modes::CHECKS,
        // Last: a driver that does not refuse these would break the context.
        refused_copies::CHECKS,
    ];
    groups.into_iter().flatten()
}
