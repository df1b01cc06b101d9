//! The data of a report: sums and holders of memory, taken from a ledger.
//!
//! [`Report`] formats it as the text of a process; the command has a text of its own.

mod role;
mod text;

pub use role::Role;
pub use text::Report;

use super::account::Account;
use super::ledger::{Holder, Ledger, Share};
use syncedmem_trace::event::Site;
use syncedmem_trace::kind::Kind;

/// The name of a holder in a report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// Objects of this name.
    Name(String),
    /// Objects without a name, made by this call site.
    Site(Site),
}

/// A holder's share, now and at the peaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub label: Label,
    pub share: Share,
}

#[derive(Clone, Debug)]
pub struct Summary {
    pub account: Account,
    /// All holders that have memory, or had some at a peak.
    pub holders: Vec<Entry>,
    /// Objects that are alive.
    pub objects: u64,
    /// Number of events and blocks that were dropped: memory was exhausted, or a signal handler interrupted an entry.
    pub dropped: u64,
}

impl Summary {
    /// The state of a ledger. If memory is exhausted, lists are shorter.
    pub fn of(ledger: &Ledger) -> Summary {
        let mut holders = Vec::new();
        for (holder, share) in ledger.holders() {
            if share.at_peak != [0; 3] || share.live != [0; 3] {
                if let (Some(label), Ok(())) = (Label::of(ledger, holder), holders.try_reserve(1)) {
                    holders.push(Entry { label, share });
                }
            }
        }
        Summary {
            account: *ledger.account(),
            holders,
            objects: ledger.objects().count() as u64,
            dropped: ledger.dropped(),
        }
    }

    /// Holders of a kind at its peak, the largest first.
    pub fn at_peak(&self, kind: Kind) -> Vec<&Entry> {
        self.sorted(move |share| share.at_peak[kind as usize])
    }

    /// Holders of a kind now, the largest first.
    pub fn now(&self, kind: Kind) -> Vec<&Entry> {
        self.sorted(move |share| share.live[kind as usize])
    }

    /// Bytes of a kind at its peak by role, in the order of [`Role::ALL`], and those of objects without one.
    pub fn roles_at_peak(&self, kind: Kind) -> ([u64; Role::ALL.len()], u64) {
        let (mut roles, mut others) = ([0; Role::ALL.len()], 0);
        for Entry { label, share } in &self.holders {
            let role = match label {
                Label::Name(name) => Role::of_name(name),
                Label::Site(_) => None,
            };
            *role.map_or(&mut others, |role| &mut roles[role as usize]) += share.at_peak[kind as usize];
        }
        (roles, others)
    }

    fn sorted(&self, bytes: impl Fn(&Share) -> u64) -> Vec<&Entry> {
        let mut list = Vec::new();
        if list.try_reserve(self.holders.len()).is_ok() {
            list.extend(self.holders.iter().filter(|entry| bytes(&entry.share) > 0));
        }
        // Equal shares are ordered by label, not by address.
        list.sort_unstable_by(|one: &&Entry, other: &&Entry| {
            bytes(&other.share).cmp(&bytes(&one.share)).then_with(|| one.label.cmp(&other.label))
        });
        list
    }
}

impl Label {
    fn of(ledger: &Ledger, holder: Holder) -> Option<Label> {
        match holder {
            Holder::Site(site) => Some(Label::Site(site)),
            Holder::Name(_) => {
                let name = ledger.name_of(holder)?;
                let mut text = String::new();
                text.try_reserve_exact(name.len()).ok()?;
                text.push_str(name);
                Some(Label::Name(text))
            }
        }
    }
}

#[cfg(test)]
mod tests;
