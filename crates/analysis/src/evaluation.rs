//! The ledger and the advice of a process, event by event.

use super::advice::{Advice, Findings, History, Who};
use super::ledger::Ledger;
use syncedmem_trace::address_hash::{AddressMap, address_map};
use syncedmem_trace::event::{Event, What};

pub struct Evaluation {
    ledger: Ledger,
    /// By the object's address.
    histories: AddressMap<History>,
    findings: Findings,
    every_access: bool,
}

impl Evaluation {
    #[expect(clippy::new_without_default, reason = "there is one, and it is a static")]
    pub const fn new() -> Evaluation {
        Evaluation { ledger: Ledger::new(), histories: address_map(), findings: Findings::new(), every_access: false }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// For names and sums; events are taken by [`Evaluation::take`].
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    pub fn take(&mut self, event: &Event) {
        // The ledger forgets an object that has ended.
        let before = self.who(event.object);
        if !self.ledger.take(event) {
            return;
        }
        let object = event.object as usize;
        if let What::Made { .. } = event.what {
            self.histories.remove(&object);
        }
        // A signal handler may record this event, and no other.
        let may_grow = !matches!(event.what, What::Accessed { ready: true, .. });
        let reserves = may_grow && self.every_access;
        self.findings.set_may_grow(may_grow);
        if reserves {
            self.findings.reserve();
        }
        let who = self.who(event.object).or(before);
        let is_kept = self.histories.contains_key(&object) || self.histories.try_reserve(1).is_ok();
        let Some(who) = who.filter(|_| is_kept) else { return self.findings.take_without_object(event) };
        let history = self.histories.entry(object).or_default();
        if reserves {
            history.reserve();
        }
        history.take(event, who, &mut self.findings);
        if event.what == What::Ended {
            self.histories.remove(&object);
        }
    }

    fn who(&self, object: u64) -> Option<Who> {
        let object = self.ledger.object(object)?;
        Some(Who { made: object.made, bytes: object.bytes, every_access: self.every_access })
    }

    /// The advice so far, sorted by its savings; empty if there is no memory for it.
    pub fn advice(&self) -> Vec<Advice> {
        let Some(mut findings) = self.findings.copy() else { return Vec::new() };
        for (&address, history) in &self.histories {
            if let Some(who) = self.who(address as u64) {
                history.at_report(address as u64, who, &mut findings);
            }
        }
        findings.advice()
    }

    /// Sets whether every access is recorded from now on.
    pub fn set_every_access(&mut self, every_access: bool) {
        if self.every_access && !every_access {
            let Evaluation { ledger, histories, findings, .. } = self;
            for (&address, history) in histories {
                if let Some(object) = ledger.object(address as u64) {
                    history.lose_sight(Who { made: object.made, bytes: object.bytes, every_access }, findings);
                }
            }
        }
        if every_access && !self.every_access {
            self.findings.reserve();
            self.histories.values_mut().for_each(History::reserve);
        }
        self.every_access = every_access;
    }

    /// Whether every access is recorded.
    pub fn has_every_access(&self) -> bool {
        self.every_access
    }

    /// Forgets every object, and with it its memory.
    pub fn forget_objects(&mut self) {
        self.ledger.forget_objects();
        self.histories.clear();
    }

    /// Number of events, blocks and findings that were dropped: memory was exhausted, or a signal handler interrupted an entry.
    pub fn dropped(&self) -> u64 {
        self.ledger.dropped() + self.findings.dropped()
    }

    /// Forgets everything without freeing its memory: a forked child must not call the allocator.
    pub fn begin_anew(&mut self) {
        let every_access = self.every_access;
        std::mem::forget(std::mem::replace(self, Evaluation::new()));
        self.every_access = every_access;
    }
}
