//! Every rule again, naively: each looks at the whole life of an object afterwards, and may look ahead. It reads what
//! really became of each access, which the library has to work out from what follows.

use std::collections::{BTreeMap, BTreeSet};

use syncedmem_analysis::advice::{Certainty, Rule, Subject};
use syncedmem_trace::event::{Cause, Changed, Event, Origin, Path, Since, Site, What};
use syncedmem_trace::head::Access::{self, Overwrite, Read, Write};
use syncedmem_trace::head::Side::{self, Device, Host};
use syncedmem_trace::kind::Kind;

/// The events as they happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Asked(Side, Access),
    /// A writer got the address.
    Wrote(Side, Access, Site),
    Copied(Copy),
    /// A pull has landed.
    Landed,
    Filled(Side, Access, Site, u64),
    Compared(Side, Since, Changed),
    Lent(Side),
    /// Released or evicted.
    GivenBack(Side),
    Freed,
    Resized,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copy {
    pub to: Side,
    pub path: Path,
    /// `None`: on a stream.
    pub cause: Option<Cause>,
    pub took: Option<u64>,
    pub site: Site,
}

/// One object from its beginning to its end, or to the report.
#[derive(Clone, Debug)]
pub struct Life {
    pub made: Site,
    /// Each with the number of its call, and with its size then.
    pub acts: Vec<(u32, u64, Act)>,
    /// Bytes of the library's blocks at the end, before they are freed.
    pub held: [u64; 2],
    /// Which sides hold the newest data at the end.
    pub current: [bool; 2],
}

/// What is summed up of one finding: of which lives, and count, bytes, time, and bytes of copies on streams.
#[derive(Clone, Debug, Default)]
struct Sum {
    lives: BTreeSet<usize>,
    count: u64,
    bytes: u64,
    time: u64,
    on_streams: BTreeMap<(bool, u8), u64>,
    timeless: bool,
}

type Key = (&'static str, &'static str, String, Site, Site);

/// A piece of advice, as the two are compared.
pub type Line = (Key, u64, u64, u64, Option<u64>);

/// All advice on these lives, whose events these are.
pub fn advice(lives: &[Life], events: &[Event], every_access: bool) -> Vec<Line> {
    let mut sums: BTreeMap<Key, Sum> = BTreeMap::new();
    for (number, life) in lives.iter().enumerate() {
        let mut find = |rule: Rule, certainty: Certainty, subject: Subject, at: Site, cost: Cost| {
            let key = (rule.name(), certainty.name(), format!("{subject:?}"), life.made, at);
            let sum = sums.entry(key).or_default();
            sum.lives.insert(number);
            (sum.count, sum.bytes) = (sum.count + 1, sum.bytes + cost.bytes);
            match cost.time {
                Time::Took(time) => sum.time += time,
                Time::OnStream(to, path) => {
                    *sum.on_streams.entry((to == Device, path as u8)).or_default() += cost.bytes
                }
                Time::None => sum.timeless = true,
            }
        };
        life.unread(every_access, &mut find);
        life.unchanged(&mut find);
        life.ping_pong(&mut find);
        life.overwritten_copy(&mut find);
        life.overwritten_fill(every_access, &mut find);
        life.pageable(&mut find);
        life.unused(every_access, &mut find);
    }
    turned_away(events, |number, kind, at, bytes, time| {
        let key =
            (Rule::TurnedAway.name(), Certainty::Certain.name(), format!("{:?}", Subject::Kind(kind)), number.1, at);
        let sum = sums.entry(key).or_default();
        sum.lives.insert(number.0);
        (sum.count, sum.bytes, sum.time) = (sum.count + 1, sum.bytes + bytes, sum.time + time);
    });
    sums.into_iter().filter_map(|(key, sum)| priced(key, &sum, events)).collect()
}

fn priced(key: Key, sum: &Sum, events: &[Event]) -> Option<Line> {
    let mut saved = (!sum.timeless).then_some(sum.time);
    for (&(device, path), &bytes) in &sum.on_streams {
        saved = saved.zip(rate(events, device, path, 0, bytes)).map(|(sum, price)| sum + price);
    }
    if key.0 == Rule::PageableCopy.name() {
        let device = key.2.contains("Device");
        saved = saved
            .zip(rate(events, device, Path::Pinned as u8, 64 << 10, sum.bytes))
            .map(|(now, then)| now.saturating_sub(then));
        if saved == Some(0) {
            return None;
        }
    }
    Some((key, sum.lives.len() as u64, sum.count, sum.bytes, saved))
}

/// What `price_of` bytes cost, going by all copies of `least` bytes and more that were measured.
fn rate(events: &[Event], device: bool, by: u8, least: u64, price_of: u64) -> Option<u64> {
    let measured = events.iter().filter_map(|event| match event.what {
        What::Copied { to, bytes, path, .. } if (to == Device) == device && path as u8 == by && bytes >= least => {
            Some((u128::from(bytes), u128::from(event.duration)))
        }
        _ => None,
    });
    let (bytes, time) = measured.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (bytes > 0).then(|| (u128::from(price_of) * time / bytes) as u64)
}

#[derive(Clone, Copy)]
enum Time {
    Took(u64),
    OnStream(Side, Path),
    None,
}

#[derive(Clone, Copy)]
struct Cost {
    bytes: u64,
    time: Time,
}

impl Copy {
    fn cost(&self, bytes: u64) -> Cost {
        Cost { bytes, time: self.took.map_or(Time::OnStream(self.to, self.path), Time::Took) }
    }

    fn is_for(&self, access: Access) -> bool {
        self.cause == Some(Cause::Access(access))
    }

    fn is_eviction(&self) -> bool {
        self.cause == Some(Cause::Eviction)
    }

    fn is_for_later(&self) -> bool {
        matches!(self.cause, None | Some(Cause::Stream))
    }
}

impl Act {
    /// Whether it makes what `side` holds useless.
    fn voids(&self, side: Side) -> bool {
        match *self {
            Act::Wrote(_, Overwrite, _) | Act::Lent(_) | Act::Resized | Act::Ended => true,
            Act::Wrote(written, ..) => written != side,
            Act::GivenBack(given) => given == side,
            _ => false,
        }
    }

    fn copy(&self) -> Option<Copy> {
        if let Act::Copied(copy) = *self { Some(copy) } else { None }
    }
}

impl Life {
    fn copies(&self) -> impl Iterator<Item = (usize, u64, Copy)> {
        self.acts.iter().enumerate().filter_map(|(index, (_, size, act))| Some((index, *size, act.copy()?)))
    }

    fn after(&self, index: usize) -> impl Iterator<Item = &(u32, u64, Act)> {
        self.acts[index + 1..].iter()
    }

    fn unread(&self, every_access: bool, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        for (index, size, copy) in self.copies().filter(|(.., copy)| copy.is_for_later() || copy.is_eviction()) {
            if !every_access && (copy.to == Device || copy.cause.is_some()) {
                continue;
            }
            let writes_in = |call| self.acts.iter().any(|act| act.0 == call && matches!(act.2, Act::Wrote(..)));
            let end = self.after(index).find(|(call, _, act)| match *act {
                Act::Asked(side, Read | Write) => side == copy.to,
                Act::Copied(_) => true,
                Act::Landed => !every_access && !writes_in(*call),
                _ => act.voids(copy.to),
            });
            if end.is_some_and(|(.., act)| act.voids(copy.to)) {
                let subject = if copy.is_eviction() { Subject::EvictionTo(copy.to) } else { Subject::CopyTo(copy.to) };
                let known = copy.is_eviction() || !self.is_handed_out(index, copy.to, every_access);
                let certainty = if known { Certainty::Certain } else { Certainty::Possible };
                find(Rule::UnreadCopy, certainty, subject, copy.site, copy.cost(size));
            }
        }
    }

    /// Whether a caller could have the address of a side's memory before that act.
    fn is_handed_out(&self, index: usize, side: Side, every_access: bool) -> bool {
        let acts = &self.acts[..index];
        let is_lost = |act: &Act| *act == Act::Resized || *act == Act::GivenBack(side);
        let begin = acts.iter().rposition(|(.., act)| is_lost(act)).unwrap_or(0);
        acts[begin..].iter().any(|(.., act)| match *act {
            Act::Asked(asked, _) => asked == side,
            Act::Lent(lent) => lent == side,
            Act::Landed => !every_access && side == Host,
            Act::Copied(copy) => !every_access && copy.to == side && (copy.took.is_some() || side == Device),
            _ => false,
        })
    }

    fn unchanged(&self, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        let copies: Vec<_> = self.copies().collect();
        for pair in copies.windows(2) {
            let ((first, _, earlier), (second, size, copy)) = (pair[0], pair[1]);
            let between = &self.acts[first + 1..second];
            let call = self.acts[second].0;
            let judged = between.iter().rev().find_map(|&(of, _, act)| match act {
                Act::Compared(side, since, changed) if of == call => Some((side, since, changed)),
                _ => None,
            });
            let apart = between.iter().any(|(.., act)| {
                matches!(
                    act,
                    Act::Lent(_) | Act::Resized | Act::GivenBack(_) | Act::Freed | Act::Wrote(_, Overwrite, _)
                )
            });
            if judged == Some((copy.to.other(), Since::Copy, Changed::Nothing)) && !apart && !earlier.is_eviction() {
                let writer = between.iter().find_map(|(.., act)| match *act {
                    Act::Wrote(_, Write, site) if site != Site::UNKNOWN => Some(site),
                    _ => None,
                });
                let (subject, at) = (Subject::CopyTo(copy.to), writer.unwrap_or_default());
                find(Rule::UnchangedCopy, Certainty::Compared, subject, at, copy.cost(size));
            }
        }
    }

    fn ping_pong(&self, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        let mut rows: Vec<Vec<(u64, Copy)>> = vec![Vec::new()];
        for (_, size, act) in &self.acts {
            match act {
                Act::Resized => rows.push(Vec::new()),
                Act::Copied(copy) if copy.is_eviction() => rows.push(Vec::new()),
                Act::Copied(copy) => {
                    if rows.last().unwrap().last().is_some_and(|last| last.1.to == copy.to) {
                        rows.push(Vec::new());
                    }
                    rows.last_mut().unwrap().push((*size, *copy));
                }
                _ => {}
            }
        }
        for row in rows.iter().filter(|row| row.len() >= 4) {
            let at = row.iter().find(|(_, copy)| copy.to == Host).unwrap().1.site;
            for (size, copy) in row {
                find(Rule::PingPong, Certainty::Certain, Subject::Object, at, copy.cost(*size));
            }
        }
    }

    fn overwritten_copy(&self, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        for (index, size, copy) in self.copies().filter(|(.., copy)| copy.is_for(Write)) {
            let end = self.after(index).find(|(.., act)| match *act {
                Act::Compared(side, since, _) => side == copy.to && since == Since::Copy,
                Act::Copied(_) => true,
                _ => act.voids(copy.to),
            });
            let certainty = match end {
                Some((.., Act::Compared(.., Changed::Everything))) => Certainty::Compared,
                Some((.., Act::Compared(..))) => continue,
                _ => Certainty::Possible,
            };
            find(Rule::OverwrittenCopy, certainty, Subject::CopyTo(copy.to), copy.site, copy.cost(size));
        }
    }

    fn overwritten_fill(&self, every_access: bool, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        for (index, &(_, size, act)) in self.acts.iter().enumerate() {
            let Act::Filled(side, Write, site, took) = act else { continue };
            let is_end = |act: &Act| matches!(act, Act::Compared(of, Since::Fill, _) if *of == side) || act.voids(side);
            let end = self.after(index).position(|(.., act)| is_end(act)).map(|place| index + 1 + place);
            let Some(end) = end else { continue };
            let used = self.acts[index + 1..end]
                .iter()
                .any(|(.., act)| matches!(act, Act::Asked(_, Read | Write) | Act::Copied(_)));
            let written = self.acts[index + 1..end].iter().any(|(.., act)| *act == Act::Asked(side, Write));
            let certainty = match self.acts[end].2 {
                Act::Compared(.., Changed::Everything) if every_access && !written => Certainty::Compared,
                Act::Compared(.., Changed::Everything) => Certainty::Possible,
                Act::Wrote(_, Overwrite, _) | Act::Lent(_) if every_access && !used => Certainty::Possible,
                _ => continue,
            };
            let cost = Cost { bytes: size, time: Time::Took(took) };
            find(Rule::OverwrittenFill, certainty, Subject::Memory(side), site, cost);
        }
    }

    fn pageable(&self, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        let slow: Vec<_> =
            self.copies().filter(|(_, size, copy)| copy.path != Path::Pinned && *size >= 64 << 10).collect();
        for (_, size, copy) in slow.iter().filter(|_| slow.len() >= 2) {
            find(Rule::PageableCopy, Certainty::Certain, Subject::CopyTo(copy.to), copy.site, copy.cost(*size));
        }
    }

    fn unused(&self, every_access: bool, find: &mut impl FnMut(Rule, Certainty, Subject, Site, Cost)) {
        let begin = self.acts.iter().rposition(|(.., act)| *act == Act::Resized).unwrap_or(0);
        let Some((index, _, first)) = self.copies().find(|(index, _, copy)| *index >= begin && !copy.is_eviction())
        else {
            return;
        };
        let used = |side: Side| {
            let by_first = !first.is_for_later() && first.to == side;
            by_first
                || self.after(index).any(|(.., act)| match *act {
                    Act::Asked(asked, _) => asked == side,
                    Act::Lent(lent) => lent == side,
                    Act::Copied(_) => true,
                    _ => false,
                })
        };
        for side in [Host, Device] {
            let known = every_access || !self.current[side as usize];
            if !self.held.contains(&0) && known && used(side.other()) && !used(side) {
                let cost = Cost { bytes: self.held[side as usize], time: Time::None };
                find(Rule::UnusedSide, Certainty::Certain, Subject::Memory(side), first.site, cost);
            }
        }
    }
}

fn turned_away(events: &[Event], mut find: impl FnMut((usize, Site), Kind, Site, u64, u64)) {
    let mut away: Vec<(Kind, u64)> = Vec::new();
    let mut lives: BTreeMap<u64, (usize, Site)> = BTreeMap::new();
    let mut number = 0;
    for event in events {
        match event.what {
            What::Made { .. } => {
                lives.insert(event.object, (number, event.site));
                number += 1;
            }
            What::TurnedAway { kind, bytes } if event.object == 0 => away.push((kind, bytes)),
            What::Allocated { kind, bytes, origin: Origin::Fresh, .. } => {
                let fits = |block: &&(Kind, u64)| block.0 == kind && (bytes..=bytes + bytes / 8).contains(&block.1);
                let best = away.iter().filter(fits).map(|block| block.1).min();
                if let Some(place) = best.and_then(|best| away.iter().position(|block| *block == (kind, best))) {
                    away.remove(place);
                    find(lives[&event.object], kind, event.site, bytes, event.duration);
                }
            }
            _ => {}
        }
    }
}
