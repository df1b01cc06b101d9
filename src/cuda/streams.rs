//! Streams that may be using a block, as its user has declared. Each is kept as an event behind its work, because the stream
//! is valid only during the call.

use syncedmem_trace::address_hash::{AddressMap, address_map};

use super::capture::{self, RelaxedCapture};
use super::context::{Context, ContextGuard};
use super::driver::{Driver, Stream};
use super::events::Event;
use crate::error::{DriverFailure, Error};
use crate::platform::sync::{Lock, locked_static};

/// Events of one block.
const MOST: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
pub struct StreamEvents {
    events: [Option<Event>; MOST],
}

impl StreamEvents {
    pub fn is_empty(&self) -> bool {
        self.events.iter().all(Option::is_none)
    }

    fn is_full(&self) -> bool {
        self.events.iter().all(Option::is_some)
    }

    /// Returns the oldest event if it has no place left; the caller waits for it.
    pub fn and(&mut self, event: Event) -> Option<Event> {
        if let Some(place) = self.events.iter_mut().find(|place| place.is_none()) {
            *place = Some(event);
            return None;
        }
        let first = self.events[0].replace(event);
        self.events.rotate_left(1);
        first
    }

    /// Whether all are complete; recycles those that are.
    pub fn is_complete(&mut self, driver: &Driver) -> Result<bool, DriverFailure> {
        if self.is_empty() {
            return Ok(true);
        }
        let _relaxed = RelaxedCapture::begin(driver);
        for place in &mut self.events {
            let Some(event) = *place else { continue };
            if !event.is_complete(driver)? {
                return Ok(false);
            }
            event.recycle(driver);
            *place = None;
        }
        Ok(true)
    }

    pub fn wait(&mut self, driver: &Driver) {
        self.events.iter_mut().filter_map(Option::take).for_each(|event| wait(driver, event));
    }
}

pub fn wait(driver: &Driver, event: Event) {
    let _relaxed = RelaxedCapture::begin(driver);
    match event.wait(driver) {
        Ok(()) => event.recycle(driver),
        Err(_) => event.destroy(driver),
    }
}

locked_static! { static DECLARED: Lock<AddressMap<StreamEvents>> = Lock::new(address_map()); }

/// Declares that the present work of `stream` may use the block at `address` of `context`. Both exist.
pub fn declare(driver: &Driver, address: usize, context: Context, stream: Stream<'_>) -> Result<(), Error> {
    let guard = ContextGuard::of_stream(driver, stream, context)?;
    capture::refuse_captured_within(driver, &guard, stream)?;
    let event = Event::new(driver, &guard)?;
    event.record(driver, stream).inspect_err(|_| event.recycle(driver))?;
    let event = event.into_context(driver, context)?;
    // Earlier events may be complete: then there is a place without a wait.
    if DECLARED.with(|declared| declared.get(&address).is_some_and(StreamEvents::is_full)) {
        for event in take(address).into_iter().flat_map(|events| events.events).flatten() {
            match event.is_complete(driver) {
                Ok(true) => event.recycle(driver),
                _ => add(driver, address, event),
            }
        }
    }
    add(driver, address, event);
    Ok(())
}

fn add(driver: &Driver, address: usize, event: Event) {
    let left_over = DECLARED.with(|declared| {
        if declared.try_reserve(1).is_err() {
            return Some(event);
        }
        declared.entry(address).or_default().and(event)
    });
    left_over.into_iter().for_each(|event| wait(driver, event));
}

pub fn take(address: usize) -> Option<StreamEvents> {
    DECLARED.with(|declared| if declared.is_empty() { None } else { declared.remove(&address) })
}
