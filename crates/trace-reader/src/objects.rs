//! The objects of a process, as its events show them: the writer does not keep them.

use std::collections::{HashMap, VecDeque};

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Noticed, Site, What};

/// Names by the object's address.
pub type ObjectNames = HashMap<u64, String>;

#[derive(Debug, Default)]
pub struct Objects {
    /// The blocks on the host and on the device, by the object's address.
    known: HashMap<u64, [Option<Block>; 2]>,
    /// The names, also of objects from before the recording.
    pub names: ObjectNames,
    /// Events with a call site that wait in the window: number, site, and whether the event begins an object.
    sites: HashMap<u64, VecDeque<(u64, Site, bool)>>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    kind: Kind,
    bytes: u64,
    address: u64,
}

/// An object that its first event revealed: its constructor was not recorded.
#[derive(Debug)]
pub struct Revealed {
    pub made: Event,
    /// The name that it had before.
    pub name: Option<String>,
}

impl Objects {
    /// Notes the call site of an event that waits in the window.
    pub fn expect(&mut self, number: u64, event: &Event) {
        if event.object != 0 && event.site != Site::UNKNOWN {
            let is_made = matches!(event.what, What::Made { .. });
            self.sites.entry(event.object).or_default().push_back((number, event.site, is_made));
        }
    }

    /// Takes the next event. Returns it unless it ends a block or an object from before the recording.
    pub fn take(&mut self, number: u64, event: Event, bytes: u64) -> (Option<Revealed>, Option<Event>) {
        self.pass(number, &event);
        let Event { object, what, .. } = event;
        if object == 0 {
            return (None, Some(event));
        }
        match what {
            What::Made { .. } => {
                self.names.remove(&object);
                self.known.insert(object, [None; 2]);
                (None, Some(event))
            }
            What::Ended => {
                self.names.remove(&object);
                (None, self.known.remove(&object).map(|_| event))
            }
            What::Freed { kind, block: address, .. } => {
                let blocks = self.known.get_mut(&object);
                let block =
                    blocks.and_then(|blocks| blocks[kind.side() as usize].take_if(|block| block.address == address));
                let freed =
                    |Block { kind, bytes, .. }| Event { what: What::Freed { kind, bytes, block: address }, ..event };
                (None, block.map(freed))
            }
            _ => {
                let found = self.notice(object, bytes, &event);
                if let (What::Allocated { kind, bytes, block: address, .. }, Some(blocks)) =
                    (what, self.known.get_mut(&object))
                {
                    blocks[kind.side() as usize] = Some(Block { kind, bytes, address });
                }
                (found, Some(event))
            }
        }
    }

    /// Takes a note about an object. Returns the object if it was unknown.
    pub fn note(&mut self, time: u64, thread: u32, object: u64, bytes: u64) -> Option<Revealed> {
        let what = What::Made { bytes, noticed: Noticed::FirstAccess };
        self.notice(object, bytes, &Event { start: time, duration: 0, thread, object, site: Site::UNKNOWN, what })
    }

    fn notice(&mut self, object: u64, bytes: u64, first: &Event) -> Option<Revealed> {
        if self.known.contains_key(&object) {
            return None;
        }
        self.known.insert(object, [None; 2]);
        let site = match self.sites.get(&object).and_then(VecDeque::front) {
            _ if first.site != Site::UNKNOWN => first.site,
            Some(&(_, site, false)) => site,
            // Another object begins there.
            _ => Site::UNKNOWN,
        };
        let what = What::Made { bytes, noticed: Noticed::FirstAccess };
        let made = Event { duration: 0, site, what, ..*first };
        Some(Revealed { made, name: self.names.get(&object).cloned() })
    }

    /// Forgets the call site of an event that leaves the window.
    fn pass(&mut self, number: u64, event: &Event) {
        let Some(sites) = self.sites.get_mut(&event.object) else { return };
        if let Some(at) = sites.iter().position(|&(other, ..)| other == number) {
            sites.remove(at);
        }
        if sites.is_empty() {
            self.sites.remove(&event.object);
        }
    }
}
