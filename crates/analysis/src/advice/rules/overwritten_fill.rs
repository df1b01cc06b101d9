//! `overwritten-fill`: zeros for a writing access, all of which were changed or overwritten before the next access.
//! A later writing access may add to the data: "everything has changed" proves an overwrite only without one.

use crate::advice::fact::{Fact, Why};
use crate::advice::findings::Scribe;
use crate::advice::rates::Cost;
use crate::advice::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::{Changed, Since, Site};
use syncedmem_trace::head::{Access, Side};

#[derive(Clone, Debug, Default)]
pub struct OverwrittenFill(Option<Fill>);

#[derive(Clone, Copy, Debug)]
struct Fill {
    side: Side,
    site: Site,
    cost: Cost,
    /// No access since; `one_writer`: none to write this side. Both only while every access is recorded.
    alone: bool,
    one_writer: bool,
}

impl OverwrittenFill {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        if let Fact::Filled { side, access, site, cost } = *fact {
            let fill = Fill { side, site, cost, alone: true, one_writer: true };
            self.0 = Some(fill).filter(|_| access == Some(Access::Write));
        }
        let Some(fill) = &mut self.0 else { return };
        fill.alone &= scribe.who.every_access;
        fill.one_writer &= scribe.who.every_access;
        let certainty = match *fact {
            Fact::Asked { side, access: access @ (Access::Read | Access::Write) } => {
                fill.alone = false;
                fill.one_writer &= access == Access::Read || side != fill.side;
                return;
            }
            Fact::Copied(_) => {
                fill.alone = false;
                return;
            }
            Fact::Compared { side, since: Since::Fill, changed } if side == fill.side => {
                let certainty = if fill.one_writer { Certainty::Compared } else { Certainty::Possible };
                Some(certainty).filter(|_| changed == Changed::Everything)
            }
            Fact::Void { side, why } if side == fill.side => {
                Some(Certainty::Possible).filter(|_| why == Why::Replaced && fill.alone)
            }
            _ => return,
        };
        if let Some(certainty) = certainty {
            let subject = Subject::Memory(fill.side);
            scribe.find(Rule::OverwrittenFill, certainty, subject, fill.site, fill.cost);
        }
        self.0 = None;
    }
}
