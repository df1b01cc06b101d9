//! What a report tells: the sums, who held memory, and the advice, as plain data taken from a ledger.
//!
//! [`Told`] tells it as text, in the process and in the command alike.

mod text;

pub use text::{About, Idle, Told};

use super::account::Account;
use super::advice::Advice;
use super::event::Site;
use super::ledger::{Holder, Ledger, Share};
use crate::state::kind::Kind;

/// Whom a report names: an object's name, or the call site that made objects without one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// Objects of this name.
    Name(String),
    /// Objects without a name that this call site made.
    Site(Site),
}

/// What one holder had at the peaks and has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Who.
    pub label: Label,
    /// How much.
    pub share: Share,
}

/// What a report tells.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The sums.
    pub account: Account,
    /// Everybody who holds memory or held some at a peak.
    pub holders: Vec<Entry>,
    /// What could be spared, the most first.
    pub advice: Vec<Advice>,
    /// Objects that are alive.
    pub objects: u64,
    /// Whether accesses that needed nothing were seen.
    pub every_access: bool,
    /// How many things could not be kept, for want of memory or where a signal handler came in between.
    pub dropped: u64,
}

impl Summary {
    /// What a ledger says now. Where there is no memory for a list, it is shorter.
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
            advice: ledger.advice(),
            objects: ledger.objects().count() as u64,
            every_access: ledger.has_every_access(),
            dropped: ledger.dropped(),
        }
    }

    /// Those who held memory of a kind when there was most of it, the largest first.
    pub fn at_peak(&self, kind: Kind) -> Vec<&Entry> {
        self.sorted(move |share| share.at_peak[kind as usize])
    }

    /// Those who hold memory of a kind now, the largest first.
    pub fn now(&self, kind: Kind) -> Vec<&Entry> {
        self.sorted(move |share| share.live[kind as usize])
    }

    fn sorted(&self, bytes: impl Fn(&Share) -> u64) -> Vec<&Entry> {
        let mut list = Vec::new();
        if list.try_reserve(self.holders.len()).is_ok() {
            list.extend(self.holders.iter().filter(|entry| bytes(&entry.share) > 0));
        }
        // Of those with as much, in an order that does not depend on addresses.
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
