//! The state of each object and the holders of memory, event by event.
//!
//! Without memory the ledger counts what it dropped, for the report. Recording an access that needs nothing does not
//! allocate: a signal handler may have made it.

mod holders;

pub use holders::{Holder, Share};
use holders::{Holders, Place};

use super::account::Account;
use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::event::{Event, Noticed, Origin, Site, What};
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;
use syncedmem_trace::names::Names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: Kind,
    pub bytes: u64,
    pub address: u64,
    /// Number of peaks of its kind before it was allocated.
    peaks_before: u64,
    /// Where it is counted; `None` if there was no memory for a share.
    place: Option<Place>,
}

pub struct Object {
    pub bytes: u64,
    /// The call site that made it; if its construction was not noticed, the first access's.
    pub made: Site,
    pub noticed: Noticed,
    /// Its blocks are counted under it.
    pub holder: Holder,
    /// Items of the batch; 0 if it does not grow with the batch, or that is unknown.
    pub items: u64,
    /// By side.
    blocks: [Option<Block>; 2],
}

impl Object {
    pub fn block(&self, side: Side) -> Option<Block> {
        self.blocks[side as usize]
    }
}

/// A host block that an object got, as up to three events.
#[derive(Clone, Copy, Debug)]
pub struct NewBlock {
    /// The access that needed it, unless that was recorded before.
    pub access: Option<Access>,
    pub kind: Kind,
    pub bytes: u64,
    pub address: u64,
    pub origin: Origin,
    /// Duration of the allocation in nanoseconds; 0: not measured.
    pub allocation: u64,
    /// Bytes and duration of the fill with zeros, if there was one.
    pub fill: Option<(u64, u64)>,
}

struct Sums {
    account: Account,
    holders: Holders<Holder>,
    /// The memory that grows with a batch, by the items of the batch.
    batches: Holders<u64>,
    dropped: u64,
}

pub struct Ledger {
    objects: AddressMap<Object>,
    sums: Sums,
    names: Names,
}

impl Sums {
    /// `object` is the event's, if there is one. `false`: as for [`Ledger::take`].
    fn take(&mut self, object: Option<&mut Object>, event: &Event) -> bool {
        match event.what {
            What::Allocated { kind, bytes, block, origin } => {
                if let Some(object) = object {
                    self.hold(object, kind, bytes, block);
                }
                self.allocate(kind, bytes, origin, event.duration, event.end());
                return true;
            }
            What::Freed { kind, block, .. } => {
                // Else it is a block from before observation, which was never counted as live.
                let was_held = object.is_some_and(|object| self.let_go(object, kind, block));
                if !was_held {
                    return false;
                }
            }
            What::Resized { bytes } => {
                if let Some(object) = object {
                    object.bytes = bytes;
                }
            }
            _ => {}
        }
        self.account.take(event);
        true
    }

    #[inline]
    fn allocate(&mut self, kind: Kind, bytes: u64, origin: Origin, nanoseconds: u64, end: u64) {
        if self.account.allocate(kind, bytes, origin, nanoseconds, end) {
            self.holders.note_peak(kind);
            self.batches.note_peak(kind);
        }
    }

    #[inline]
    fn hold(&mut self, object: &mut Object, kind: Kind, bytes: u64, address: u64) {
        let place = &mut object.blocks[kind.side() as usize];
        if let Some(left) = place.take() {
            // The `Freed` of this block comes later: another thread used the object before it was recorded.
            self.account.give_back(left.kind, left.bytes);
            self.uncount(object.items, left);
        }
        let place = self.holders.place(object.holder);
        let block = Block { kind, bytes, address, peaks_before: self.holders.peaks(kind), place };
        object.blocks[kind.side() as usize] = Some(block);
        self.count(object.items, block);
    }

    /// `false`: the object holds another block, which a thread allocated meanwhile.
    fn let_go(&mut self, object: &mut Object, kind: Kind, address: u64) -> bool {
        let place = &mut object.blocks[kind.side() as usize];
        let Some(block) = place.take_if(|block| block.address == address) else { return false };
        self.uncount(object.items, block);
        true
    }

    /// For an object whose blocks were freed without a call to the library.
    fn lose(&mut self, gone: &Object) {
        for block in gone.blocks.into_iter().flatten() {
            self.account.lose(block.kind, block.bytes);
            self.uncount(gone.items, block);
        }
    }

    #[inline]
    fn count(&mut self, items: u64, block: Block) {
        match block.place {
            Some(place) => self.holders.add(place, block),
            None => self.dropped += 1,
        }
        if items > 0 {
            match self.batches.place(items) {
                Some(place) => self.batches.add(place, block),
                None => self.dropped += 1,
            }
        }
    }

    #[inline]
    fn uncount(&mut self, items: u64, block: Block) {
        if let Some(place) = block.place {
            self.holders.subtract(place, block);
        }
        if items > 0 {
            if let Some(place) = self.batches.place(items) {
                self.batches.subtract(place, block);
            }
        }
    }
}

impl Ledger {
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Ledger {
        let sums = Sums { account: Account::NEW, holders: Holders::new(), batches: Holders::new(), dropped: 0 };
        Ledger { objects: address_map(), sums, names: Names::new() }
    }

    /// An unknown object becomes known, with an unknown call site. `false`: it was the end of an unknown block, and
    /// nothing changed.
    pub fn take(&mut self, event: &Event) -> bool {
        let object = event.object as usize;
        let is_made = matches!(event.what, What::Made { .. });
        if !is_made && object != 0 && !self.objects.contains_key(&object) {
            self.know(object, 0, Site::UNKNOWN, Noticed::FirstAccess);
        }
        self.take_of(object, event)
    }

    /// Without effect on an unknown object, but for `Made`; returns whether it is known.
    pub fn take_if_known(&mut self, event: &Event) -> bool {
        let object = event.object as usize;
        match event.what {
            What::Made { .. } => self.take_of(object, event),
            What::Ended => match self.objects.contains_key(&object) {
                true => self.take_of(object, event),
                false => return false,
            },
            _ => match self.objects.get_mut(&object) {
                None if object != 0 => return false,
                found => self.sums.take(found, event),
            },
        };
        true
    }

    #[inline]
    fn take_of(&mut self, object: usize, event: &Event) -> bool {
        match event.what {
            What::Made { bytes, noticed } => {
                self.make(event.object, bytes, event.site, noticed);
                true
            }
            What::Ended => {
                self.sums.account.take(event);
                if let Some(gone) = self.objects.remove(&object) {
                    self.sums.lose(&gone);
                }
                true
            }
            _ => self.sums.take(self.objects.get_mut(&object), event),
        }
    }

    #[inline]
    pub fn make(&mut self, object: u64, bytes: u64, site: Site, noticed: Noticed) {
        self.know(object as usize, bytes, site, noticed);
        self.sums.account.make(noticed);
    }

    /// Does what the events of the block, of the access that needed it and of its zeros would. `false`: the object is
    /// unknown, and nothing changed.
    #[inline]
    pub fn add_block(&mut self, object: u64, new: NewBlock) -> bool {
        let NewBlock { access, kind, bytes, address, origin, allocation, fill } = new;
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return false };
        if let Some(access) = access {
            self.sums.account.access(Side::Host, access);
        }
        self.sums.hold(object, kind, bytes, address);
        self.sums.allocate(kind, bytes, origin, allocation, allocation);
        if let Some((bytes, nanoseconds)) = fill {
            self.sums.account.fill(Side::Host, bytes, nanoseconds);
        }
        true
    }

    /// Ends an object and its pageable host block, if it had one, of this address and size in bytes. Without effect on
    /// an unknown object.
    #[inline]
    pub fn end(&mut self, object: u64, block: Option<(u64, u64)>) {
        let Some(mut gone) = self.objects.remove(&(object as usize)) else { return };
        if let Some((address, bytes)) = block {
            if self.sums.let_go(&mut gone, Kind::Pageable, address) {
                self.sums.account.give_back(Kind::Pageable, bytes);
            }
        }
        if gone.blocks != [None; 2] {
            self.sums.lose(&gone);
        }
        self.sums.account.ended += 1;
    }

    /// Drops an earlier object at the address, which ended without a call to the library.
    #[inline]
    fn know(&mut self, object: usize, bytes: u64, made: Site, noticed: Noticed) {
        let new = Object { bytes, made, noticed, holder: Holder::Site(made), items: 0, blocks: [None; 2] };
        let before = match self.objects.try_reserve(1) {
            Ok(()) => self.objects.insert(object, new),
            Err(_) => {
                self.sums.dropped += 1;
                self.objects.remove(&object)
            }
        };
        if let Some(gone) = before {
            self.sums.lose(&gone);
        }
    }

    pub fn forget_objects(&mut self) {
        for (_, gone) in std::mem::replace(&mut self.objects, address_map()) {
            self.sums.lose(&gone);
        }
    }

    /// The memory that the object holds, and held at the peaks since its allocation, counts under the name.
    pub fn name(&mut self, object: u64, name: &str) {
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return };
        let Some(name) = self.names.number(name) else {
            self.sums.dropped += 1;
            return;
        };
        object.holder = Holder::Name(name);
        for block in object.blocks.iter_mut().flatten() {
            let after = self.sums.holders.place(object.holder);
            self.sums.holders.pass_on(block.place, after, *block);
            self.sums.dropped += u64::from(after.is_none());
            block.place = after;
        }
    }

    /// 0: the object does not grow with the batch. Holds for the memory that [`Ledger::name`] names.
    pub fn set_items(&mut self, object: u64, items: u64) {
        let Some(object) = self.objects.get_mut(&(object as usize)) else { return };
        let before = std::mem::replace(&mut object.items, items);
        if before == items {
            return;
        }
        for block in object.blocks.into_iter().flatten() {
            let mut place = |items: u64| if items > 0 { self.sums.batches.place(items) } else { None };
            let (before, after) = (place(before), place(items));
            self.sums.batches.pass_on(before, after, block);
            self.sums.dropped += u64::from(items > 0 && after.is_none());
        }
    }

    pub fn knows(&self, object: u64) -> bool {
        self.objects.contains_key(&(object as usize))
    }

    pub fn object(&self, object: u64) -> Option<&Object> {
        self.objects.get(&(object as usize))
    }

    /// With their addresses.
    pub fn objects(&self) -> impl Iterator<Item = (u64, &Object)> {
        self.objects.iter().map(|(&address, object)| (address as u64, object))
    }

    pub fn account(&self) -> &Account {
        &self.sums.account
    }

    /// All holders that have memory, or had some at a peak.
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

    pub fn drop_events(&mut self, events: u64) {
        self.sums.dropped += events;
    }

    /// Events and blocks that were dropped: memory was exhausted, or a signal handler interrupted an entry.
    pub fn dropped(&self) -> u64 {
        self.sums.dropped
    }

    /// Sets each peak to the bytes that are live now.
    pub fn reset_peaks(&mut self, now: u64) {
        self.sums.account.reset_peaks(now);
        for kind in Kind::ALL {
            self.sums.holders.note_peak(kind);
            self.sums.batches.note_peak(kind);
        }
    }

    /// For a peak from before the first event. Its holders are not known.
    pub fn raise_peak(&mut self, kind: Kind, peak: u64, time: u64) {
        self.sums.account.raise_peak(kind, peak, time);
    }

    /// Forgets everything without freeing its memory: a forked child must not call the allocator.
    pub fn begin_anew(&mut self) {
        std::mem::forget(std::mem::replace(self, Ledger::new()));
    }
}

#[cfg(test)]
mod tests;
