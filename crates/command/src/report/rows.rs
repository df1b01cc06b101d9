//! The rows of a report: advice, holders and callers. Rows of the same name are joined.

use std::collections::HashMap;

use syncedmem_trace::account::Sum;

/// The words of a piece of advice.
pub struct Rule {
    pub name: &'static str,
    pub change: &'static str,
    pub seen: &'static str,
    pub to_do: &'static str,
    pub not_known: &'static str,
}

/// How certain all advice is: the reader must judge.
pub const CERTAINTY: &str = "possible";

pub const SHARE: Rule = Rule {
    name: "share",
    change: "command",
    seen: "Blobs keep memory while no layer needs their contents.",
    to_do: "Give syncedmem run the option: results stay the same.",
    not_known: "If the program reads a blob after its last layer, name the blob with --keep: without it such a read is an error.",
};

pub const IN_PLACE: Rule = Rule {
    name: "in-place",
    change: "prototxt",
    seen: "Layers write to separate outputs, although they could write over their inputs, which no other layer reads.",
    to_do: "Give each output the name of the input, wherever it is a top or a bottom: results stay the same.",
    not_known: "The program must not read the input or the output by its name. Not for a ReLU with a negative_slope \
                below 0, an ELU with an alpha below 0, nor after an Eltwise with stable_prod_grad: false.",
};

/// Layers that could write over the memory of one blob.
#[derive(Clone, Debug, Default)]
pub struct InPlace {
    /// Their names.
    pub layers: String,
    /// The names to write in the prototxt.
    pub change: String,
    /// Number of layers.
    pub count: u64,
    /// Memory that the change saves.
    pub bytes: u64,
}

/// Objects of one name, or made at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HolderRow {
    pub who: String,
    /// Bytes and blocks by kind at the end of the trace, then at the peak of the kind.
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
