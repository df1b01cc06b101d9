//! `unchanged-copy`: a copy brought what was there already: somebody asked to write the data, and only read it. Of the host's
//! data that is known before it is copied, of the device's when it has come.

use crate::observe::advice::fact::{Aim, Fact, Why};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rule::{Certainty, Rule, Subject};
use crate::observe::event::{Changed, Since, Site};
use crate::state::head::{Access, Side};

/// What became of the data since both sides were the same.
#[derive(Clone, Debug, Default)]
pub struct Unchanged {
    /// The first who asked to write it. `None`: the sides were not the same, or the block of one is not there any more.
    writer: Option<Site>,
    /// The side that was compared, if nothing had changed.
    nothing_at: Option<Side>,
}

impl Unchanged {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        match *fact {
            Fact::Copied(copy) => {
                // What a pull brings is not looked at: whatever was compared before is of an access that failed.
                let is_compared = copy.aim != Aim::Later || copy.to == Side::Device;
                let is_same = is_compared && self.nothing_at == Some(copy.to.other());
                if let Some(at) = self.writer.filter(|_| is_same) {
                    scribe.find(Rule::UnchangedCopy, Certainty::Compared, Subject::CopyTo(copy.to), at, copy.cost);
                }
                *self = Unchanged { writer: Some(Site::UNKNOWN), nothing_at: None };
            }
            Fact::Written { access: Access::Write, site, .. } if self.writer == Some(Site::UNKNOWN) => {
                self.writer = Some(site);
            }
            // Of an access that failed.
            Fact::Asked { .. } => self.nothing_at = None,
            Fact::Compared { side, since, changed } => {
                self.nothing_at = Some(side).filter(|_| since == Since::Copy && changed == Changed::Nothing);
            }
            Fact::Void { why: Why::Written, .. } => {}
            Fact::Void { .. } | Fact::Freed { .. } => *self = Unchanged::default(),
            _ => {}
        }
    }
}
