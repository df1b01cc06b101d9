//! `ping-pong`: four or more copies of one object in a row, each in the opposite direction of the one before.

use crate::advice::fact::{Copy, Fact, Why};
use crate::advice::findings::Scribe;
use crate::advice::rates::Cost;
use crate::advice::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::Site;
use syncedmem_trace::head::Side;

/// Copies.
const ROW: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct PingPong {
    /// Reported with the fourth, and only once.
    first: [Option<Cost>; ROW - 1],
    last: Option<Side>,
    /// Call site of the first copy to the host.
    host: Site,
}

impl PingPong {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        match *fact {
            Fact::Copied(copy) => self.add(&copy, scribe),
            Fact::Void { why: Why::Resized, .. } => *self = PingPong::default(),
            _ => {}
        }
    }

    fn add(&mut self, copy: &Copy, scribe: &mut Scribe<'_>) {
        if self.last == Some(copy.to) {
            *self = PingPong::default();
        }
        self.last = Some(copy.to);
        if copy.to == Side::Host && self.host == Site::UNKNOWN {
            self.host = copy.site;
        }
        if let Some(place) = self.first.iter_mut().find(|place| place.is_none()) {
            *place = Some(copy.cost);
            return;
        }
        let at = self.host;
        let mut find = |cost| scribe.find(Rule::PingPong, Certainty::Certain, Subject::Object, at, cost);
        for place in &mut self.first {
            if let Some(cost) = place.replace(Cost::NOTHING).filter(|&cost| cost != Cost::NOTHING) {
                find(cost);
            }
        }
        find(copy.cost);
    }
}
