//! Memory of the arenas that was in use while each layer was executed, in a run that shared memory.

use std::collections::HashMap;

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Origin, What};
use syncedmem_trace_reader::ledger::{Holder, Ledger};

use super::rows::by_name;

/// One layer's `Forward` or `Backward`, at the moment when most of its thread's arena was in use. If several threads execute
/// it, the thread with the fullest arena counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// `forward`, `backward` or `test`.
    pub pass: &'static str,
    pub layer: String,
    /// Holders and their bytes, by kind.
    pub in_use: [Vec<(String, u64)>; 3],
}

impl Step {
    pub fn bytes(&self, kind: Kind) -> u64 {
        self.in_use[kind as usize].iter().map(|(_, bytes)| bytes).sum()
    }
}

#[derive(Default)]
pub struct Arenas {
    nets: Vec<Net>,
    /// The step that each thread executes.
    executing: HashMap<u32, u64>,
    /// Blocks in use, by the address of the object.
    in_use: HashMap<(u64, Kind), InUse>,
    /// Bytes in use, by thread.
    sums: HashMap<(u32, Kind), u64>,
    most: HashMap<(u64, Kind), Most>,
}

struct Net {
    first: u64,
    is_test: bool,
    layers: Vec<String>,
}

struct InUse {
    thread: u32,
    holder: Holder,
    bytes: u64,
}

#[derive(Default)]
struct Most {
    sum: u64,
    holders: Vec<(Holder, u64)>,
}

impl Arenas {
    /// Takes the steps of a net, as libsyncedmem_net.so notes them. Returns whether the text was such a note.
    pub fn net(&mut self, text: &str) -> bool {
        let Some(text) = text.strip_prefix("\tsteps\t-\t") else { return false };
        let mut words = text.split('\t');
        let first = words.next().and_then(|word| word.parse().ok());
        let is_test = words.next() == Some("test");
        let is_new = |first: &u64| self.nets.iter().all(|net| net.first != *first);
        if let Some(first) = first.filter(is_new) {
            self.nets.push(Net { first, is_test, layers: words.map(str::to_string).collect() });
        }
        true
    }

    pub fn step(&mut self, thread: u32, step: u64) {
        self.executing.insert(thread, step);
        Kind::ALL.into_iter().for_each(|kind| self.note(thread, kind));
    }

    /// Takes the next event. `ledger` is the state after it.
    pub fn take(&mut self, event: &Event, ledger: &Ledger) {
        let &Event { thread, object, what, .. } = event;
        match what {
            What::Allocated { kind, bytes, origin: Origin::Arena, .. } => {
                self.end(object, kind);
                let holder = ledger.object(object).map_or(Holder::Site(event.site), |object| object.holder);
                self.in_use.insert((object, kind), InUse { thread, holder, bytes });
                *self.sums.entry((thread, kind)).or_default() += bytes;
                self.note(thread, kind);
            }
            What::Freed { kind, .. } => self.end(object, kind),
            _ => {}
        }
    }

    fn end(&mut self, object: u64, kind: Kind) {
        if let Some(InUse { thread, bytes, .. }) = self.in_use.remove(&(object, kind)) {
            *self.sums.entry((thread, kind)).or_default() -= bytes;
        }
    }

    /// Keeps what is in use now, if that is the most in the step.
    fn note(&mut self, thread: u32, kind: Kind) {
        let Some(&step) = self.executing.get(&thread) else { return };
        let sum = self.sums.get(&(thread, kind)).copied().unwrap_or(0);
        let most = self.most.entry((step, kind)).or_default();
        if sum > most.sum {
            let here = self.in_use.iter().filter(|((_, of), in_use)| *of == kind && in_use.thread == thread);
            *most = Most { sum, holders: here.map(|(_, in_use)| (in_use.holder, in_use.bytes)).collect() };
        }
    }

    /// Returns the steps in the order of a pass, net by net.
    pub fn finish(&self, who: impl Fn(Holder) -> String) -> Vec<Step> {
        let in_use = |step: u64, kind: Kind| {
            let holders = self.most.get(&(step, kind)).into_iter().flat_map(|most| &most.holders);
            by_name(holders.map(|&(holder, bytes)| (who(holder), bytes)))
        };
        let of_net = |net: &Net| {
            let forward = if net.is_test { "test" } else { "forward" };
            let both = net.layers.iter().map(|layer| (forward, layer));
            let both: Vec<_> = both.chain(net.layers.iter().rev().map(|layer| ("backward", layer))).collect();
            let executed =
                both.into_iter().zip(net.first..).filter(|&(_, step)| self.most.contains_key(&(step, Kind::Pageable)));
            let step = |((pass, layer), step): ((&'static str, &String), u64)| Step {
                pass,
                layer: layer.clone(),
                in_use: Kind::ALL.map(|kind| in_use(step, kind)),
            };
            executed.map(step).collect::<Vec<_>>()
        };
        self.nets.iter().flat_map(of_net).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather::Gathering;
    use super::super::samples::{at, freed};
    use super::*;

    #[test]
    fn a_step_has_the_most_that_was_in_use_in_any_pass() {
        let mut gathering = Gathering::default();
        gathering.net("\tsteps\t-\t100\ttrain\tconv\trelu\tloss");
        let in_use = |object, bytes| {
            let what = What::Allocated { kind: Kind::Pageable, bytes, block: 0x10_0000, origin: Origin::Arena };
            Event { object, ..at(1, 0, what) }
        };
        for bytes in [64, 32] {
            gathering.step(1, 100);
            gathering.take(&in_use(1, bytes));
            gathering.take(&in_use(2, 8));
            gathering.step(1, 101);
            gathering.take(&Event { object: 2, ..at(1, 0, freed(Kind::Pageable, 8)) });
            gathering.step(1, 105);
            gathering.take(&in_use(3, 1));
            for (object, bytes) in [(1, bytes), (3, 1)] {
                gathering.take(&Event { object, ..at(1, 0, freed(Kind::Pageable, bytes)) });
            }
        }
        gathering.name(1, "conv output");
        let process = gathering.finish(1, String::new(), HashMap::new());
        let shown: Vec<_> =
            process.arena.iter().map(|step| (step.pass, &*step.layer, step.bytes(Kind::Pageable))).collect();
        assert_eq!(shown, [("forward", "conv", 72), ("forward", "relu", 72), ("backward", "conv", 65)]);
    }
}
