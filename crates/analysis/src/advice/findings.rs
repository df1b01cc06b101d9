use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Who;
use super::rates::{Cost, Rates, Times};
use super::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::Site;

/// The work or memory that could be saved, and where. One copy may be under several rules: savings do not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    pub rule: Rule,
    pub certainty: Certainty,
    pub subject: Subject,
    /// The call site that made the objects.
    pub made: Site,
    /// The call site that asked for the work.
    pub at: Site,
    pub objects: u64,
    /// Copies, fills or blocks.
    pub count: u64,
    pub bytes: u64,
    /// An estimate. `None` if there is none, or if memory would be saved.
    pub saved_nanoseconds: Option<u64>,
}

impl Advice {
    pub const fn what_to_do(&self) -> &'static str {
        self.rule.what_to_do(self.subject)
    }

    pub const fn not_known(&self) -> &'static str {
        self.rule.not_known(self.certainty)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Findings {
    found: BTreeMap<Key, Found>,
    pub(super) rates: Rates,
}

/// Findings with equal keys are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    rule: Rule,
    certainty: Certainty,
    subject: Subject,
    made: Site,
    at: Site,
}

#[derive(Clone, Copy, Debug, Default)]
struct Found {
    objects: u64,
    count: u64,
    bytes: u64,
    times: Times,
}

/// Those that already count an object.
#[derive(Clone, Debug, Default)]
pub struct Seen(Vec<Key>);

impl Findings {
    /// Sorted by the time that it saves, then by the memory.
    pub fn advice(&self) -> Vec<Advice> {
        let mut list: Vec<_> = self.found.iter().filter_map(|(key, found)| self.advice_of(key, found)).collect();
        list.sort_by_key(|advice| Reverse((advice.saved_nanoseconds.unwrap_or(0), advice.bytes)));
        list
    }

    fn advice_of(&self, key: &Key, found: &Found) -> Option<Advice> {
        let Key { rule, certainty, subject, made, at } = *key;
        let Found { objects, count, bytes, times } = *found;
        let mut saved_nanoseconds = times.price(&self.rates);
        if let (Rule::PageableCopy, Subject::CopyTo(to)) = (rule, subject) {
            let pinned = self.rates.pinned(to, bytes);
            saved_nanoseconds = saved_nanoseconds.zip(pinned).map(|(now, then)| now.saturating_sub(then));
            if saved_nanoseconds == Some(0) {
                return None;
            }
        }
        Some(Advice { rule, certainty, subject, made, at, objects, count, bytes, saved_nanoseconds })
    }
}

pub struct Scribe<'a> {
    pub(super) findings: &'a mut Findings,
    pub(super) seen: &'a mut Seen,
    pub(super) who: Who,
}

impl Scribe<'_> {
    pub fn find(&mut self, rule: Rule, certainty: Certainty, subject: Subject, at: Site, cost: Cost) {
        let key = Key { rule, certainty, subject, made: self.who.made, at };
        let found = self.findings.found.entry(key).or_default();
        if !self.seen.0.contains(&key) {
            self.seen.0.push(key);
            found.objects += 1;
        }
        found.count += 1;
        found.bytes = found.bytes.saturating_add(cost.bytes);
        found.times.add(cost);
    }
}
