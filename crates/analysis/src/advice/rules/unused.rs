//! `unused-side`: memory on both sides, one of which was not used since both were first equal. If not every access is
//! recorded, only a stale side is reported: another one may have been read unseen.

use crate::advice::fact::{Fact, Why};
use crate::advice::findings::Scribe;
use crate::advice::rates::{Cost, Time};
use crate::advice::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::Site;
use syncedmem_trace::head::Side;

#[derive(Clone, Debug, Default)]
pub struct Unused {
    sides: [Half; 2],
    /// The place that made the sides equal first.
    same: Option<Site>,
    /// Whether every access since then was recorded.
    every_access: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Half {
    /// 0: no block.
    bytes: u64,
    unwritten: bool,
    /// The last event freed the block: perhaps because the object is ending.
    leaves: bool,
    /// Since both sides were equal.
    used: bool,
    /// Known not to be up to date.
    stale: bool,
}

impl Unused {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        self.every_access &= scribe.who.every_access;
        match *fact {
            Fact::Asked { side, .. } => self.half(side).used = true,
            Fact::Copied(copy) => {
                let is_first = self.same.is_none();
                if is_first {
                    (self.same, self.every_access) = (Some(copy.site), scribe.who.every_access);
                    self.half(copy.to.other()).used = false;
                    self.half(copy.to).used = !copy.is_for_later;
                } else {
                    self.sides.iter_mut().for_each(|half| half.used = true);
                }
                self.half(copy.to).unwritten = false;
                self.half(copy.to).stale = copy.in_flight && copy.to == Side::Host;
            }
            Fact::Landed { .. } => self.half(Side::Host).stale = false,
            Fact::Held { side, bytes } => {
                let half = self.half(side);
                (half.bytes, half.unwritten, half.leaves) = (bytes, true, false);
            }
            Fact::Freed { side } => {
                let half = self.half(side);
                half.leaves = true;
                // An unwritten block is that of a call that failed.
                half.bytes *= u64::from(!half.unwritten);
            }
            Fact::Filled { side, .. } => self.half(side).unwritten = false,
            Fact::GoesOn => {
                for half in self.sides.iter_mut().filter(|half| half.leaves) {
                    (half.bytes, half.leaves) = (0, false);
                }
            }
            Fact::Lent { side } => (self.half(side).bytes, self.half(side).used) = (0, true),
            Fact::Void { why: Why::Resized, .. } => *self = Unused::default(),
            Fact::Void { why: Why::Ended, .. } => {}
            Fact::Void { side, why } => {
                self.half(side).stale = true;
                if why == Why::GivenBack {
                    self.half(side).bytes = 0;
                }
            }
            Fact::Written { side, .. } => (self.half(side).stale, self.half(side).unwritten) = (false, false),
            Fact::End => self.end(scribe),
            _ => {}
        }
    }

    fn half(&mut self, side: Side) -> &mut Half {
        &mut self.sides[side as usize]
    }

    fn end(&mut self, scribe: &mut Scribe<'_>) {
        let Some(at) = self.same else { return };
        if self.sides.iter().any(|half| half.bytes == 0) {
            return;
        }
        for side in [Side::Host, Side::Device] {
            let (half, other) = (self.sides[side as usize], self.sides[side.other() as usize]);
            if other.used && !half.used && (half.stale || self.every_access) {
                let cost = Cost { bytes: half.bytes, time: Time::None };
                scribe.find(Rule::UnusedSide, Certainty::Certain, Subject::Memory(side), at, cost);
            }
        }
    }
}
