//! Who held memory over time: for each column of the timeline, what each owner held when the memory of that kind was
//! first greatest in it. The values of all owners add up to that maximum.
//!
//! The timeline numbers these moments (*samples*, by kind). An owner's values are steps: a sample's number, and the
//! bytes from there on. So a joined column keeps one of two samples, without a look at the owners.

use std::collections::HashMap;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::Site;
use syncedmem_trace_reader::ledger::{Holder, Object};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldBlock {
    owner: Owner,
    kind: Kind,
    bytes: u64,
    address: u64,
    /// The last sample of its kind before its allocation.
    after: u64,
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
            let key = (address, side as usize);
            let before = self.blocks.remove(&key);
            let now = object.and_then(|object| Some((object, object.block(side)?))).map(|(object, block)| {
                let owner = Owner { holder: object.holder, made: object.made };
                let (kind, bytes, address) = (block.kind, block.bytes, block.address);
                let was = before.filter(|was| (was.kind, was.bytes, was.address) == (kind, bytes, address));
                HeldBlock { owner, kind, bytes, address, after: was.map_or(samples[kind as usize], |was| was.after) }
            });
            self.blocks.extend(now.map(|now| (key, now)));
            if before == now {
                continue;
            }
            // A block that another owner gets counts as if that one had held it since its allocation, as in the ledger.
            let is_moved = before.zip(now).is_some_and(|(before, now)| HeldBlock { owner: now.owner, ..before } == now);
            let changes = [(before, u64::saturating_sub as fn(u64, u64) -> u64), (now, u64::saturating_add)];
            for (block, change) in changes.into_iter().filter_map(|(block, change)| Some((block?, change))) {
                self.change(block, is_moved, samples, columns, change);
            }
        }
    }

    /// From now on, or since the block's allocation.
    fn change(
        &mut self,
        block: HeldBlock,
        since: bool,
        samples: [u64; 3],
        columns: &[Column],
        change: fn(u64, u64) -> u64,
    ) {
        let kind = block.kind as usize;
        let steps = &mut self.owners.entry(block.owner).or_default()[kind];
        steps.catch_up(samples[kind]);
        steps.now = change(steps.now, block.bytes);
        let first = columns.partition_point(|column| column.samples[kind] <= block.after);
        if let Some(column) = columns.get(first).filter(|_| since) {
            steps.change_from(column.samples[kind], |bytes| change(bytes, block.bytes));
        }
        if steps.steps.len() > STEPS {
            steps.prune(columns, block.kind);
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
        let (mut held, columns) = (Held::default(), [Column { samples: [9; 3], ..Column::default() }]);
        let owner = Owner { holder: Holder::Site(Site(1)), made: Site(1) };
        for sample in 0..20_000 {
            let block = HeldBlock { owner, kind: Kind::Pageable, bytes: 1, address: 1, after: sample };
            held.change(block, false, [sample; 3], &columns, u64::saturating_add);
            assert!(held.owners[&owner][0].steps.len() <= STEPS + 1);
        }
        assert_eq!(held.owners[&owner][0].now, 20_000);
    }
}
