//! The objects of a process and the holders of its memory, event by event.

mod holders;

pub use holders::{Holder, Share};
use holders::{Holders, Index};

use syncedmem_core::address_hash::{AddressMap, address_map};
use syncedmem_core::head::Side;
use syncedmem_core::interned::Names;
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Account, Counters};
use syncedmem_trace::event::{Event, Site, What};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: Kind,
    pub bytes: u64,
    pub address: u64,
    /// Number of peaks of its kind before its allocation.
    peaks_before: u64,
    /// The holder that it counts for.
    place: Index,
}

pub struct Object {
    /// The call site of the constructor or, if that was not recorded, of the first block.
    pub made: Site,
    /// The holder that its blocks count for.
    pub holder: Holder,
    /// Number of items of the batch; 0: it does not grow with the batch, or that is not known.
    pub items: u64,
    /// On the host, and on the device.
    blocks: [Option<Block>; 2],
}

impl Object {
    pub fn block(&self, side: Side) -> Option<Block> {
        self.blocks[side as usize]
    }

    /// Gives an object without a call site that of its first allocation.
    fn placed(&mut self, event: &Event) -> &mut Object {
        if self.made == Site::UNKNOWN && matches!(event.what, What::Allocated { .. }) {
            self.made = event.site;
            if self.holder == Holder::Site(Site::UNKNOWN) {
                self.holder = Holder::Site(event.site);
            }
        }
        self
    }
}

struct Sums {
    counters: Counters,
    holders: Holders<Holder>,
    /// Memory that grows with a batch, by the number of items of the batch.
    batches: Holders<u64>,
}

pub struct Ledger {
    objects: AddressMap<Object>,
    sums: Sums,
    names: Names,
}

impl Sums {
    /// `object` is the object of the event, if it has one.
    fn take(&mut self, object: Option<&mut Object>, event: &Event) {
        match (event.what, object) {
            (What::Allocated { kind, bytes, block, .. }, Some(object)) => self.hold(object, kind, bytes, block, event),
            (What::Freed { kind, .. }, Some(object)) => {
                if let Some(block) = object.blocks[kind.side() as usize].take() {
                    self.uncount(object.items, block);
                }
            }
            _ => {}
        }
        let is_peak = self.counters.take(event);
        if let (What::Allocated { kind, .. }, true) = (event.what, is_peak) {
            self.holders.note_peak(kind);
            self.batches.note_peak(kind);
        }
    }

    fn hold(&mut self, object: &mut Object, kind: Kind, bytes: u64, address: u64, event: &Event) {
        if let Some(left) = object.blocks[kind.side() as usize].take() {
            // The `Freed` of the former block comes later: another thread used the object before that event was recorded.
            let Block { kind, bytes, address: block, .. } = left;
            self.counters.take(&Event { duration: 0, what: What::Freed { kind, bytes, block }, ..*event });
            self.uncount(object.items, left);
        }
        let place = self.holders.place(object.holder);
        let block = Block { kind, bytes, address, peaks_before: self.holders.peaks(kind), place };
        object.blocks[kind.side() as usize] = Some(block);
        self.holders.add(place, block);
        if let Some(batch) = self.batch(object.items) {
            self.batches.add(batch, block);
        }
    }

    /// Subtracts the blocks of an object that were freed without a call to the library.
    fn lose(&mut self, gone: &Object) {
        for block in gone.blocks.into_iter().flatten() {
            self.counters.lose(block.kind, block.bytes);
            self.uncount(gone.items, block);
        }
    }

    fn uncount(&mut self, items: u64, block: Block) {
        self.holders.subtract(block.place, block);
        if let Some(batch) = self.batch(items) {
            self.batches.subtract(batch, block);
        }
    }

    /// `None` if the memory does not grow with a batch.
    fn batch(&mut self, items: u64) -> Option<Index> {
        (items > 0).then(|| self.batches.place(items))
    }
}

impl Default for Ledger {
    fn default() -> Ledger {
        let sums = Sums { counters: Counters::new(), holders: Holders::new(), batches: Holders::new() };
        Ledger { objects: address_map(), sums, names: Names::new() }
    }
}

impl Ledger {
    /// Takes the next event of a [`Reader`](crate::Reader), which guarantees that the first event of an object is `Made`, and that a
    /// block that is freed is the one that the object holds.
    pub fn take(&mut self, event: &Event) {
        let object = event.object as usize;
        let gone = match event.what {
            What::Made { .. } => {
                let new = Object { made: event.site, holder: Holder::Site(event.site), items: 0, blocks: [None; 2] };
                // An earlier object at the address ended without a call to the library.
                self.objects.insert(object, new)
            }
            What::Ended => self.objects.remove(&object),
            _ => {
                let object = self.objects.get_mut(&object).map(|object| object.placed(event));
                return self.sums.take(object, event);
            }
        };
        if let Some(gone) = gone {
            self.sums.lose(&gone);
        }
        self.sums.take(None, event);
    }

    /// Names an object. The memory that it holds, and that it held at the peaks since its allocation, now counts for the name.
    pub fn name(&mut self, object: u64, name: &str) {
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return };
        let Some(name) = self.names.number(name) else { return };
        object.holder = Holder::Name(name);
        for block in object.blocks.iter_mut().flatten() {
            let after = self.sums.holders.place(object.holder);
            self.sums.holders.pass_on(Some(block.place), Some(after), *block);
            block.place = after;
        }
    }

    /// Sets the number of items of the batch that an object holds, for the same memory as [`Ledger::name`]. 0: the object does not
    /// grow with the batch.
    pub fn set_items(&mut self, object: u64, items: u64) {
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return };
        let before = std::mem::replace(&mut object.items, items);
        if before == items {
            return;
        }
        for block in object.blocks.into_iter().flatten() {
            let (before, after) = (self.sums.batch(before), self.sums.batch(items));
            self.sums.batches.pass_on(before, after, block);
        }
    }

    pub fn object(&self, object: u64) -> Option<&Object> {
        self.objects.get(&(object as usize))
    }

    /// Number of objects that exist.
    pub fn alive(&self) -> u64 {
        self.objects.len() as u64
    }

    pub fn account(&self) -> Account {
        self.sums.counters.account()
    }

    /// Bytes that objects hold, by kind.
    pub fn live(&self) -> [u64; 3] {
        self.sums.counters.live()
    }

    pub fn holders(&self) -> impl Iterator<Item = (Holder, Share)> {
        self.sums.holders.iter()
    }

    pub fn batches(&self) -> impl Iterator<Item = (u64, Share)> {
        self.sums.batches.iter()
    }

    pub fn name_of(&self, holder: Holder) -> Option<&str> {
        match holder {
            Holder::Name(number) => self.names.text(number),
            Holder::Site(_) => None,
        }
    }

    /// Takes over a peak from before the first event. Its holders are not known.
    pub fn raise_peak(&mut self, kind: Kind, peak: u64, time: u64) {
        self.sums.counters.raise_peak(kind, peak, time);
    }
}

#[cfg(test)]
mod tests;
