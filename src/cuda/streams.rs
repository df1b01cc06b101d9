//! What a block's user has declared of streams: an event behind the work that may be using the block, for each.
//!
//! A caller's stream is valid during the call that passes it and no longer, so it is the event that is kept.

use cudarc::driver::sys::CUstream;

use super::capture::{self, Unhindered};
use super::context::{Context, Within};
use super::driver::Driver;
use super::events::Event;
use crate::error::{DriverFailure, Error};
use crate::platform::address_hash::{AddressMap, address_map};
use crate::platform::sync::{Lock, locked_static};

/// No more declarations are kept for one block.
const MOST: usize = 4;

/// Events behind work that may be using a block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Behind {
    events: [Option<Event>; MOST],
}

impl Behind {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events.iter().all(Option::is_none)
    }

    fn is_full(&self) -> bool {
        self.events.iter().all(Option::is_some)
    }

    /// One more event. Without a place for it, the first of the others comes back: it is to be waited for.
    pub fn and(&mut self, event: Event) -> Option<Event> {
        if let Some(place) = self.events.iter_mut().find(|place| place.is_none()) {
            *place = Some(event);
            return None;
        }
        let first = self.events[0].replace(event);
        self.events.rotate_left(1);
        first
    }

    /// Whether every one has come to pass; what has is kept for another use.
    pub fn has_come(&mut self, driver: &Driver) -> Result<bool, DriverFailure> {
        if self.is_empty() {
            return Ok(true);
        }
        let _unhindered = Unhindered::begin(driver);
        for place in &mut self.events {
            let Some(event) = *place else { continue };
            if !event.has_come(driver)? {
                return Ok(false);
            }
            event.keep(driver);
            *place = None;
        }
        Ok(true)
    }

    /// Waits until every one has come to pass, as far as they can be waited for, and keeps them for another use.
    pub fn wait(&mut self, driver: &Driver) {
        self.events.iter_mut().filter_map(Option::take).for_each(|event| wait(driver, event));
    }
}

/// Waits for an event, as far as it can be waited for.
pub fn wait(driver: &Driver, event: Event) {
    let _unhindered = Unhindered::begin(driver);
    match event.wait(driver) {
        Ok(()) => event.keep(driver),
        Err(_) => event.end(driver),
    }
}

locked_static! { static DECLARED: Lock<AddressMap<Behind>> = Lock::new(address_map()); }

/// Declares that the work that `stream` has now may be using the block at `address` of `context`.
///
/// # Safety
/// `stream` is NULL or a stream. The block is there, and so is its context.
#[expect(unsafe_code, reason = "an event is recorded on a caller's stream")]
pub unsafe fn declare(driver: &Driver, address: usize, context: Context, stream: CUstream) -> Result<(), Error> {
    // SAFETY: the caller guarantees it.
    let within = unsafe { Within::of_stream(driver, stream, context) }?;
    // SAFETY: the caller guarantees it.
    unsafe { capture::refuse_captured_within(driver, &within, stream) }?;
    let event = Event::new(driver, &within)?;
    // SAFETY: the caller guarantees it.
    if let Err(failure) = unsafe { event.record(driver, stream) } {
        event.keep(driver);
        return Err(failure.into());
    }
    let event = event.carry(driver, context)?;
    // What was declared before may have come to pass: then nobody need wait for a place.
    if DECLARED.with(|declared| declared.get(&address).is_some_and(Behind::is_full)) {
        for event in take(address).into_iter().flat_map(|behind| behind.events).flatten() {
            match event.has_come(driver) {
                Ok(true) => event.keep(driver),
                _ => add(driver, address, event),
            }
        }
    }
    add(driver, address, event);
    Ok(())
}

/// Adds an event to those of the block at `address`. What cannot be remembered is waited for now.
fn add(driver: &Driver, address: usize, event: Event) {
    let left_over = DECLARED.with(|declared| {
        if declared.try_reserve(1).is_err() {
            return Some(event);
        }
        declared.entry(address).or_default().and(event)
    });
    left_over.into_iter().for_each(|event| wait(driver, event));
}

/// Takes out what was declared of the block at `address`.
pub fn take(address: usize) -> Option<Behind> {
    DECLARED.with(|declared| if declared.is_empty() { None } else { declared.remove(&address) })
}
