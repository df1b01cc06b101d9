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
struct Block {
    owner: Owner,
    kind: Kind,
    bytes: u64,
    address: u64,
    /// The last sample of its kind before its allocation.
    after: u64,
}

impl Block {
    fn is_same(&self, other: &Block) -> bool {
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
    blocks: HashMap<(u64, usize), Block>,
    owners: HashMap<Owner, [Steps; 3]>,
}

impl Held {
    /// Takes over an object's blocks and holder from the ledger. `samples`: numbers of the last ones, by kind.
    pub fn follow(&mut self, address: u64, object: Option<&Object>, samples: [u64; 3], columns: &[Column]) {
        for side in [Side::Host, Side::Device] {
            let now = object.and_then(|object| Some((object, object.block(side)?))).map(|(object, block)| {
                let owner = Owner { holder: object.holder, made: object.made };
                let (kind, bytes, address) = (block.kind, block.bytes, block.address);
                Block { owner, kind, bytes, address, after: samples[kind as usize] }
            });
            let before = match now {
                Some(block) => self.blocks.insert((address, side as usize), block),
                None => self.blocks.remove(&(address, side as usize)),
            };
            match (before, now) {
                (Some(before), Some(now)) if before.is_same(&now) => {
                    let now = Block { after: before.after, ..now };
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

    fn add(&mut self, block: Block, samples: [u64; 3], columns: &[Column], change: impl Fn(u64) -> u64) -> &mut Steps {
        let steps = &mut self.owners.entry(block.owner).or_default()[block.kind as usize];
        steps.catch_up(samples[block.kind as usize]);
        steps.now = change(steps.now);
        if steps.steps.len() > STEPS {
            steps.prune(columns, block.kind);
        }
        steps
    }

    /// Moves a block as if its new owner had held it since its allocation, as the ledger does.
    fn pass_on(&mut self, block: Block, to: Owner, samples: [u64; 3], columns: &[Column]) {
        let kind = block.kind as usize;
        let counted = columns.get(columns.partition_point(|column| column.samples[kind] <= block.after));
        let (less, more) =
            (|bytes: u64| bytes.saturating_sub(block.bytes), |bytes: u64| bytes.saturating_add(block.bytes));
        let before = self.add(block, samples, columns, less);
        if let Some(column) = counted {
            before.change_from(column.samples[kind], less);
        }
        let after = self.add(Block { owner: to, ..block }, samples, columns, more);
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
    use crate::report::facts::Process;
    use crate::report::gather::Gathering;
    use crate::report::samples::at;
    use syncedmem_trace::event::{Event, Noticed, Origin, What};

    /// Numbers of the first and the last event at which it was held; and its owner's name or place.
    struct Life {
        kind: Kind,
        bytes: u64,
        first: usize,
        last: usize,
        who: String,
    }

    /// Made, named, filled and freed at random, with what a naive observer takes down.
    #[derive(Default)]
    struct Story {
        events: Vec<Event>,
        /// Number of the event before it, object and name.
        names: Vec<(usize, u64, String)>,
        lives: Vec<Life>,
        random: u64,
    }

    impl Story {
        fn of(events: usize, pause: u64) -> Story {
            let mut story = Story { random: 7, ..Story::default() };
            let mut open: HashMap<(u64, usize), usize> = HashMap::new();
            let mut made: HashMap<u64, String> = HashMap::new();
            while story.events.len() < events {
                let number = story.events.len();
                let (object, site) = (0x1000 + story.below(40) * 64, Site(1 + story.below(5) as u32));
                let kind = Kind::ALL[story.below(3) as usize];
                let side = kind.side() as usize;
                let is_free = !open.contains_key(&(object, side));
                let what = match story.below(8) {
                    0 if made.contains_key(&object) => {
                        let name = format!("name {}", story.below(6));
                        open.iter()
                            .filter(|((of, _), _)| *of == object)
                            .for_each(|(_, &life)| story.lives[life].who.clone_from(&name));
                        made.insert(object, name.clone());
                        story.names.push((number, object, name));
                        continue;
                    }
                    _ if !made.contains_key(&object) => {
                        made.insert(object, format!("place {}", site.0));
                        What::Made { bytes: 1, noticed: Noticed::Construction }
                    }
                    1..=4 if is_free => {
                        let bytes = 1 + story.below(900);
                        open.insert((object, side), story.lives.len());
                        let who = made[&object].clone();
                        story.lives.push(Life { kind, bytes, first: number, last: usize::MAX, who });
                        What::Allocated { kind, bytes, block: 1 + number as u64, origin: Origin::Fresh }
                    }
                    5..=6 if !is_free => {
                        let life = &mut story.lives[open[&(object, side)]];
                        if life.kind != kind {
                            continue;
                        }
                        open.remove(&(object, side));
                        life.last = number;
                        What::Freed { kind, bytes: life.bytes, block: 1 + life.first as u64 }
                    }
                    7 => {
                        made.remove(&object);
                        for side in 0..2 {
                            if let Some(life) = open.remove(&(object, side)) {
                                story.lives[life].last = number;
                            }
                        }
                        What::Ended
                    }
                    _ => continue,
                };
                let start = number as u64 * (1 + pause) + story.below(pause + 1);
                story.events.push(Event { object, site, ..at(start, 0, what) });
            }
            story
        }

        fn below(&mut self, end: u64) -> u64 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.random >> 33) % end
        }

        fn gathered(&self) -> Process {
            let mut gathering = Gathering::default();
            let mut names = self.names.iter().peekable();
            for (number, event) in self.events.iter().enumerate() {
                while let Some((_, object, name)) = names.next_if(|(before, ..)| *before <= number) {
                    gathering.name(*object, name);
                }
                gathering.take(event);
            }
            names.for_each(|(_, object, name)| gathering.name(*object, name));
            gathering.finish(1, String::new(), (1..=5).map(|n| (Site(n), format!("place {n}"))).collect())
        }

        /// By owner, after the event of that number.
        fn held(&self, kind: Kind, event: usize) -> HashMap<&str, u64> {
            let mut held = HashMap::new();
            for life in self.lives.iter().filter(|life| life.kind == kind && life.first <= event && event < life.last) {
                *held.entry(life.who.as_str()).or_default() += life.bytes;
            }
            held
        }

        /// After which most was held in a stretch of time, the first of them; `None` if that was before all events.
        fn greatest(&self, kind: Kind, from: u64, to: u64) -> Option<usize> {
            let origin = self.events[0].start;
            let since = |event: &Event| event.start - origin;
            let first = self.events.partition_point(|event| since(event) < from);
            let last = self.events.partition_point(|event| since(event) < to);
            let moments = (first as isize - 1).max(0) as usize..last;
            let bytes = |event: usize| self.held(kind, event).values().sum::<u64>();
            let from_nothing = first == 0;
            let greatest = moments.rev().max_by_key(|&event| bytes(event))?;
            if from_nothing && bytes(greatest) == 0 { None } else { Some(greatest) }
        }
    }

    fn check(story: &Story, at_most: usize) {
        let process = story.gathered();
        let (columns, width) = process.timeline.in_columns(at_most);
        for kind in Kind::ALL {
            for (number, column) in columns.iter().enumerate() {
                let (from, to) = (number as u64 * width, (number as u64 + 1) * width);
                let right = story.greatest(kind, from, to).map(|event| story.held(kind, event)).unwrap_or_default();
                let mut told: HashMap<&str, u64> = HashMap::new();
                for part in &process.parts {
                    let bytes = part.held[kind as usize].at(column.samples[kind as usize]);
                    if bytes > 0 {
                        *told.entry(part.who()).or_default() += bytes;
                    }
                }
                assert_eq!(told, right, "{kind:?}, column {number}");
                assert_eq!(told.values().sum::<u64>(), column.most[kind as usize]);
            }
            let peak = columns.iter().max_by_key(|column| column.most[kind as usize]).expect("a column");
            for holder in &process.holders {
                let parts = process.parts.iter().filter(|part| part.who() == holder.who);
                let bytes: u64 = parts.map(|part| part.held[kind as usize].at(peak.samples[kind as usize])).sum();
                if columns.iter().filter(|column| column.most[kind as usize] == peak.most[kind as usize]).count() == 1 {
                    assert_eq!(bytes, holder.at_peak[kind as usize], "{}", holder.who);
                }
            }
        }
    }

    #[test]
    fn each_column_shows_who_held_what_at_its_greatest_moment() {
        for (events, pause, at_most) in [(1, 0, 9), (60, 0, 1024), (300, 3, 1024), (600, 2, 40), (700, 11, 100)] {
            check(&Story::of(events, pause), at_most);
        }
    }

    #[test]
    fn an_owner_that_changes_all_the_time_has_a_bounded_number_of_steps() {
        let (mut steps, columns) = (Steps::default(), [Column { samples: [9; 3], ..Column::default() }]);
        let mut held = Held::default();
        let owner = Owner { holder: Holder::Site(Site(1)), made: Site(1) };
        for sample in 0..20_000 {
            let block = Block { owner, kind: Kind::Pageable, bytes: 1, address: 1, after: sample };
            steps = held.add(block, [sample; 3], &columns, |bytes| bytes + 1).clone();
            assert!(steps.steps.len() <= STEPS + 1);
        }
        assert_eq!(steps.now, 20_000);
    }
}
