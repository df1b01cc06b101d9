//! A small ring of page-locked slots for each context, made at the first copy that needs it and kept, with the stream that its
//! copies are on.
//!
//! The slots are memory of the system's that the driver registers, and not memory that it allocates: so they are on the device's
//! NUMA node, and where host memory cannot be registered, as under confidential computing, there are none.
#![expect(unsafe_code, reason = "memory is registered, and a stream is made")]

use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use cudarc::driver::sys::{CUstream, CUstream_flags};

use super::numa;
use crate::cuda::capture::Unhindered;
use crate::cuda::context::{Context, Within};
use crate::cuda::driver::{self, Driver};
use crate::cuda::driver_in_use;
use crate::cuda::events::Event;
use crate::memory::cache::budget;
use crate::memory::driver::source::{self, Identity};
use crate::memory::mapping::Mapping;
use crate::platform::sync::{Lock, locked_static};

/// Bytes of a slot.
pub const SLOT: usize = 2 << 20;
/// How many slots.
pub const SLOTS: usize = 8;
/// All of it.
pub const BYTES: usize = SLOT * SLOTS;

/// A context's ring. While a copy has it, it is in no list.
#[derive(Clone, Copy)]
pub struct Ring {
    context: Context,
    mapping: Mapping,
    identity: Identity,
    stream: usize,
    /// One for each slot.
    pub events: [Event; SLOTS],
}

/// More contexts than a process has.
const PLACES: usize = 16;
type Rings = [Option<Ring>; PLACES];

locked_static! { static RINGS: Lock<Rings> = Lock::new([None; PLACES]); }

impl Ring {
    /// The ring of the context that `within` made current, which is of `device`; `None` if there can be none. Only one thread
    /// at a time has one: see `crew`.
    pub fn take(driver: &Driver, within: &Within<'_>, device: c_int) -> Option<Ring> {
        let Some(ring) = take_where(|ring| ring.context == within.context) else { return make(driver, within, device) };
        match ring.is_there(driver) {
            Some(true) => Some(ring),
            Some(false) => {
                ring.end(driver);
                make(driver, within, device)
            }
            None => {
                ring.keep(driver);
                None
            }
        }
    }

    /// Keeps it for the next copy, after nothing is in flight there any more.
    pub fn keep(self, driver: &Driver) {
        let place = |rings: &mut Rings| rings.iter_mut().find(|place| place.is_none()).map(|place| *place = Some(self));
        if RINGS.with(place).is_none() {
            self.end(driver);
        }
    }

    /// Its first slot.
    pub fn slots(&self) -> *mut u8 {
        self.mapping.block().cast().as_ptr()
    }

    /// Its stream, which waits for no other, nor any other for it.
    pub fn stream(&self) -> CUstream {
        std::ptr::with_exposed_provenance_mut(self.stream)
    }

    /// Whether it is still there: a reset of its device takes it away. `None` if the driver does not say.
    fn is_there(&self, driver: &Driver) -> Option<bool> {
        self.identity.is_there(driver, driver::address(self.slots())).ok()
    }

    /// Gives it back, with nothing in flight there. What the driver does not unregister stays mapped.
    fn end(self, driver: &Driver) {
        let is_free = match self.is_there(driver) {
            Some(true) => Within::enter(driver, self.context).is_ok_and(|_within| {
                self.events.into_iter().for_each(|event| event.keep(driver));
                // SAFETY: it is the ring's own, and not used again.
                let _ = unsafe { driver.stream_destroy(self.stream()) };
                // SAFETY: it was registered here, and is there still.
                unsafe { driver.host_unregister(self.slots().cast()) }.is_ok()
            }),
            // All of it went with its context.
            Some(false) => true,
            None => false,
        };
        if is_free {
            self.mapping.unmap();
            budget::withdraw_pinned(BYTES);
        }
    }
}

fn take_where(wanted: impl Fn(&Ring) -> bool) -> Option<Ring> {
    RINGS.with(|rings| rings.iter_mut().find_map(|place| place.take_if(|ring| wanted(ring))))
}

fn make(driver: &Driver, within: &Within<'_>, device: c_int) -> Option<Ring> {
    /// To be refused takes long: so many copies after it do not ask.
    const PAUSE: u32 = 64;
    static PAUSED: AtomicU32 = AtomicU32::new(0);
    if PAUSED.fetch_update(Relaxed, Relaxed, |paused| paused.checked_sub(1)).is_ok() {
        return None;
    }
    let made = budget::admit_pinned(BYTES).then(|| {
        let made = with_stream(driver, within, device);
        if made.is_none() {
            budget::withdraw_pinned(BYTES);
        }
        made
    });
    let made = made.flatten();
    if made.is_none() {
        PAUSED.store(PAUSE, Relaxed);
    }
    made
}

fn with_stream(driver: &Driver, within: &Within<'_>, device: c_int) -> Option<Ring> {
    let mut stream: CUstream = std::ptr::null_mut();
    // SAFETY: `stream` is writable.
    unsafe { driver.stream_create(&mut stream, CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint) }.ok()?;
    let made = with_events(driver, within, device, stream);
    if made.is_none() {
        // SAFETY: it was made above, and is not used again.
        let _ = unsafe { driver.stream_destroy(stream) };
    }
    made
}

fn with_events(driver: &Driver, within: &Within<'_>, device: c_int, stream: CUstream) -> Option<Ring> {
    let life = within.life().ok()?;
    let made = std::array::from_fn(|_| Event::of_life(driver, within, Some(life)).ok());
    let ring = all(made).and_then(|events| {
        let (mapping, identity) = memory(driver, within, device)?;
        Some(Ring { context: within.context, mapping, identity, stream: stream.expose_provenance(), events })
    });
    if ring.is_none() {
        made.into_iter().flatten().for_each(|event| event.keep(driver));
    }
    ring
}

fn all(made: [Option<Event>; SLOTS]) -> Option<[Event; SLOTS]> {
    let first = made[0]?;
    made.iter().all(Option::is_some).then(|| made.map(|event| event.unwrap_or(first)))
}

/// The slots themselves, and what the driver knows them by.
fn memory(driver: &Driver, within: &Within<'_>, device: c_int) -> Option<(Mapping, Identity)> {
    let mapping = Mapping::of(BYTES)?;
    if let Some(node) = numa::node_of(driver, device) {
        numa::prefer(&mapping, node);
    }
    // SAFETY: it is unmapped after it was unregistered.
    let lock = || unsafe { source::page_lock(driver, device, &mapping) }.is_ok();
    if !(mapping.keep_from_children() && mapping.populate() && lock()) {
        mapping.unmap();
        return None;
    }
    let identity = Identity::of(driver, within, driver::address(mapping.block().as_ptr()));
    if !identity.is_certain() {
        // Nothing would tell it from what comes to its address after a reset.
        // SAFETY: it was registered above.
        if unsafe { driver.host_unregister(mapping.block().as_ptr()) }.is_ok() {
            mapping.unmap();
        }
        return None;
    }
    Some((mapping, identity))
}

/// Gives back every ring that no thread copies through.
pub fn give_back() {
    let Some(driver) = driver_in_use() else { return };
    let _unhindered = Unhindered::begin(driver);
    while let Some(ring) = take_where(|_| true) {
        ring.end(driver);
    }
}
