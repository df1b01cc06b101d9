//! The ledger: the state of each object and the holders of memory, updated event by event.
//!
//! The ledger does not fail when memory is exhausted: it counts what it dropped, and the report shows the number.
//! Recording an access that needs nothing does not allocate, because a signal handler may have made the access.

mod holders;

use holders::Holders;
pub use holders::{Holder, Share};

use super::account::Account;
use super::advice::{Advice, Findings, History, Who};
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
    /// The blocks of the host side and of the device side.
    blocks: [Option<Block>; 2],
    /// The advice's memory of it.
    history: History,
}

impl Object {
    /// The block that it holds on a side.
    pub fn block(&self, side: Side) -> Option<Block> {
        self.blocks[side as usize]
    }

    fn who(&self, every_access: bool) -> Who {
        Who { made: self.made, bytes: self.bytes, every_access }
    }
}

/// The state after all events so far.
pub struct Ledger {
    account: Account,
    objects: AddressMap<Object>,
    holders: Holders,
    names: Names,
    findings: Findings,
    every_access: bool,
    dropped: u64,
}

impl Ledger {
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Ledger {
        Ledger {
            account: Account::NEW,
            objects: address_map(),
            holders: Holders::new(),
            names: Names::new(),
            findings: Findings::new(),
            every_access: false,
            dropped: 0,
        }
    }

    /// Records an event. An unknown object becomes known, with an unknown call site.
    pub fn take(&mut self, event: &Event) {
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
            What::Freed { kind, block, .. } if !self.let_go(object, kind, block) => return,
            What::Resized { bytes } => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.bytes = bytes;
                }
            }
            _ => {}
        }
        let before = Kind::ALL.map(|kind| self.account.memory(kind).peak);
        self.account.take(event);
        for (kind, before) in Kind::ALL.into_iter().zip(before) {
            if self.account.memory(kind).peak > before {
                self.holders.note_peak(kind);
            }
        }
        self.advise(event);
        if event.what == What::Ended {
            self.forget(object);
        }
    }

    fn advise(&mut self, event: &Event) {
        // A signal handler may record this event, and no other.
        let may_grow = !matches!(event.what, What::Accessed { ready: true, .. });
        let reserves = may_grow && self.every_access;
        self.findings.set_may_grow(may_grow);
        if reserves {
            self.findings.reserve();
        }
        match self.objects.get_mut(&(event.object as usize)) {
            Some(object) => {
                let who = object.who(self.every_access);
                if reserves {
                    object.history.reserve();
                }
                object.history.take(event, who, &mut self.findings);
            }
            None => self.findings.take_without_object(event),
        }
    }

    /// The advice so far, sorted by its savings; empty if there is no memory for it.
    pub fn advice(&self) -> Vec<Advice> {
        let Some(mut findings) = self.findings.copy() else { return Vec::new() };
        for (&address, object) in &self.objects {
            object.history.at_report(address as u64, object.who(self.every_access), &mut findings);
        }
        findings.advice()
    }

    /// Sets whether every access is recorded from now on.
    pub fn set_every_access(&mut self, every_access: bool) {
        if self.every_access && !every_access {
            for object in self.objects.values_mut() {
                let who = object.who(false);
                object.history.lose_sight(who, &mut self.findings);
            }
        }
        if every_access && !self.every_access {
            self.findings.reserve();
            self.objects.values_mut().for_each(|object| object.history.reserve());
        }
        self.every_access = every_access;
    }

    /// Whether every access is recorded.
    pub fn has_every_access(&self) -> bool {
        self.every_access
    }

    fn know(&mut self, object: usize, bytes: u64, made: Site, noticed: Noticed) {
        if self.objects.try_reserve(1).is_err() {
            self.dropped += 1;
            return;
        }
        let holder = Holder::Site(made);
        let history = History::default();
        self.objects.insert(object, Object { bytes, made, noticed, holder, blocks: [None; 2], history });
    }

    fn forget(&mut self, object: usize) {
        let Some(gone) = self.objects.remove(&object) else { return };
        for block in gone.blocks.into_iter().flatten() {
            // Freed without a call to the library.
            self.account.lose(block.kind, block.bytes);
            self.holders.subtract(gone.holder, block);
        }
    }

    /// Forgets every object, and with it its memory.
    pub fn forget_objects(&mut self) {
        let Ledger { objects, account, holders, .. } = self;
        for (_, gone) in objects.drain() {
            for block in gone.blocks.into_iter().flatten() {
                account.lose(block.kind, block.bytes);
                holders.subtract(gone.holder, block);
            }
        }
    }

    fn hold(&mut self, object: usize, block: Block) {
        let Some(object) = self.objects.get_mut(&object) else { return };
        let place = &mut object.blocks[block.kind.side() as usize];
        let holder = object.holder;
        if let Some(left) = place.replace(block) {
            // The `Freed` of this block comes later: another thread used the object before it was recorded.
            self.account.give_back(left.kind, left.bytes);
            self.holders.subtract(holder, left);
        }
        if !self.holders.add(holder, block) {
            self.dropped += 1;
        }
    }

    /// Removes a block from its object; `false` if the object holds another one, which a thread allocated meanwhile.
    fn let_go(&mut self, object: usize, kind: Kind, address: u64) -> bool {
        let Some(object) = self.objects.get_mut(&object) else { return false };
        let holder = object.holder;
        let place = &mut object.blocks[kind.side() as usize];
        let Some(block) = place.take_if(|block| block.address == address) else { return false };
        self.holders.subtract(holder, block);
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
            if !self.holders.pass_on(before, after, block) {
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

    /// Number of events, blocks and findings that were dropped: memory was exhausted, or a signal handler interrupted
    /// an entry.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.findings.dropped()
    }

    /// Sets each peak to the bytes that are live now.
    pub fn reset_peaks(&mut self, now: u64) {
        self.account.reset_peaks(now);
        Kind::ALL.into_iter().for_each(|kind| self.holders.note_peak(kind));
    }

    /// Forgets everything without freeing its memory: a forked child must not call the allocator.
    pub fn begin_anew(&mut self) {
        let every_access = self.every_access;
        std::mem::forget(std::mem::replace(self, Ledger::new()));
        self.every_access = every_access;
    }
}

#[cfg(test)]
mod tests;
