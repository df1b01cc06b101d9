//! The rows of a report's lists: findings, holders and callers. Rows that differ in figures alone are joined.

use std::collections::HashMap;

use syncedmem_trace::account::Sum;

pub const IN_PLACE: &str = "in-place";

#[derive(Clone, Debug, Default)]
pub struct Finding {
    pub rule: &'static str,
    pub certainty: &'static str,
    /// What has to be changed: prototxt, setting or source.
    pub change: &'static str,
    pub seen: &'static str,
    pub to_do: &'static str,
    pub not_known: &'static str,
    /// The layers that could be in place.
    pub made: String,
    /// The names to write in the prototxt.
    pub at: String,
    /// Number of layers.
    pub count: u64,
    /// Memory that the change saves.
    pub bytes: u64,
}

impl Finding {
    /// Whether only places and figures differ.
    pub fn says_like(&self, other: &Finding) -> bool {
        self.words() == other.words()
    }

    fn words(&self) -> [&'static str; 4] {
        [self.rule, self.certainty, self.to_do, self.not_known]
    }

    pub fn join(&mut self, other: &Finding) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Objects of one name, or made at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HolderRow {
    pub who: String,
    /// Bytes and blocks of each kind at the end of the trace, then at the peak of the kind.
    pub live: [u64; 3],
    pub blocks: [u64; 3],
    pub at_peak: [u64; 3],
    pub blocks_at_peak: [u64; 3],
}

impl HolderRow {
    pub fn join(&mut self, other: &HolderRow) {
        for kind in 0..3 {
            self.live[kind] += other.live[kind];
            self.blocks[kind] += other.blocks[kind];
            self.at_peak[kind] += other.at_peak[kind];
            self.blocks_at_peak[kind] += other.blocks_at_peak[kind];
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub who: String,
    pub made: u64,
    /// Copies to the host and to the device.
    pub copies: [Sum; 2],
    pub fills: Sum,
    /// Blocks from the system or the driver.
    pub fresh: Sum,
    pub waits: Sum,
}

impl Caller {
    pub fn nanoseconds(&self) -> u64 {
        let sums = [self.copies[0], self.copies[1], self.fills, self.fresh, self.waits];
        sums.iter().fold(0, |all, sum| all.saturating_add(sum.nanoseconds))
    }

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

/// The sum of each name, the largest first.
pub fn by_name(amounts: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    amounts.for_each(|(name, amount)| *sums.entry(name).or_default() += amount);
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
    sums
}
