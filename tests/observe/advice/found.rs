//! Expected advice, compared whole.

use syncedmem_analysis::advice::{Advice, Certainty, Rule, Subject};
use syncedmem_trace::event::Site;

use super::story::{MAKER, Told, events};
use crate::support::traced::advice_on;

/// A piece of advice about the one object, which `MAKER` made.
pub fn advice(rule: Rule, certainty: Certainty, subject: Subject, at: u32) -> Advice {
    Advice {
        rule,
        certainty,
        subject,
        made: MAKER,
        at: Site(at),
        objects: 1,
        count: 1,
        bytes: 0,
        saved_nanoseconds: None,
    }
}

pub trait Sums {
    fn sums(self, count: u64, bytes: u64, saved: impl Into<Option<u64>>) -> Self;
    fn objects(self, objects: u64) -> Self;
}

impl Sums for Advice {
    fn sums(self, count: u64, bytes: u64, saved: impl Into<Option<u64>>) -> Advice {
        Advice { count, bytes, saved_nanoseconds: saved.into(), ..self }
    }

    fn objects(self, objects: u64) -> Advice {
        Advice { objects, ..self }
    }
}

/// The advice of one rule, where every access is recorded.
pub fn with_every_access(rule: Rule, story: &[Told]) -> Vec<Advice> {
    advice_on(true, &events(story)).into_iter().filter(|advice| advice.rule == rule).collect()
}

/// The advice of one rule, where only accesses that need something are recorded.
pub fn without(rule: Rule, story: &[Told]) -> Vec<Advice> {
    advice_on(false, &events(story)).into_iter().filter(|advice| advice.rule == rule).collect()
}

/// The same in both.
pub fn both(rule: Rule, story: &[Told]) -> Vec<Advice> {
    let found = with_every_access(rule, story);
    assert_eq!(found, without(rule, story));
    found
}
