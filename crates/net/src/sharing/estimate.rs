//! Notes in the trace, after passes, what sharing would save, or what it saves.
#![expect(unsafe_code, reason = "contents are read, and pthread_self is called")]

use std::cell::Cell;

use syncedmem_core::encoding::choose;
use syncedmem_core::waited::Waited;

use super::offsets::{Block, offsets};
use super::placing::{Placed, Size, Taken, blocks};
use crate::blob::Blob;
use crate::library::Figures;
use crate::net::Net;
use crate::{library, naming};

/// The plans of a net that does not share.
pub struct Estimate {
    /// The plan for `all`, a part of which `gradients` would share, too.
    all: Plan,
    /// The plan for `parked`. `None`: nothing can be parked, so it is that for `all`.
    parked: Option<Plan>,
    /// The outputs of layers without inputs.
    sources: Vec<Blob>,
    is_test: bool,
    /// Bytes of the memory in the plan when the estimate was last noted.
    noted: usize,
    /// Passes since the last object was constructed, and the number of objects.
    passes: (u64, u64),
}

pub struct Plan {
    placed: Vec<Placed>,
    /// Whether `gradients` would share each of these, too.
    with_gradients: Vec<bool>,
    /// The part of its bytes that each would take while it waits, by its contents after a forward pass. `None`: as the plan expects.
    taken: Vec<Option<f64>>,
}

impl Plan {
    pub fn of(plan: impl Iterator<Item = (Placed, bool)>) -> Plan {
        // An object that was touched while the net was made would not be shared.
        let is_shared = |placed: &Placed| placed.object().is_none_or(|object| !object.is_touched());
        let (placed, with_gradients): (Vec<Placed>, _) = plan.filter(|(placed, _)| is_shared(placed)).unzip();
        let taken = vec![None; placed.len()];
        Plan { placed, with_gradients, taken }
    }

    /// Reads the contents after a forward pass.
    fn measure(&mut self) {
        for (placed, taken) in self.placed.iter().zip(&mut self.taken).filter(|(placed, _)| placed.waits.is_some()) {
            *taken = part_taken(placed).or(*taken);
        }
    }

    fn is_measured(&self) -> bool {
        self.taken.iter().any(Option::is_some)
    }

    /// The sizes of each blob that is used, now and for twice the batch, by its contents where they were measured or else as expected.
    fn sizes(&self, items: u64, by_contents: bool) -> Vec<Option<[Size; 2]>> {
        let size = |(placed, part): (&Placed, &Option<f64>)| {
            let object = placed.object()?;
            let bytes = object.bytes().filter(|_| object.is_touched())?;
            let twice = if placed.grows && placed.blob.first_axis() == items { 2 } else { 1 };
            let expected = placed.waits.as_ref().map_or(Taken::Whole, |waits| waits.taken());
            Some([1, twice].map(|factor| {
                let taken = match (part.filter(|_| by_contents), expected) {
                    (Some(1.0..), _) | (None, Taken::Whole) => Taken::Whole,
                    (Some(part), _) => Taken::Bytes((part * (bytes * factor) as f64) as usize),
                    (None, Taken::Bytes(bytes)) => Taken::Bytes(bytes * factor),
                };
                Size { object, bytes: bytes * factor, taken }
            }))
        };
        self.placed.iter().zip(&self.taken).map(size).collect()
    }

    /// The bytes of all blobs, and those that they would need, now and with twice the batch; unless `is_whole`, of those alone that
    /// `gradients` would share.
    fn figures(&self, items: u64, is_whole: bool) -> [(usize, usize); 2] {
        let mut figures = [(0, 0); 2];
        // The first iteration has the plan for what is expected, and the pages that it touches stay.
        for by_contents in [false, true].into_iter().filter(|&by_contents| by_contents || self.is_measured()) {
            let sizes = self.sizes(items, by_contents);
            for (twice, (own, needed)) in figures.iter_mut().enumerate() {
                let size =
                    |at: usize| sizes[at].filter(|_| is_whole || self.with_gradients[at]).map(|sizes| sizes[twice]);
                let (blocks, objects) = blocks(&self.placed, size);
                let ends = offsets(&blocks).into_iter().zip(&blocks).map(|(at, block)| at + block.bytes);
                *needed = ends.max().unwrap_or(0).max(*needed);
                // An object with several blocks would have one without sharing.
                let mut is_counted = vec![false; blocks.len()];
                *own = 0;
                for (_, [first, _], _) in objects {
                    *own += if std::mem::replace(&mut is_counted[first], true) { 0 } else { blocks[first].bytes };
                }
            }
        }
        figures
    }
}

/// The part of its bytes that an object's contents would take while they wait. `None`: they are not at the host.
fn part_taken(placed: &Placed) -> Option<f64> {
    // SAFETY: the net's thread is at the end of a pass, and only that thread uses the net's objects.
    let sample = unsafe { placed.object()?.sample() }.filter(|sample| !sample.is_empty())?;
    let twins = || {
        // A blob that is made of others has them as its twins; a single one is compared.
        let [twin] = placed.twins[..] else { return Some(!placed.twins.is_empty()) };
        // SAFETY: the net's thread is at the end of a pass, and only that thread uses the net's objects.
        Some(unsafe { twin.memory()?[placed.part].sample() }.as_ref() == Some(&sample))
    };
    if twins() == Some(true) {
        return Some(0.0);
    }
    let words: usize = sample.iter().map(|part| part.len()).sum();
    let taken: usize = sample.iter().map(|part| choose(part).map_or(part.len(), |choice| choice.words)).sum();
    let part = taken as f64 / words.max(1) as f64;
    Some(if part > 0.8 { 1.0 } else { part })
}

impl Estimate {
    pub fn of(all: Plan, parked: Option<Plan>, sources: Vec<Blob>, is_test: bool) -> Estimate {
        Estimate { all, parked, sources, is_test, noted: 0, passes: (0, 0) }
    }

    /// The estimate after a pass; `None` if it has not changed.
    pub fn text(&mut self, net: Net, is_backward: bool) -> Option<String> {
        if is_backward && self.is_test {
            // A backward pass in phase TEST is an error with sharing, so nothing in this net can be shared.
            self.all.placed.clear();
            return (std::mem::replace(&mut self.noted, usize::MAX) != usize::MAX).then(|| self.line(net, 0));
        }
        // Later passes rarely touch more memory than the first two; an estimate after each would slow down small nets.
        let made = naming::count();
        self.passes = if self.passes.1 == made { (self.passes.0 + 1, made) } else { (1, made) };
        if !self.passes.0.is_power_of_two() {
            return None;
        }
        let items = naming::batch(&self.sources);
        let sizes = self.all.sizes(items, true);
        let all = own(&blocks(&self.all.placed, |at| sizes[at].map(|[now, _]| now)).0);
        if all <= self.noted {
            return None;
        }
        self.noted = all;
        if let Some(parked) = self.parked.as_mut().filter(|_| !is_backward) {
            parked.measure();
        }
        Some(self.line(net, items))
    }

    fn line(&self, net: Net, items: u64) -> String {
        let mut text = format!("\tsharing\t-\t{}\t{}\t{items}", net.address(), this_thread());
        let all = self.all.figures(items, true);
        let parked = self.parked.as_ref().map_or(all, |parked| parked.figures(items, true));
        for (own, needed) in [self.all.figures(items, false), all, parked].into_iter().flatten() {
            text += &format!("\t{own}\t{needed}");
        }
        text
    }
}

fn own(blocks: &[Block<'_>]) -> usize {
    blocks.iter().map(|block| block.bytes).sum()
}

/// Notes what sharing needed, if that has changed.
pub fn note_shared() -> Option<()> {
    thread_local! { static NOTED: Cell<Figures> = const { Cell::new(Figures::NONE) }; }
    let (figures, _) = library::figures();
    if NOTED.replace(figures) == figures {
        return None;
    }
    let Figures { sides, parked: Waited(ways) } = figures;
    let numbers = sides.into_iter().chain(ways).flatten();
    library::note(numbers.fold("\tshared\t-".to_owned(), |text, number| text + &format!("\t{number}")))
}

fn this_thread() -> usize {
    // SAFETY: pthread_self has no preconditions.
    unsafe { libc::pthread_self() as usize }
}
