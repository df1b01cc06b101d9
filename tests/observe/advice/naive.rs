//! The rules about copies and unused memory again, naively: each looks at the whole life of an object afterwards, and may look ahead. It
//! reads what really became of each access, which the library has to work out from what follows.

use std::collections::BTreeMap;

use syncedmem_analysis::advice::{Certainty, Rule, Subject};
use syncedmem_trace::event::Cause;
use syncedmem_trace::head::Access::{self, Overwrite, Read, Write};
use syncedmem_trace::head::Side::{self, Device, Host};

/// Counts and bytes by rule, certainty and subject.
pub type Counts = BTreeMap<(&'static str, &'static str, String), (u64, u64)>;

/// The events as they happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Asked(Side, Access),
    /// A writer got the address.
    Wrote(Side, Access),
    /// Without a cause: on a stream.
    Copied(Side, Option<Cause>),
    /// A pull has landed.
    Landed,
    Filled(Side, Access),
    Lent(Side),
    Released(Side),
    Ended,
}

/// One object from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Life {
    pub size: u64,
    pub pinned: bool,
    /// Each with the number of its call.
    pub acts: Vec<(u32, Act)>,
    /// Which sides the library's blocks are on at the end, before they are freed.
    pub held: [bool; 2],
    /// Which sides hold the newest data at the end.
    pub current: [bool; 2],
}

/// All advice on these lives.
pub fn advice(lives: &[Life], every_access: bool) -> Counts {
    let mut counts = Counts::new();
    for life in lives {
        let mut find = |rule: Rule, certainty: Certainty, subject: Subject| {
            let sum = counts.entry((rule.name(), certainty.name(), format!("{subject:?}"))).or_default();
            *sum = (sum.0 + 1, sum.1 + life.size);
        };
        life.unread(every_access, &mut find);
        life.ping_pong(&mut find);
        life.overwritten_copy(&mut find);
        life.overwritten_fill(every_access, &mut find);
        life.pageable(&mut find);
        life.unused(every_access, &mut find);
    }
    counts
}

impl Act {
    /// Whether it makes what `side` holds useless.
    fn voids(&self, side: Side) -> bool {
        match *self {
            Act::Wrote(_, Overwrite) | Act::Lent(_) | Act::Ended => true,
            Act::Wrote(written, _) => written != side,
            Act::Released(released) => released == side,
            _ => false,
        }
    }
}

impl Life {
    fn copies(&self) -> impl Iterator<Item = (usize, Side, Option<Cause>)> {
        self.acts.iter().enumerate().filter_map(|(index, (_, act))| match *act {
            Act::Copied(to, cause) => Some((index, to, cause)),
            _ => None,
        })
    }

    fn after(&self, index: usize) -> impl Iterator<Item = &(u32, Act)> {
        self.acts[index + 1..].iter()
    }

    fn unread(&self, every_access: bool, find: &mut impl FnMut(Rule, Certainty, Subject)) {
        for (index, to, cause) in self.copies().filter(|(.., cause)| !matches!(cause, Some(Cause::Access(_)))) {
            if !every_access && (to == Device || cause.is_some()) {
                continue;
            }
            let writes_in = |call| self.acts.iter().any(|act| act.0 == call && matches!(act.1, Act::Wrote(..)));
            let end = self.after(index).find(|(call, act)| match *act {
                Act::Asked(side, Read | Write) => side == to,
                Act::Copied(..) => true,
                Act::Landed => !every_access && !writes_in(*call),
                _ => act.voids(to),
            });
            if end.is_some_and(|(_, act)| act.voids(to)) {
                let is_handed_out = self.is_handed_out(index, to, every_access);
                let certainty = if is_handed_out { Certainty::Possible } else { Certainty::Certain };
                find(Rule::UnreadCopy, certainty, Subject::CopyTo(to));
            }
        }
    }

    /// Whether a caller could have the address of a side's memory before that act.
    fn is_handed_out(&self, index: usize, side: Side, every_access: bool) -> bool {
        let acts = &self.acts[..index];
        let begin = acts.iter().rposition(|(_, act)| *act == Act::Released(side)).unwrap_or(0);
        acts[begin..].iter().any(|(_, act)| match *act {
            Act::Asked(asked, _) => asked == side,
            Act::Lent(lent) => lent == side,
            Act::Landed => !every_access && side == Host,
            Act::Copied(to, cause) => !every_access && to == side && (cause.is_some() || side == Device),
            _ => false,
        })
    }

    fn ping_pong(&self, find: &mut impl FnMut(Rule, Certainty, Subject)) {
        let copies: Vec<_> = self.copies().map(|(_, to, _)| to).collect();
        for row in copies.chunk_by(|one, next| one != next).filter(|row| row.len() >= 4) {
            row.iter().for_each(|_| find(Rule::PingPong, Certainty::Certain, Subject::Object));
        }
    }

    fn overwritten_copy(&self, find: &mut impl FnMut(Rule, Certainty, Subject)) {
        for (_, to, _) in self.copies().filter(|(.., cause)| *cause == Some(Cause::Access(Write))) {
            find(Rule::OverwrittenCopy, Certainty::Possible, Subject::CopyTo(to));
        }
    }

    fn overwritten_fill(&self, every_access: bool, find: &mut impl FnMut(Rule, Certainty, Subject)) {
        for (index, &(_, act)) in self.acts.iter().enumerate().filter(|_| every_access) {
            let Act::Filled(side, Write) = act else { continue };
            let end = self
                .after(index)
                .find(|(_, act)| matches!(act, Act::Asked(_, Read | Write) | Act::Copied(..)) || act.voids(side));
            if matches!(end, Some((_, Act::Wrote(_, Overwrite) | Act::Lent(_)))) {
                find(Rule::OverwrittenFill, Certainty::Possible, Subject::Memory(side));
            }
        }
    }

    fn pageable(&self, find: &mut impl FnMut(Rule, Certainty, Subject)) {
        if !self.pinned && self.size >= 64 << 10 && self.copies().count() >= 2 {
            self.copies().for_each(|(_, to, _)| find(Rule::PageableCopy, Certainty::Certain, Subject::CopyTo(to)));
        }
    }

    fn unused(&self, every_access: bool, find: &mut impl FnMut(Rule, Certainty, Subject)) {
        let Some((index, to, cause)) = self.copies().next() else { return };
        let used = |side: Side| {
            let by_first = matches!(cause, Some(Cause::Access(_))) && to == side;
            by_first
                || self.after(index).any(|(_, act)| match *act {
                    Act::Asked(asked, _) => asked == side,
                    Act::Lent(lent) => lent == side,
                    Act::Copied(..) => true,
                    _ => false,
                })
        };
        for side in [Host, Device] {
            let known = every_access || !self.current[side as usize];
            if self.held == [true; 2] && known && used(side.other()) && !used(side) {
                find(Rule::UnusedSide, Certainty::Certain, Subject::Memory(side));
            }
        }
    }
}
