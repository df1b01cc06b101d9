//! Who held memory over time: for each column of the timeline, what each owner held when the memory of that kind was
//! first greatest in it. The values of all owners add up to that maximum.
//!
//! The timeline numbers these moments (*samples*, by kind). An owner's values are steps: a sample's number, and the
//! bytes from there on. So a joined column keeps one of two samples, without a look at the owners.

use std::collections::HashMap;

use syncedmem_analysis::ledger::{Holder, Object};
use syncedmem_trace::event::Site;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

/// With more of them, an owner has some that no column shows.
const STEPS: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Bytes that objects held; these three are by kind.
    pub least: [u64; 3],
    pub most: [u64; 3],
    /// The moment at which `most` was first held.
    pub samples: [u64; 3],
    /// Bytes to the host and to the device.
    pub copied: [u64; 2],
    /// Nanoseconds in passes, by kind, summed over threads.
    pub passes: [u64; 4],
}

impl Column {
    pub fn with(self, next: Column) -> Column {
        let mut both = self;
        for kind in 0..3 {
            both.least[kind] = both.least[kind].min(next.least[kind]);
            if next.most[kind] > both.most[kind] {
                (both.most[kind], both.samples[kind]) = (next.most[kind], next.samples[kind]);
            }
        }
        for to in 0..2 {
            both.copied[to] = both.copied[to].saturating_add(next.copied[to]);
        }
        for kind in 0..4 {
            both.passes[kind] = both.passes[kind].saturating_add(next.passes[kind]);
        }
        both
    }
}

/// Objects of one holder that one call site made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    pub holder: Holder,
    pub made: Site,
}

#[derive(Clone, Copy, Debug)]
struct HeldBlock {
    owner: Owner,
    kind: Kind,
    bytes: u64,
    address: u64,
    /// The last sample of its kind before its allocation.
    after: u64,
}

impl HeldBlock {
    fn is_same(&self, other: &HeldBlock) -> bool {
        (self.kind, self.bytes, self.address) == (other.kind, other.bytes, other.address)
    }
}

/// The memory of one kind that an owner held over time.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    now: u64,
    /// The last sample that `steps` accounts for.
    seen: u64,
    /// Sorted by sample. Before the first one nothing is held.
    steps: Vec<(u64, u64)>,
}

impl Steps {
    /// Takes down the samples since the last change. Called before a change.
    fn catch_up(&mut self, samples: u64) {
        if self.seen < samples {
            if self.steps.last().map_or(0, |step| step.1) != self.now {
                self.steps.push((self.seen + 1, self.now));
            }
            self.seen = samples;
        }
    }

    fn change_from(&mut self, first: u64, change: impl Fn(u64) -> u64) {
        let at = self.steps.partition_point(|step| step.0 < first);
        if self.steps.get(at).is_none_or(|step| step.0 != first) {
            self.steps.insert(at, (first, self.at(first)));
        }
        self.steps[at..].iter_mut().for_each(|step| step.1 = change(step.1));
    }

    pub fn at(&self, sample: u64) -> u64 {
        let next = self.steps.partition_point(|step| step.0 <= sample);
        if next == 0 { 0 } else { self.steps[next - 1].1 }
    }

    /// `None` if nothing was ever held.
    pub fn in_columns(&self, samples: impl Iterator<Item = u64>) -> Option<Vec<u64>> {
        if self.steps.is_empty() { None } else { Some(samples.map(|sample| self.at(sample)).collect()) }
    }

    /// Drops steps that no column shows.
    fn prune(&mut self, columns: &[Column], kind: Kind) {
        let (mut kept, mut before) = (Vec::new(), 0);
        for sample in columns.iter().map(|column| column.samples[kind as usize]) {
            let bytes = self.at(sample);
            if bytes != before {
                kept.push((sample, bytes));
                before = bytes;
            }
        }
        self.steps = kept;
    }
}

#[derive(Clone, Debug, Default)]
pub struct Held {
    blocks: HashMap<(u64, usize), HeldBlock>,
    owners: HashMap<Owner, [Steps; 3]>,
}

impl Held {
    /// Takes over an object's blocks and holder from the ledger. `samples`: numbers of the last ones, by kind.
    pub fn follow(&mut self, address: u64, object: Option<&Object>, samples: [u64; 3], columns: &[Column]) {
        for side in [Side::Host, Side::Device] {
            let now = object.and_then(|object| Some((object, object.block(side)?))).map(|(object, block)| {
                let owner = Owner { holder: object.holder, made: object.made };
                let (kind, bytes, address) = (block.kind, block.bytes, block.address);
                HeldBlock { owner, kind, bytes, address, after: samples[kind as usize] }
            });
            let before = match now {
                Some(block) => self.blocks.insert((address, side as usize), block),
                None => self.blocks.remove(&(address, side as usize)),
            };
            match (before, now) {
                (Some(before), Some(now)) if before.is_same(&now) => {
                    let now = HeldBlock { after: before.after, ..now };
                    self.blocks.insert((address, side as usize), now);
                    if before.owner != now.owner {
                        self.pass_on(before, now.owner, samples, columns);
                    }
                }
                (before, now) => {
                    if let Some(before) = before {
                        self.add(before, samples, columns, |bytes| bytes.saturating_sub(before.bytes));
                    }
                    if let Some(now) = now {
                        self.add(now, samples, columns, |bytes| bytes.saturating_add(now.bytes));
                    }
                }
            }
        }
    }

    fn add(
        &mut self,
        block: HeldBlock,
        samples: [u64; 3],
        columns: &[Column],
        change: impl Fn(u64) -> u64,
    ) -> &mut Steps {
        let steps = &mut self.owners.entry(block.owner).or_default()[block.kind as usize];
        steps.catch_up(samples[block.kind as usize]);
        steps.now = change(steps.now);
        if steps.steps.len() > STEPS {
            steps.prune(columns, block.kind);
        }
        steps
    }

    /// Moves a block as if its new owner had held it since its allocation, as the ledger does.
    fn pass_on(&mut self, block: HeldBlock, to: Owner, samples: [u64; 3], columns: &[Column]) {
        let kind = block.kind as usize;
        let counted = columns.get(columns.partition_point(|column| column.samples[kind] <= block.after));
        let (less, more) =
            (|bytes: u64| bytes.saturating_sub(block.bytes), |bytes: u64| bytes.saturating_add(block.bytes));
        let before = self.add(block, samples, columns, less);
        if let Some(column) = counted {
            before.change_from(column.samples[kind], less);
        }
        let after = self.add(HeldBlock { owner: to, ..block }, samples, columns, more);
        if let Some(column) = counted {
            after.change_from(column.samples[kind], more);
        }
    }

    pub fn finish(self, samples: [u64; 3]) -> impl Iterator<Item = (Owner, [Steps; 3])> {
        self.owners.into_iter().map(move |(owner, mut steps)| {
            for (steps, samples) in steps.iter_mut().zip(samples) {
                steps.catch_up(samples);
            }
            (owner, steps)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_that_changes_all_the_time_has_a_bounded_number_of_steps() {
        let (mut steps, columns) = (Steps::default(), [Column { samples: [9; 3], ..Column::default() }]);
        let mut held = Held::default();
        let owner = Owner { holder: Holder::Site(Site(1)), made: Site(1) };
        for sample in 0..20_000 {
            let block = HeldBlock { owner, kind: Kind::Pageable, bytes: 1, address: 1, after: sample };
            steps = held.add(block, [sample; 3], &columns, |bytes| bytes + 1).clone();
            assert!(steps.steps.len() <= STEPS + 1);
        }
        assert_eq!(steps.now, 20_000);
    }
}
