//! `unread-copy`: what a copy brought was made void before anybody asked for it. An access has its copy handed out to it; so
//! this is about pushes, pulls, and the copies of evictions.
//!
//! Where not every access is told, it can only be known of a pull, and only until it is known to be done: before that the
//! host does not hold the newest data, and whoever asks for it is told.

use crate::head::{Access, Side};
use crate::observe::advice::fact::{Aim, Copy, Fact};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rule::{Certainty, Rule};

/// The copy that nobody has asked for yet.
#[derive(Clone, Debug, Default)]
pub struct Unread(Option<Waiting>);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    copy: Copy,
    /// Whether the side that it writes is known to be up to date: then it may be read without a copy.
    landed: bool,
}

impl Unread {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        if let Fact::Copied(copy) = *fact {
            // A copy back reads what the last one brought, and another one to the same side was needed for some reason.
            let landed = copy.to == Side::Device || !copy.in_flight;
            self.0 = (!matches!(copy.aim, Aim::Access(_))).then_some(Waiting { copy, landed });
        }
        let Some(Waiting { copy, landed }) = &mut self.0 else { return };
        // A writer that waits for it makes it void at once, before anybody can read it.
        *landed |= matches!(fact, Fact::Landed { by_writer: false });
        if *landed && !scribe.who.every_access {
            self.0 = None;
            return;
        }
        match *fact {
            Fact::Asked { side, access: Access::Read | Access::Write } if side == copy.to => self.0 = None,
            Fact::Void { side, .. } if side == copy.to => {
                scribe.find(Rule::UnreadCopy, Certainty::Certain, copy.subject(), copy.site, copy.cost);
                self.0 = None;
            }
            _ => {}
        }
    }
}
