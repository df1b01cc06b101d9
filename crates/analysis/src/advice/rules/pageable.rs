//! `pageable-copy`: an object whose pageable memory was copied at least twice. `Findings::advice` decides whether pinning
//! would be faster.

use crate::advice::fact::{Copy, Fact};
use crate::advice::findings::Scribe;
use crate::advice::rates::LARGE;
use crate::advice::rule::{Certainty, Rule, Subject};
use syncedmem_trace::event::Path;

#[derive(Clone, Debug, Default)]
pub enum Pageable {
    #[default]
    None,
    /// Reported together with the second.
    One(Copy),
    Many,
}

impl Pageable {
    pub fn take(&mut self, fact: &Fact, scribe: &mut Scribe<'_>) {
        let Fact::Copied(copy) = *fact else { return };
        if copy.path == Path::Pinned || copy.cost.bytes < LARGE {
            return;
        }
        match std::mem::replace(self, Pageable::Many) {
            Pageable::None => *self = Pageable::One(copy),
            Pageable::One(first) => {
                find(&first, scribe);
                find(&copy, scribe);
            }
            Pageable::Many => find(&copy, scribe),
        }
    }
}

fn find(copy: &Copy, scribe: &mut Scribe<'_>) {
    scribe.find(Rule::PageableCopy, Certainty::Certain, Subject::CopyTo(copy.to), copy.site, copy.cost);
}
