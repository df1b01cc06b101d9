//! The data of a report, taken from a ledger. [`Report`] is the library's own text of it; the command has another.

mod role;
mod text;

pub use role::Role;
pub use text::Report;

use super::account::Account;
use super::ledger::{Holder, Ledger, Share};
use syncedmem_trace::event::Site;
use syncedmem_trace::kind::Kind;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    Name(String),
    /// Objects without a name, made by this call site.
    Site(Site),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub label: Label,
    pub share: Share,
}

#[derive(Clone, Debug)]
pub struct Summary {
    pub account: Account,
    pub holders: Vec<Entry>,
    /// Alive.
    pub objects: u64,
    pub dropped: u64,
}

impl Summary {
    /// If memory is exhausted, lists are shorter.
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

    /// The largest first.
    pub fn at_peak(&self, kind: Kind) -> Vec<&Entry> {
        let bytes = |entry: &Entry| entry.share.at_peak[kind as usize];
        let mut list: Vec<&Entry> = Vec::new();
        if list.try_reserve(self.holders.len()).is_ok() {
            list.extend(self.holders.iter().filter(|entry| bytes(entry) > 0));
        }
        // Equal shares are ordered by label, not by address.
        list.sort_unstable_by(|one, other| bytes(other).cmp(&bytes(one)).then_with(|| one.label.cmp(&other.label)));
        list
    }

    /// Bytes at the kind's peak by role, and those of objects without one.
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
