//! `unread-copy`: what a copy brought was made void before anybody asked for it. An access has its copy handed out to it; so
//! this is about pushes, pulls, and the copies of evictions.
//!
//! Where not every access is told, it can only be known of a pull, and only until it is known to be done: before that the
//! host does not hold the newest data, and whoever asks for it is told.
//!
//! Addresses stay the same, so what a push or pull brings may be used through one that was handed out before: then it is
//! only possible that nobody did. What is evicted has no open access, through which that could be.

use crate::head::{Access, Side};
use crate::observe::advice::fact::{Aim, Copy, Fact, Why};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rule::{Certainty, Rule};

/// The copy that nobody has asked for yet.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    waiting: Option<Waiting>,
    /// Of each side, whether somebody may have the address of its block.
    handed_out: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    copy: Copy,
    certainty: Certainty,
    /// Whether the side that it writes is known to be up to date: then it may be read without a copy.
    landed: bool,
}

impl Unread {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        if let Fact::Copied(copy) = *fact {
            // A copy back reads what the last one brought, and another one to the same side was needed for some reason.
            let landed = copy.to == Side::Device || !copy.in_flight;
            let may_be_used = self.handed_out[copy.to as usize] && copy.aim != Aim::Eviction;
            let certainty = if may_be_used { Certainty::Possible } else { Certainty::Certain };
            let waiting = Waiting { copy, certainty, landed };
            self.waiting = (!matches!(copy.aim, Aim::Access(_))).then_some(waiting);
        }
        self.note_addresses(fact, scribe.who.every_access);
        let Some(Waiting { copy, certainty, landed }) = &mut self.waiting else { return };
        // A writer that waits for it makes it void at once, before anybody can read it.
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
            Fact::Asked { side, .. } | Fact::Lent { side } => self.handed_out[side as usize] = true,
            Fact::Void { side, why: Why::GivenBack | Why::Resized } => self.handed_out[side as usize] = false,
            // Whoever asks for a side that is up to date is not told.
            Fact::Copied(copy) if !every_access && (copy.to == Side::Device || !copy.in_flight) => {
                self.handed_out[copy.to as usize] = true;
            }
            Fact::Landed { by_writer: false } if !every_access => self.handed_out[Side::Host as usize] = true,
            _ => {}
        }
    }
}
