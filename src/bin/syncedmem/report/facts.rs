//! What a report tells of one process: everything that the page shows is here, and nothing of how it looks.

use std::collections::HashMap;

use syncedmem::observe::account::Sum;
use syncedmem::observe::event::Site;
use syncedmem::observe::summary::Summary;

use super::timeline::Timeline;

/// How a place is called that was not taken down.
pub const NO_PLACE: &str = "an unknown place";

/// A trace.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The file's name.
    pub name: String,
    /// The processes that did something, in the order of their beginnings.
    pub processes: Vec<Process>,
    /// What was wrong with it, one sentence each.
    pub notes: Vec<String>,
}

/// One process of a trace.
#[derive(Clone, Debug)]
pub struct Process {
    /// The kernel's number.
    pub id: u32,
    /// What it is called; empty where the trace does not say.
    pub name: String,
    /// Events that were read.
    pub events: u64,
    /// The sums, holders and advice as the library itself tells them.
    pub summary: Summary,
    /// Its call sites.
    pub places: HashMap<Site, String>,
    /// Memory and copies over time.
    pub timeline: Timeline,
    /// What could be better, the most worthwhile first.
    pub findings: Vec<Finding>,
    /// Who holds memory.
    pub holders: Vec<Holder>,
    /// Who asked for copies, fills and fresh memory.
    pub callers: Vec<Caller>,
    /// What was not watched, one sentence each.
    pub unwatched: Vec<&'static str>,
}

/// The text of a call site.
pub fn place(places: &HashMap<Site, String>, site: Site) -> &str {
    places.get(&site).map_or(NO_PLACE, String::as_str)
}

/// One piece of advice.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// How sure it is.
    pub certainty: &'static str,
    /// What was seen, in one sentence.
    pub seen: &'static str,
    /// What to change, in one sentence.
    pub to_do: &'static str,
    /// What cannot be known about it, in one sentence.
    pub not_known: &'static str,
    /// Who made the objects that it is about: a name or a place.
    pub made: String,
    /// Where the calls were that it is about; empty where that is nowhere.
    pub at: String,
    /// How many objects.
    pub objects: u64,
    /// How often.
    pub count: u64,
    /// How many bytes in all.
    pub bytes: u64,
    /// Nanoseconds that following it would save; `None` where that cannot be estimated.
    pub saved: Option<u64>,
}

impl Finding {
    /// Whether nothing but the numbers differs.
    pub fn is_like(&self, other: &Finding) -> bool {
        self.says_like(other) && self.made == other.made && self.at == other.at
    }

    /// Whether nothing but the places and the numbers differs.
    pub fn says_like(&self, other: &Finding) -> bool {
        let words = |finding: &Finding| (finding.rule, finding.certainty, finding.to_do, finding.not_known);
        words(self) == words(other)
    }

    /// Counts what another one has.
    pub fn join(&mut self, other: &Finding) {
        self.objects += other.objects;
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        // What is known of the one is the least that both save.
        self.saved = match (self.saved, other.saved) {
            (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// Objects of one name or one making site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The name, or the place.
    pub who: String,
    /// Bytes held at the end of the trace, by kind.
    pub live: [u64; 3],
    /// Bytes held when the process held the most of that kind, by kind.
    pub at_peak: [u64; 3],
    /// Blocks then.
    pub blocks_at_peak: [u64; 3],
}

impl Holder {
    /// Counts what another one has.
    pub fn join(&mut self, other: &Holder) {
        for kind in 0..3 {
            self.live[kind] += other.live[kind];
            self.at_peak[kind] += other.at_peak[kind];
            self.blocks_at_peak[kind] += other.blocks_at_peak[kind];
        }
    }
}

/// A place in the program, and what its calls brought about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The place.
    pub who: String,
    /// Objects made.
    pub made: u64,
    /// Copies to the host and to the device.
    pub copies: [Sum; 2],
    /// Fills with zeros, of both sides.
    pub fills: Sum,
    /// Blocks from the system or the driver.
    pub fresh: Sum,
    /// Waits for copies in flight.
    pub waits: Sum,
}

impl Caller {
    /// All the time that its calls took.
    pub fn nanoseconds(&self) -> u64 {
        let sums = [self.copies[0], self.copies[1], self.fills, self.fresh, self.waits];
        sums.iter().fold(0, |all, sum| all.saturating_add(sum.nanoseconds))
    }

    /// Counts what another one with the same name did.
    pub fn join(&mut self, other: &Caller) {
        self.made += other.made;
        for (mine, theirs) in self.copies.iter_mut().zip(other.copies) {
            *mine = mine.plus(theirs);
        }
        self.fills = self.fills.plus(other.fills);
        self.fresh = self.fresh.plus(other.fresh);
        self.waits = self.waits.plus(other.waits);
    }
}
