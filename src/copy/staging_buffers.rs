//! For each context eight page-locked slots, used in turn, with a stream for their copies: made at the first copy, and
//! kept.
//!
//! The slots are registered mappings, which can lie on the device's NUMA node. Where host memory cannot be registered,
//! there are none.
#![expect(unsafe_code, reason = "memory is registered, and a stream is created")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::numa;
use crate::cuda::capture::RelaxedCapture;
use crate::cuda::context::{Context, ContextGuard};
use crate::cuda::driver::{self, Driver, Stream};
use crate::cuda::driver_in_use;
use crate::cuda::events::Event;
use crate::memory::cache::budget;
use crate::memory::driver::source::{self, Identity};
use crate::memory::mapping::Mapping;
use crate::platform::sync::{Lock, locked_static};

/// Bytes of a slot.
pub const SLOT: usize = 2 << 20;
pub const SLOTS: usize = 8;
pub const BYTES: usize = SLOT * SLOTS;

/// While a copy uses the buffers, they are not in [`IDLE`].
#[derive(Clone, Copy)]
pub struct StagingBuffers {
    context: Context,
    mapping: Mapping,
    identity: Identity,
    stream: usize,
    pub events: [Event; SLOTS],
}

/// More contexts than a process has.
const PLACES: usize = 16;
type IdleBuffers = [Option<StagingBuffers>; PLACES];

locked_static! { static IDLE: Lock<IdleBuffers> = Lock::new([None; PLACES]); }

impl StagingBuffers {
    /// The buffers of `guard`'s context, for the holder of [`super::workers::Claim`].
    pub fn take(driver: &Driver, guard: &ContextGuard<'_>, device: c_int) -> Option<StagingBuffers> {
        let Some(buffers) = take_where(|buffers| buffers.context == guard.context) else {
            return make(driver, guard, device);
        };
        match buffers.is_there(driver) {
            Some(true) => Some(buffers),
            Some(false) => {
                buffers.end(driver);
                make(driver, guard, device)
            }
            None => {
                buffers.keep(driver);
                None
            }
        }
    }

    /// Nothing is in flight in the buffers.
    pub fn keep(self, driver: &Driver) {
        let kept = IDLE.with(|idle| idle.iter_mut().find(|place| place.is_none()).map(|place| *place = Some(self)));
        if kept.is_none() {
            self.end(driver);
        }
    }

    pub fn slots(&self) -> *mut u8 {
        self.mapping.block().cast().as_ptr()
    }

    pub fn stream(&self) -> Stream<'_> {
        // SAFETY: it exists as long as the buffers.
        unsafe { Stream::of(std::ptr::with_exposed_provenance_mut(self.stream)) }
    }

    /// Whether no reset of the device has ended the registration; `None` if the driver does not answer.
    fn is_there(&self, driver: &Driver) -> Option<bool> {
        self.identity.is_there(driver, driver::address(self.slots())).ok()
    }

    /// Memory that the driver does not unregister stays mapped.
    fn end(self, driver: &Driver) {
        let is_free = match self.is_there(driver) {
            Some(true) => ContextGuard::enter(driver, self.context).is_ok_and(|_guard| {
                self.events.into_iter().for_each(|event| event.recycle(driver));
                // SAFETY: the buffers' own stream, which is not used again.
                let _ = unsafe { driver.stream_destroy(self.stream().handle()) };
                // SAFETY: the memory is registered.
                unsafe { driver.host_unregister(self.slots().cast()) }.is_ok()
            }),
            Some(false) => true,
            None => false,
        };
        if is_free {
            self.mapping.unmap();
            budget::withdraw_pinned(BYTES);
        }
    }
}

fn take_where(wanted: impl Fn(&StagingBuffers) -> bool) -> Option<StagingBuffers> {
    IDLE.with(|idle| idle.iter_mut().find_map(|place| place.take_if(|buffers| wanted(buffers))))
}

fn make(driver: &Driver, guard: &ContextGuard<'_>, device: c_int) -> Option<StagingBuffers> {
    /// Copies after a refusal that do not try again, because it takes long.
    const PAUSE: u32 = 64;
    static PAUSED: AtomicU32 = AtomicU32::new(0);
    if PAUSED.fetch_update(Relaxed, Relaxed, |paused| paused.checked_sub(1)).is_ok() {
        return None;
    }
    let is_admitted = budget::admit_pinned(BYTES);
    let made = if is_admitted { with_stream(driver, guard, device) } else { None };
    if made.is_none() {
        if is_admitted {
            budget::withdraw_pinned(BYTES);
        }
        PAUSED.store(PAUSE, Relaxed);
    }
    made
}

fn with_stream(driver: &Driver, guard: &ContextGuard<'_>, device: c_int) -> Option<StagingBuffers> {
    let stream = driver.new_stream().ok()?;
    let made = with_events(driver, guard, device, stream);
    if made.is_none() {
        // SAFETY: the stream was created above, and is not used again.
        let _ = unsafe { driver.stream_destroy(stream.handle()) };
    }
    made
}

fn with_events(driver: &Driver, guard: &ContextGuard<'_>, device: c_int, stream: Stream<'_>) -> Option<StagingBuffers> {
    let context_id = guard.context_id().ok()?;
    let made = std::array::from_fn(|_| Event::with_context_id(driver, guard, Some(context_id)).ok());
    let buffers = all(made).and_then(|events| {
        let (mapping, identity) = memory(driver, guard, device)?;
        let stream = stream.handle().expose_provenance();
        Some(StagingBuffers { context: guard.context, mapping, identity, stream, events })
    });
    if buffers.is_none() {
        made.into_iter().flatten().for_each(|event| event.recycle(driver));
    }
    buffers
}

fn all(made: [Option<Event>; SLOTS]) -> Option<[Event; SLOTS]> {
    let first = made[0]?;
    made.iter().all(Option::is_some).then(|| made.map(|event| event.unwrap_or(first)))
}

fn memory(driver: &Driver, guard: &ContextGuard<'_>, device: c_int) -> Option<(Mapping, Identity)> {
    let mapping = Mapping::on_huge_pages(BYTES)?;
    if let Some(node) = numa::node_of(driver, device) {
        numa::prefer(&mapping, node);
    }
    // SAFETY: the mapping is unmapped only after it was unregistered.
    let lock = || unsafe { source::page_lock(driver, device, &mapping) }.is_ok();
    if !(mapping.keep_from_children() && mapping.populate() && lock()) {
        mapping.unmap();
        return None;
    }
    let identity = Identity::of(driver, guard, driver::address(mapping.block().as_ptr()));
    if !identity.is_certain() {
        // Other memory at the address, after a reset, could not be told from it.
        // SAFETY: it was registered above.
        if unsafe { driver.host_unregister(mapping.block().as_ptr()) }.is_ok() {
            mapping.unmap();
        }
        return None;
    }
    Some((mapping, identity))
}

pub fn give_back() {
    let Some(driver) = driver_in_use() else { return };
    let _relaxed = RelaxedCapture::begin(driver);
    while let Some(buffers) = take_where(|_| true) {
        buffers.end(driver);
    }
}
