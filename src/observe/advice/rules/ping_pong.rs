//! `ping-pong`: four copies or more of one object in a row, each back from where the last one went. Copies that make room
//! for something else are not the caller's, and end a row.

use crate::observe::advice::fact::{Aim, Copy, Fact, Why};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rates::Cost;
use crate::observe::advice::rule::{Certainty, Rule, Subject};
use crate::observe::event::Site;
use crate::state::head::Side;

/// With how many copies a row begins to be one.
const ROW: usize = 4;

/// The row so far.
#[derive(Clone, Debug, Default)]
pub struct PingPong {
    /// The costs of the first of them, which are told once there are enough.
    first: [Option<Cost>; ROW - 1],
    /// Where the last one went.
    last: Option<Side>,
    /// Whose access brought the data to the host first: work on the CPU between work on the GPU.
    host: Site,
}

impl PingPong {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        match *fact {
            Fact::Copied(copy) if copy.aim == Aim::Eviction => *self = PingPong::default(),
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
        // Those that were waiting are told with the fourth, and count no more.
        for place in &mut self.first {
            if let Some(cost) = place.replace(Cost::NOTHING).filter(|&cost| cost != Cost::NOTHING) {
                find(cost);
            }
        }
        find(copy.cost);
    }
}
