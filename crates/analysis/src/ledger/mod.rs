//! The ledger: the state of each object and the holders of memory, updated event by event.
//!
//! The ledger does not fail when memory is exhausted: it counts what it dropped, and the report shows the number.
//! Recording an access that needs nothing does not allocate, because a signal handler may have made the access.

mod holders;

use holders::Holders;
pub use holders::{Holder, Share};

use super::account::Account;
use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::event::{Event, Noticed, Site, What};
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;
use syncedmem_trace::names::Names;

/// A block that an object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: Kind,
    pub bytes: u64,
    pub address: u64,
    /// Number of peaks of its kind before it was allocated.
    peaks_before: u64,
}

pub struct Object {
    pub bytes: u64,
    /// The call site that made it; if its construction was not noticed, the first access's.
    pub made: Site,
    /// How it was noticed.
    pub noticed: Noticed,
    /// The holder that its blocks are counted under.
    pub holder: Holder,
    /// Items of the batch that it holds; 0 if it does not grow with the batch, or if that is unknown.
    pub items: u64,
    /// The blocks of the host side and of the device side.
    blocks: [Option<Block>; 2],
}

impl Object {
    /// The block that it holds on a side.
    pub fn block(&self, side: Side) -> Option<Block> {
        self.blocks[side as usize]
    }
}

/// The state after all events so far.
pub struct Ledger {
    account: Account,
    objects: AddressMap<Object>,
    holders: Holders<Holder>,
    /// The memory that grows with a batch, by the items of the batch.
    batches: Holders<u64>,
    names: Names,
    dropped: u64,
}

impl Ledger {
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Ledger {
        Ledger {
            account: Account::NEW,
            objects: address_map(),
            holders: Holders::new(),
            batches: Holders::new(),
            names: Names::new(),
            dropped: 0,
        }
    }

    /// Records an event. An unknown object becomes known, with an unknown call site. `false`: it was the end of a block that the
    /// ledger does not know, and nothing changed.
    pub fn take(&mut self, event: &Event) -> bool {
        let object = event.object as usize;
        if let What::Made { bytes, noticed } = event.what {
            // An earlier object at this address ended without a call to the library.
            self.forget(object);
            self.know(object, bytes, event.site, noticed);
        } else if object != 0 && !self.objects.contains_key(&object) {
            self.know(object, 0, Site::UNKNOWN, Noticed::FirstAccess);
        }
        match event.what {
            What::Allocated { kind, bytes, block, .. } => {
                let peaks_before = self.holders.peaks(kind);
                self.hold(object, Block { kind, bytes, address: block, peaks_before });
            }
            // A block from before observation: it was never counted as live.
            What::Freed { kind, block, .. } if !self.let_go(object, kind, block) => return false,
            What::Resized { bytes } => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.bytes = bytes;
                }
            }
            _ => {}
        }
        let before = match event.what {
            What::Allocated { kind, .. } => Some((kind, self.account.memory(kind).peak)),
            _ => None,
        };
        self.account.take(event);
        if let Some((kind, _)) = before.filter(|&(kind, peak)| self.account.memory(kind).peak > peak) {
            self.holders.note_peak(kind);
            self.batches.note_peak(kind);
        }
        if event.what == What::Ended {
            self.forget(object);
        }
        true
    }

    fn know(&mut self, object: usize, bytes: u64, made: Site, noticed: Noticed) {
        if self.objects.try_reserve(1).is_err() {
            self.dropped += 1;
            return;
        }
        let holder = Holder::Site(made);
        self.objects.insert(object, Object { bytes, made, noticed, holder, items: 0, blocks: [None; 2] });
    }

    fn forget(&mut self, object: usize) {
        let Some(gone) = self.objects.remove(&object) else { return };
        for block in gone.blocks.into_iter().flatten() {
            // Freed without a call to the library.
            self.account.lose(block.kind, block.bytes);
            self.uncount(gone.holder, gone.items, block);
        }
    }

    fn count(&mut self, holder: Holder, items: u64, block: Block) {
        let is_counted = self.holders.add(holder, block) && (items == 0 || self.batches.add(items, block));
        self.dropped += u64::from(!is_counted);
    }

    fn uncount(&mut self, holder: Holder, items: u64, block: Block) {
        self.holders.subtract(holder, block);
        if items > 0 {
            self.batches.subtract(items, block);
        }
    }

    /// Forgets every object, and with it its memory.
    pub fn forget_objects(&mut self) {
        for (_, gone) in std::mem::replace(&mut self.objects, address_map()) {
            for block in gone.blocks.into_iter().flatten() {
                self.account.lose(block.kind, block.bytes);
                self.uncount(gone.holder, gone.items, block);
            }
        }
    }

    fn hold(&mut self, object: usize, block: Block) {
        let Some(object) = self.objects.get_mut(&object) else { return };
        let (holder, items) = (object.holder, object.items);
        if let Some(left) = object.blocks[block.kind.side() as usize].replace(block) {
            // The `Freed` of this block comes later: another thread used the object before it was recorded.
            self.account.give_back(left.kind, left.bytes);
            self.uncount(holder, items, left);
        }
        self.count(holder, items, block);
    }

    /// Removes a block from its object; `false` if the object holds another one, which a thread allocated meanwhile.
    fn let_go(&mut self, object: usize, kind: Kind, address: u64) -> bool {
        let Some(object) = self.objects.get_mut(&object) else { return false };
        let (holder, items) = (object.holder, object.items);
        let place = &mut object.blocks[kind.side() as usize];
        let Some(block) = place.take_if(|block| block.address == address) else { return false };
        self.uncount(holder, items, block);
        true
    }

    /// Names an object. The memory that it holds, and held at the peaks since its allocation, counts under the name.
    pub fn name(&mut self, object: u64, name: &str) {
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return };
        let Some(name) = self.names.number(name) else {
            self.dropped += 1;
            return;
        };
        let (before, after) = (object.holder, Holder::Name(name));
        object.holder = after;
        for block in object.blocks.into_iter().flatten() {
            if !self.holders.pass_on(Some(before), Some(after), block) {
                self.dropped += 1;
            }
        }
    }

    /// Notes how many items of the batch an object holds; 0: it does not grow with the batch. Holds for the memory that
    /// [`Ledger::name`] names.
    pub fn set_items(&mut self, object: u64, items: u64) {
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return };
        let before = std::mem::replace(&mut object.items, items);
        if before == items {
            return;
        }
        for block in object.blocks.into_iter().flatten() {
            if !self.batches.pass_on(Some(before).filter(|&n| n > 0), Some(items).filter(|&n| n > 0), block) {
                self.dropped += 1;
            }
        }
    }

    /// Whether the ledger knows an object.
    pub fn knows(&self, object: u64) -> bool {
        self.objects.contains_key(&(object as usize))
    }

    pub fn object(&self, object: u64) -> Option<&Object> {
        self.objects.get(&(object as usize))
    }

    /// All known objects, with their addresses.
    pub fn objects(&self) -> impl Iterator<Item = (u64, &Object)> {
        self.objects.iter().map(|(&address, object)| (address as u64, object))
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// All holders that have memory, or had some at a peak.
    pub fn holders(&self) -> impl Iterator<Item = (Holder, Share)> {
        self.holders.iter()
    }

    /// The memory that grows with a batch, by the items of the batch.
    pub fn batches(&self) -> impl Iterator<Item = (u64, Share)> {
        self.batches.iter()
    }

    /// The name of a holder, if it has one.
    pub fn name_of(&self, holder: Holder) -> Option<&str> {
        match holder {
            Holder::Name(number) => self.names.text(number),
            Holder::Site(_) => None,
        }
    }

    /// Counts events that could not be recorded.
    pub fn drop_events(&mut self, events: u64) {
        self.dropped += events;
    }

    /// Number of events and blocks that were dropped: memory was exhausted, or a signal handler interrupted an entry.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sets each peak to the bytes that are live now.
    pub fn reset_peaks(&mut self, now: u64) {
        self.account.reset_peaks(now);
        for kind in Kind::ALL {
            self.holders.note_peak(kind);
            self.batches.note_peak(kind);
        }
    }

    /// Takes over a peak from before the events that were seen. Its holders are not known.
    pub fn raise_peak(&mut self, kind: Kind, peak: u64, time: u64) {
        self.account.raise_peak(kind, peak, time);
    }

    /// Forgets everything without freeing its memory: a forked child must not call the allocator.
    pub fn begin_anew(&mut self) {
        std::mem::forget(std::mem::replace(self, Ledger::new()));
    }
}

#[cfg(test)]
mod tests;
