//! `unread-copy`: what a copy brought was made void before anybody asked for it. An access has its copy handed out to it; so
//! this is about pushes, pulls, and the copies of evictions.
//!
//! Whoever asked for the side's address before may use it without asking again: then only the caller can know. Of an
//! eviction it is certain all the same: nobody had an access open.
//!
//! Where not every access is told, it can only be known of a pull, and only until it is known to be done: before that the
//! host does not hold the newest data, and whoever asks for it is told.

use crate::observe::advice::fact::{Aim, Copy, Fact, Why};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rule::{Certainty, Rule};
use crate::state::head::{Access, Side};

/// The copy that nobody has asked for yet, and who could use what it brings without asking.
#[derive(Clone, Debug)]
pub struct Unread {
    waiting: Option<Waiting>,
    /// Whether somebody may have each side's address. Of an object that was in use before, somebody may.
    handed_out: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    copy: Copy,
    certainty: Certainty,
    /// Whether the side that it writes is known to be up to date: then it may be read without a copy.
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
            // A copy back reads what the last one brought, and another one to the same side was needed for some reason.
            self.waiting = self.begin(copy);
        }
        self.judge(fact, scribe);
        self.note_addresses(fact, scribe.who.every_access);
    }

    fn begin(&self, copy: Copy) -> Option<Waiting> {
        let is_handed_out = self.handed_out[copy.to as usize];
        let certainty = match copy.aim {
            Aim::Access(_) => return None,
            Aim::Later if is_handed_out => Certainty::Possible,
            Aim::Later | Aim::Eviction => Certainty::Certain,
        };
        Some(Waiting { copy, certainty, landed: copy.to == Side::Device || !copy.in_flight })
    }

    fn judge(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
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
            Fact::New | Fact::Void { why: Why::Resized, .. } => self.handed_out = [false; 2],
            Fact::Void { side, why: Why::GivenBack } => self.handed_out[side as usize] = false,
            Fact::Asked { side, .. } | Fact::Lent { side } => self.handed_out[side as usize] = true,
            // A side that is up to date is handed out without being told.
            Fact::OutOfSight => self.handed_out = [true; 2],
            _ if every_access => {}
            Fact::Landed { .. } => self.handed_out[Side::Host as usize] = true,
            // Not up to date yet: that comes when it lands.
            Fact::Copied(Copy { to: Side::Host, in_flight: true, .. }) => {}
            Fact::Copied(copy) => self.handed_out[copy.to as usize] = true,
            _ => {}
        }
    }
}
