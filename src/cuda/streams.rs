//! Streams that may be using a block, as its user has declared. Each is kept as an event recorded after its work, because
//! the stream is valid only during the call.

use super::capture::RelaxedCapture;
use super::driver::Driver;
use super::ends_all_work;
use super::events::Event;
use crate::error::DriverFailure;

/// Most events of one block.
const MOST: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
pub struct StreamEvents {
    events: [Option<Event>; MOST],
}

impl StreamEvents {
    pub fn is_empty(&self) -> bool {
        self.events.iter().all(Option::is_none)
    }

    pub fn is_full(&self) -> bool {
        self.events.iter().all(Option::is_some)
    }

    /// Returns the oldest event if it has to make place; the caller waits for it.
    pub fn and(&mut self, event: Event) -> Option<Event> {
        if let Some(place) = self.events.iter_mut().find(|place| place.is_none()) {
            *place = Some(event);
            return None;
        }
        let first = self.events[0].replace(event);
        self.events.rotate_left(1);
        first
    }

    /// Whether all events are complete; destroys those that are.
    pub fn is_complete(&mut self, driver: &Driver) -> Result<bool, DriverFailure> {
        if self.is_empty() {
            return Ok(true);
        }
        let _relaxed = RelaxedCapture::begin(driver);
        for place in &mut self.events {
            let Some(event) = *place else { continue };
            if !event.end_if_complete(driver)? {
                return Ok(false);
            }
            *place = None;
        }
        Ok(true)
    }

    /// Waits for all events and destroys them. On an error, the event whose wait failed and later ones are kept.
    pub fn wait(&mut self, driver: &Driver) -> Result<(), DriverFailure> {
        if self.is_empty() {
            return Ok(());
        }
        let _relaxed = RelaxedCapture::begin(driver);
        for place in &mut self.events {
            let Some(event) = *place else { continue };
            match event.wait(driver) {
                Err(failure) if ends_all_work(failure) => event.destroy(driver),
                waited => waited?,
            }
            *place = None;
        }
        Ok(())
    }

    pub fn take(&mut self) -> impl Iterator<Item = Event> {
        std::mem::take(&mut self.events).into_iter().flatten()
    }
}

pub fn wait(driver: &Driver, event: Event) {
    let _relaxed = RelaxedCapture::begin(driver);
    if event.wait(driver).is_err() {
        event.destroy(driver);
    }
}
