//! `unchanged-copy`: the host's data went to the device although it was what the device had: somebody asked to write it, and
//! only read it.

use crate::head::{Access, Side};
use crate::observe::advice::fact::{Aim, Fact, Why};
use crate::observe::advice::findings::Scribe;
use crate::observe::advice::rule::{Certainty, Rule, Subject};
use crate::observe::event::{Changed, Since, Site};

/// What became of the host's data since both sides were the same.
#[derive(Clone, Debug, Default)]
pub struct Unchanged {
    /// The first who asked to write it. `None`: the sides were not the same, or the device's block is not there any more.
    writer: Option<Site>,
    /// Whether it was compared, and nothing had changed.
    nothing: bool,
}

impl Unchanged {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        match *fact {
            Fact::Copied(copy) => {
                if let (Side::Device, true, Some(at)) = (copy.to, self.nothing, self.writer) {
                    scribe.find(Rule::UnchangedCopy, Certainty::Compared, Subject::CopyTo(copy.to), at, copy.cost);
                }
                // Of a copy that makes room for something else, one side is given back.
                let is_same = copy.aim != Aim::Eviction;
                *self = Unchanged { writer: is_same.then_some(Site::UNKNOWN), nothing: false };
            }
            Fact::Written { side: Side::Host, access: Access::Write, site } => {
                self.writer = self.writer.map(|writer| if writer == Site::UNKNOWN { site } else { writer });
            }
            // Of an access that failed.
            Fact::Asked { .. } => self.nothing = false,
            Fact::Compared { since, changed } => self.nothing = since == Since::Copy && changed == Changed::Nothing,
            Fact::Void { why: Why::Written, .. } | Fact::Void { side: Side::Host, why: Why::GivenBack } => {}
            Fact::Void { .. } | Fact::Freed { side: Side::Device } => *self = Unchanged::default(),
            _ => {}
        }
    }
}
