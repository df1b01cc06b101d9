//! The findings, summed up by rule and call site.

use super::Who;
use super::rates::{Cost, Rates, Times};
use super::rule::{Certainty, Rule, Subject};
use super::rules::turned_away::TurnedAway;
use syncedmem_trace::event::{Event, Origin, Site, What};
use syncedmem_trace::kind::Kind;

/// A piece of advice: the work or memory that could be saved, and where.
///
/// One copy may appear under several rules, so the savings of several pieces of advice must not be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The rule that found it.
    pub rule: Rule,
    /// How certain it is.
    pub certainty: Certainty,
    /// The part of the objects that it is about.
    pub subject: Subject,
    /// The call site that made the objects.
    pub made: Site,
    /// The call site whose code could be changed: it asked for the work that could be saved.
    pub at: Site,
    /// The object, if there is only one.
    pub object: Option<u64>,
    /// Number of objects.
    pub objects: u64,
    /// Number of copies, fills or blocks.
    pub count: u64,
    pub bytes: u64,
    /// Estimate, from this run, of the time that would be saved. `None` if it cannot be estimated, or if memory would
    /// be saved instead of time.
    pub saved_nanoseconds: Option<u64>,
}

impl Advice {
    /// One sentence: the change to make in the caller's code or settings.
    pub const fn what_to_do(&self) -> &'static str {
        self.rule.what_to_do(self.subject)
    }

    /// One sentence: the limits of what the library can know.
    pub const fn not_known(&self) -> &'static str {
        self.rule.not_known(self.certainty)
    }
}

/// The findings so far, of all objects.
pub struct Findings {
    found: Vec<Found>,
    /// Indices into `found`, sorted by key.
    order: Vec<u32>,
    rates: Rates,
    turned_away: TurnedAway,
    dropped: u64,
    /// Whether the lists may grow now. They may not for an event that a signal handler may have recorded: the handler
    /// may have interrupted malloc.
    may_grow: bool,
}

/// Spare room in the lists for the findings of such events.
const SPARE: usize = 32;
const SPARE_OF_AN_OBJECT: usize = 4;

/// Whether there is room for one more element; grows the list if it may.
fn has_room<T>(list: &mut Vec<T>, may_grow: bool) -> bool {
    list.len() < list.capacity() || (may_grow && list.try_reserve(1).is_ok())
}

/// Findings with the same key.
#[derive(Clone, Copy)]
struct Found {
    key: Key,
    first_object: u64,
    objects: u64,
    count: u64,
    bytes: u64,
    times: Times,
}

/// Findings with equal keys are summed up.
#[derive(Clone, Copy)]
struct Key {
    rule: Rule,
    certainty: Certainty,
    subject: Subject,
    made: Site,
    at: Site,
}

impl Key {
    fn place(&self) -> (Rule, Certainty, u8, Site, Site) {
        (self.rule, self.certainty, self.subject.number(), self.made, self.at)
    }
}

/// Indices of the findings that already count an object.
#[derive(Debug, Default)]
pub struct Seen(Vec<u32>);

impl Seen {
    /// A copy; `None` if there is no memory for it.
    pub fn copy(&self) -> Option<Seen> {
        copy_of(&self.0).map(Seen)
    }

    /// Reserves spare room, if there is memory for it.
    pub fn reserve(&mut self) {
        let _ = self.0.try_reserve(SPARE_OF_AN_OBJECT);
    }
}

fn copy_of<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(list.len()).ok()?;
    copy.extend_from_slice(list);
    Some(copy)
}

impl Findings {
    #[expect(clippy::new_without_default, reason = "there is one, and it is in a static")]
    pub const fn new() -> Findings {
        Findings {
            found: Vec::new(),
            order: Vec::new(),
            rates: Rates::NEW,
            turned_away: TurnedAway::NEW,
            dropped: 0,
            may_grow: true,
        }
    }

    /// A copy for a report, which adds the findings that only a report can make; `None` if there is no memory for it.
    pub fn copy(&self) -> Option<Findings> {
        Some(Findings {
            found: copy_of(&self.found)?,
            order: copy_of(&self.order)?,
            // The copy judges no allocations.
            turned_away: TurnedAway::NEW,
            rates: self.rates,
            dropped: self.dropped,
            may_grow: true,
        })
    }

    /// Sets whether the lists may grow.
    pub fn set_may_grow(&mut self, may_grow: bool) {
        self.may_grow = may_grow;
    }

    /// Reserves spare room, if there is memory for it.
    pub fn reserve(&mut self) {
        let _ = self.found.try_reserve(SPARE);
        let _ = self.order.try_reserve(SPARE);
    }

    /// Number of findings that were dropped because memory was exhausted.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Evaluates an event without an object.
    pub fn take_without_object(&mut self, event: &Event) {
        if let What::TurnedAway { kind, bytes } = event.what {
            self.note_turned_away(kind, bytes);
        }
    }

    /// All advice, sorted by the time that it saves, then by the memory.
    pub fn advice(&self) -> Vec<Advice> {
        let mut list = Vec::new();
        if list.try_reserve_exact(self.found.len()).is_ok() {
            list.extend(self.found.iter().filter_map(|found| self.advice_of(found)));
        }
        list.sort_unstable_by(|one: &Advice, other: &Advice| {
            let saves = |advice: &Advice| (advice.saved_nanoseconds.unwrap_or(0), advice.bytes);
            let key =
                |a: &Advice| Key { rule: a.rule, certainty: a.certainty, subject: a.subject, made: a.made, at: a.at };
            saves(other).cmp(&saves(one)).then_with(|| key(one).place().cmp(&key(other).place()))
        });
        list
    }

    fn advice_of(&self, found: &Found) -> Option<Advice> {
        let Found { key: Key { rule, certainty, subject, made, at }, first_object, objects, count, bytes, times } =
            *found;
        let mut saved_nanoseconds = times.price(&self.rates);
        if let (Rule::PageableCopy, Subject::CopyTo(to)) = (rule, subject) {
            let pinned = self.rates.pinned(to, bytes);
            saved_nanoseconds = saved_nanoseconds.zip(pinned).map(|(now, then)| now.saturating_sub(then));
            if saved_nanoseconds == Some(0) {
                // These copies are as fast as pinned ones.
                return None;
            }
        }
        let object = (objects == 1).then_some(first_object);
        Some(Advice { rule, certainty, subject, made, at, object, objects, count, bytes, saved_nanoseconds })
    }

    pub(super) fn note_turned_away(&mut self, kind: Kind, bytes: u64) {
        if !self.turned_away.add(kind, bytes) {
            self.drop_one();
        }
    }

    /// Whether a block that was turned away would have served this allocation.
    pub(super) fn would_have_served(&mut self, kind: Kind, bytes: u64, origin: Origin) -> bool {
        origin == Origin::Fresh && self.turned_away.serve(kind, bytes)
    }

    pub(super) fn drop_one(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }

    pub(super) fn rates(&mut self) -> &mut Rates {
        &mut self.rates
    }

    fn place(&mut self, key: Key, object: u64) -> Option<usize> {
        let search = |&place: &u32| self.found[place as usize].key.place().cmp(&key.place());
        match self.order.binary_search_by(search) {
            Ok(at) => Some(self.order[at] as usize),
            Err(at) => {
                let place = self.found.len();
                let has_room = has_room(&mut self.found, self.may_grow) && has_room(&mut self.order, self.may_grow);
                if !has_room {
                    return None;
                }
                self.order.insert(at, u32::try_from(place).ok()?);
                let times = Times::default();
                self.found.push(Found { key, first_object: object, objects: 0, count: 0, bytes: 0, times });
                Some(place)
            }
        }
    }
}

/// Adds the findings of one object.
pub struct Scribe<'a> {
    pub(super) findings: &'a mut Findings,
    pub(super) seen: &'a mut Seen,
    pub(super) object: u64,
    pub(super) who: Who,
}

impl Scribe<'_> {
    /// Adds one finding.
    pub fn find(&mut self, rule: Rule, certainty: Certainty, subject: Subject, at: Site, cost: Cost) {
        let key = Key { rule, certainty, subject, made: self.who.made, at };
        if self.keep(key, cost).is_none() {
            self.findings.drop_one();
        }
    }

    fn keep(&mut self, key: Key, cost: Cost) -> Option<()> {
        // Reserves first: a failure then changes nothing.
        if !has_room(&mut self.seen.0, self.findings.may_grow) {
            return None;
        }
        let place = self.findings.place(key, self.object)?;
        let found = &mut self.findings.found[place];
        if !self.seen.0.contains(&(place as u32)) {
            self.seen.0.push(place as u32);
            found.objects += 1;
        }
        found.count += 1;
        found.bytes = found.bytes.saturating_add(cost.bytes);
        found.times.add(cost);
        Some(())
    }
}
