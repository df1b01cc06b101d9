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

impl Default for Evaluation {
    fn default() -> Evaluation {
        let (ledger, histories, findings) = (Ledger::default(), address_map(), Findings::default());
        Evaluation { ledger, histories, findings, every_access: false }
    }
}

impl Evaluation {
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// For names and sums; [`Evaluation::take`] takes events.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    pub fn take(&mut self, event: &Event) {
        // The ledger forgets an object that has ended.
        let before = self.who(event.object);
        self.ledger.take(event);
        let object = event.object as usize;
        if let What::Made { .. } = event.what {
            self.histories.remove(&object);
        }
        let Some(who) = self.who(event.object).or(before) else { return };
        self.histories.entry(object).or_default().take(event, who, &mut self.findings);
        if event.what == What::Ended {
            self.histories.remove(&object);
        }
    }

    fn who(&self, object: u64) -> Option<Who> {
        let object = self.ledger.object(object)?;
        Some(Who { made: object.made, every_access: self.every_access })
    }

    /// Sorted by its savings.
    pub fn advice(&self) -> Vec<Advice> {
        let mut findings = self.findings.clone();
        for (&address, history) in &self.histories {
            if let Some(who) = self.who(address as u64) {
                history.at_report(who, &mut findings);
            }
        }
        findings.advice()
    }

    pub fn set_every_access(&mut self, every_access: bool) {
        let loses_sight = self.every_access && !every_access;
        self.every_access = every_access;
        if loses_sight {
            for (&address, history) in &mut self.histories {
                if let Some(object) = self.ledger.object(address as u64) {
                    history.lose_sight(object.made, &mut self.findings);
                }
            }
        }
    }

    pub fn has_every_access(&self) -> bool {
        self.every_access
    }
}
