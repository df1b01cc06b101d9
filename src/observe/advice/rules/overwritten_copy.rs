//! `overwritten-copy`: a copy for a writing access whose caller may have overwritten everything. Of the host's data the
//! comparison can tell, if there is one; of the device's nobody can.

use crate::head::{Access, Side};
use crate::observe::advice::fact::{Aim, Copy, Fact};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rates::Cost;
use crate::observe::advice::rule::{Certainty, Rule, Subject};
use crate::observe::event::{Changed, Since, Site};

/// A copy to the host that may still be compared.
#[derive(Clone, Debug, Default)]
pub struct OverwrittenCopy(Option<(Site, Cost)>);

impl OverwrittenCopy {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        match *fact {
            Fact::Compared { since: Since::Copy, changed } => {
                if let Some(copy) = self.0.take().filter(|_| changed == Changed::Everything) {
                    find(scribe, Certainty::Compared, Side::Host, copy);
                }
            }
            Fact::Copied(copy) => {
                self.give_up(scribe);
                match copy {
                    Copy { to: Side::Host, aim: Aim::Access(Access::Write), site, cost, .. } => {
                        self.0 = Some((site, cost));
                    }
                    Copy { to, aim: Aim::Access(Access::Write), site, cost, .. } => {
                        find(scribe, Certainty::Possible, to, (site, cost));
                    }
                    _ => {}
                }
            }
            Fact::Void { side: Side::Host, .. } | Fact::End => self.give_up(scribe),
            _ => {}
        }
    }

    /// It will not be compared any more.
    fn give_up(&mut self, scribe: &mut Scribe<'_>) {
        if let Some(copy) = self.0.take() {
            find(scribe, Certainty::Possible, Side::Host, copy);
        }
    }
}

fn find(scribe: &mut Scribe<'_>, certainty: Certainty, to: Side, (site, cost): (Site, Cost)) {
    scribe.find(Rule::OverwrittenCopy, certainty, Subject::CopyTo(to), site, cost);
}
