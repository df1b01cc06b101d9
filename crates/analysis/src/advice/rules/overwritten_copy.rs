//! `overwritten-copy`: a copy for a writing access whose caller may have overwritten everything. A comparison at the next
//! copy to the other side shows it.

use crate::advice::fact::{Aim, Copy, Fact};
use crate::advice::findings::Scribe;
use crate::advice::rates::Cost;
use crate::advice::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::{Changed, Since, Site};
use syncedmem_trace::head::{Access, Side};

/// The last such copy, until a comparison or the end of its data.
#[derive(Clone, Debug, Default)]
pub struct OverwrittenCopy(Option<ForWriting>);

#[derive(Clone, Copy, Debug)]
struct ForWriting {
    to: Side,
    site: Site,
    cost: Cost,
}

impl OverwrittenCopy {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        let Some(last) = self.0 else {
            self.begin(fact);
            return;
        };
        let certainty = match *fact {
            Fact::Compared { side, since: Since::Copy, changed } if side == last.to => {
                Some(Certainty::Compared).filter(|_| changed == Changed::Everything)
            }
            // No comparison can follow any more.
            Fact::Void { side, .. } if side == last.to => Some(Certainty::Possible),
            Fact::Copied(_) | Fact::End => Some(Certainty::Possible),
            _ => return,
        };
        if let Some(certainty) = certainty {
            let subject = Subject::CopyTo(last.to);
            scribe.find(Rule::OverwrittenCopy, certainty, subject, last.site, last.cost);
        }
        self.0 = None;
        self.begin(fact);
    }

    fn begin(&mut self, fact: &Fact) {
        if let Fact::Copied(Copy { to, aim: Aim::Access(Access::Write), site, cost, .. }) = *fact {
            self.0 = Some(ForWriting { to, site, cost });
        }
    }
}
