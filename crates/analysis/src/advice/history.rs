//! Follows one object's newest data through its events, and derives the rules' facts.
//!
//! An access is recorded before its success is known. Its effect counts from the event that shows it; if none does, from
//! the next event that does not report a failure.

use super::Who;
use super::fact::{Copy, Fact, Why};
use super::findings::{Findings, Scribe, Seen};
use super::rules::Rules;
use syncedmem_trace::event::{Cause, Event, Noticed, Site, What};
use syncedmem_trace::head::{Access, Head, Side};

#[derive(Clone, Debug, Default)]
pub struct History {
    seen: Seen,
    state: State,
}

#[derive(Clone, Debug)]
struct State {
    /// `None`: the object was in use before observation began.
    head: Option<Head>,
    /// The last access, while its effect is not known.
    pending: Option<Pending>,
    /// A pull may be in flight.
    pulls: bool,
    /// Blocks of each side: two until the old one's `Freed`; one if the object was in use before observation.
    blocks: [u8; 2],
    rules: Rules,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    side: Side,
    access: Access,
}

impl History {
    pub fn take(&mut self, event: &Event, who: Who, findings: &mut Findings) {
        let mut scribe = Scribe { findings, seen: &mut self.seen, who };
        self.state.take(event, &mut scribe);
    }

    /// From now on events may be missing: the rules must not conclude anything from that.
    pub fn lose_sight(&mut self, made: Site, findings: &mut Findings) {
        let who = Who { made, every_access: false };
        let mut scribe = Scribe { findings, seen: &mut self.seen, who };
        self.state.rules.take(&Fact::OutOfSight, &mut scribe);
    }

    /// Adds what only the object's end or a report can show.
    pub fn at_report(&self, who: Who, findings: &mut Findings) {
        let History { mut seen, mut state } = self.clone();
        let mut scribe = Scribe { findings, seen: &mut seen, who };
        state.end_access(&mut scribe);
        state.rules.take(&Fact::End, &mut scribe);
    }
}

impl Default for State {
    fn default() -> State {
        State { head: None, pending: None, pulls: false, blocks: [1; 2], rules: Rules::default() }
    }
}

impl State {
    fn take(&mut self, event: &Event, scribe: &mut Scribe<'_>) {
        if !belongs_to_the_last(&event.what) {
            self.end_access(scribe);
        }
        if !matches!(event.what, What::Freed { .. } | What::Completed { .. } | What::Ended) {
            self.rules.take(&Fact::GoesOn, scribe);
        }
        match event.what {
            What::Made { noticed, .. } => {
                if noticed == Noticed::Construction {
                    (self.head, self.blocks) = (Some(Head::Uninitialized), [0; 2]);
                    self.rules.take(&Fact::New, scribe);
                }
            }
            What::Accessed { side, access, .. } => self.begin_access(Pending { side, access }, scribe),
            What::Allocated { kind, bytes, .. } => {
                self.add_block(kind.side());
                self.rules.take(&Fact::Held { side: kind.side(), bytes }, scribe);
                // An overwrite needs only the block: no other event follows.
                let overwrites = |pending: &Pending| (pending.access, pending.side) == (Access::Overwrite, kind.side());
                if let Some(pending) = self.pending.filter(overwrites) {
                    self.write(pending, scribe);
                }
            }
            What::Freed { kind, .. } => {
                let blocks = &mut self.blocks[kind.side() as usize];
                *blocks = blocks.saturating_sub(1);
                self.rules.take(&Fact::Freed { side: kind.side() }, scribe);
            }
            What::Filled { side, .. } => {
                self.pending = None;
                self.head = Some(Head::only_at(side));
                self.rules.take(&Fact::Filled { side }, scribe);
            }
            What::Copied { to, bytes, path, cause } => {
                scribe.findings.rates.learn(to, path, bytes, event.duration);
                self.copied(Copy::done(event, to, bytes, path, cause), scribe);
                if cause == Cause::Access(Access::Write) {
                    self.write(Pending { side: to, access: Access::Write }, scribe);
                }
            }
            What::Started { to, bytes, path, .. } => {
                self.copied(Copy::started(event, to, bytes, path), scribe);
                if to == Side::Host {
                    (self.head, self.pulls) = (Some(Head::AtGpu), true);
                }
            }
            What::Completed { to: Side::Host, .. } => self.landed(scribe),
            What::Completed { to: Side::Device, .. } => {}
            What::Lent { side } => {
                self.head = Some(Head::only_at(side));
                self.void([side, side.other()], Why::Replaced, scribe);
                self.rules.take(&Fact::Lent { side }, scribe);
                self.add_block(side);
            }
            What::Released { side } => self.given_back(side, scribe),
            What::Evicted { .. } => self.given_back(Side::Device, scribe),
            What::Resized { .. } => {
                (self.head, self.blocks) = (Some(Head::Uninitialized), [0; 2]);
                self.void([Side::Host, Side::Device], Why::Resized, scribe);
            }
            What::Ended => {
                self.void([Side::Host, Side::Device], Why::Ended, scribe);
                self.rules.take(&Fact::End, scribe);
            }
            What::Failed { .. } => self.pending = None,
            What::Registered { .. } | What::Synchronised => {}
        }
    }

    fn begin_access(&mut self, access_begun: Pending, scribe: &mut Scribe<'_>) {
        let Pending { side, access } = access_begun;
        self.rules.take(&Fact::Asked { side, access }, scribe);
        let needs_nothing = match (access, self.head) {
            (Access::Read, _) | (_, None) => false,
            (Access::Write, Some(head)) => head.is_current(side),
            (Access::Overwrite, Some(head)) => head.is_current(side) || self.blocks[side as usize] > 0,
        };
        // A pull in flight is completed first: a `Completed` follows.
        if needs_nothing && !self.pulls {
            self.write(access_begun, scribe);
        } else {
            self.pending = Some(access_begun);
        }
    }

    /// Counts the pending access as done, unless an event would have recorded its success.
    fn end_access(&mut self, scribe: &mut Scribe<'_>) {
        let Some(pending) = self.pending.take() else { return };
        // A new mapping holds zeros: no fill is recorded for it.
        if self.head == Some(Head::Uninitialized) && self.blocks[pending.side as usize] > 0 {
            self.head = Some(Head::only_at(pending.side));
        }
        let is_done = match pending.access {
            _ if self.pulls => false,
            Access::Read => false,
            // Otherwise it would have needed zeros or a copy.
            Access::Write => self.head.is_none_or(|head| head.is_current(pending.side)),
            // Otherwise it would have needed a block.
            Access::Overwrite => self.blocks[pending.side as usize] > 0,
        };
        if is_done {
            self.write(pending, scribe);
        }
    }

    fn write(&mut self, Pending { side, access }: Pending, scribe: &mut Scribe<'_>) {
        self.pending = None;
        self.head = Some(Head::only_at(side));
        match access {
            Access::Overwrite => self.void([side, side.other()], Why::Replaced, scribe),
            Access::Read | Access::Write => self.void([side.other()], Why::Written, scribe),
        }
        self.rules.take(&Fact::Written { side }, scribe);
    }

    fn copied(&mut self, copy: Copy, scribe: &mut Scribe<'_>) {
        (self.head, self.pending, self.pulls) = (Some(Head::Synced), None, false);
        self.rules.take(&Fact::Copied(copy), scribe);
    }

    fn landed(&mut self, scribe: &mut Scribe<'_>) {
        (self.head, self.pulls) = (Some(Head::Synced), false);
        let writer = self.pending.filter(|pending| pending.access != Access::Read);
        self.rules.take(&Fact::Landed { by_writer: writer.is_some() }, scribe);
        if let Some(writer) = writer {
            self.write(writer, scribe);
        }
    }

    fn given_back(&mut self, side: Side, scribe: &mut Scribe<'_>) {
        self.head = Some(Head::only_at(side.other()));
        self.blocks[side as usize] = 0;
        self.void([side], Why::GivenBack, scribe);
    }

    fn add_block(&mut self, side: Side) {
        let blocks = &mut self.blocks[side as usize];
        *blocks = blocks.saturating_add(1);
    }

    fn void<const N: usize>(&mut self, sides: [Side; N], why: Why, scribe: &mut Scribe<'_>) {
        for side in sides {
            self.rules.take(&Fact::Void { side, why }, scribe);
        }
    }
}

/// Whether an event belongs to the same call as the event before it.
fn belongs_to_the_last(what: &What) -> bool {
    matches!(
        what,
        What::Allocated { .. }
            | What::Freed { .. }
            | What::Filled { .. }
            | What::Copied { cause: Cause::Access(_), .. }
            | What::Completed { .. }
            | What::Registered { .. }
            | What::Synchronised
            | What::Failed { .. }
    )
}
