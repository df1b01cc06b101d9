//! `unread-copy`: a copy whose data became void before any access asked for it. An access gets its own copy's data at
//! once, so this is about pushes and pulls.
//!
//! If not every access is recorded, only a pull can be judged, and only until it is known to be complete: until then
//! the host is not up to date, so an access to it is recorded.

use crate::advice::fact::{Copy, Fact, Why};
use crate::advice::findings::Scribe;
use crate::advice::rule::{Certainty, Rule};
use syncedmem_trace::head::{Access, Side};

#[derive(Clone, Debug)]
pub struct Unread {
    /// No access has asked for it yet.
    waiting: Option<Waiting>,
    /// Sides whose address a caller may have, as of an object that was in use before observation.
    handed_out: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    copy: Copy,
    certainty: Certainty,
    /// The side that it writes is known to be up to date.
    landed: bool,
}

impl Default for Unread {
    fn default() -> Unread {
        Unread { waiting: None, handed_out: [true; 2] }
    }
}

impl Unread {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        if let Fact::Copied(copy) = *fact {
            // A copy back reads the data of the last one; another one to the same side means that it was needed.
            self.waiting = copy.is_for_later.then(|| self.begin(copy));
        }
        self.judge(fact, scribe);
        self.note_addresses(fact, scribe.who.every_access);
    }

    fn begin(&self, copy: Copy) -> Waiting {
        // A caller may read through an address that it got earlier, without another call.
        let is_handed_out = self.handed_out[copy.to as usize];
        let certainty = if is_handed_out { Certainty::Possible } else { Certainty::Certain };
        Waiting { copy, certainty, landed: copy.to == Side::Device || !copy.in_flight }
    }

    fn judge(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        let Some(Waiting { copy, certainty, landed }) = &mut self.waiting else { return };
        // A writer that completes the pull makes its data void at once.
        *landed |= matches!(fact, Fact::Landed { by_writer: false });
        if *landed && !scribe.who.every_access {
            self.waiting = None;
            return;
        }
        match *fact {
            Fact::Asked { side, access: Access::Read | Access::Write } if side == copy.to => self.waiting = None,
            Fact::Void { side, .. } if side == copy.to => {
                scribe.find(Rule::UnreadCopy, *certainty, copy.subject(), copy.site, copy.cost);
                self.waiting = None;
            }
            _ => {}
        }
    }

    fn note_addresses(&mut self, fact: &Fact, every_access: bool) {
        match *fact {
            Fact::New | Fact::Void { why: Why::Resized, .. } => self.handed_out = [false; 2],
            Fact::Void { side, why: Why::GivenBack } => self.handed_out[side as usize] = false,
            Fact::Asked { side, .. } | Fact::Lent { side } => self.handed_out[side as usize] = true,
            // The address of an up-to-date side may be handed out unseen.
            Fact::OutOfSight => self.handed_out = [true; 2],
            _ if every_access => {}
            Fact::Landed { .. } => self.handed_out[Side::Host as usize] = true,
            // Not up to date yet: `Landed` follows.
            Fact::Copied(Copy { to: Side::Host, in_flight: true, .. }) => {}
            Fact::Copied(copy) => self.handed_out[copy.to as usize] = true,
            _ => {}
        }
    }
}
