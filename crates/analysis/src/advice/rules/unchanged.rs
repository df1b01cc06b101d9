//! `unchanged-copy`: a copy of data that the other side already held, because a caller asked to write it and only read
//! it. The host's data is compared before a copy to the device, the device's after a copy to the host.

use crate::advice::fact::{Aim, Fact, Why};
use crate::advice::findings::Scribe;
use crate::advice::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::{Changed, Since, Site};
use syncedmem_trace::head::{Access, Side};

/// Since both sides were equal.
#[derive(Clone, Debug, Default)]
pub struct Unchanged {
    /// The first writer since; unknown before there is one. `None`: the sides were not equal, or a block is gone.
    writer: Option<Site>,
    /// The side that was compared and had not changed.
    nothing_at: Option<Side>,
}

impl Unchanged {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        match *fact {
            Fact::Copied(copy) => {
                // A pull is not compared: an earlier comparison belongs to an access that failed.
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
            // An earlier comparison belongs to an access that failed.
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
