//! After which call of which layer the contents of each blob are no longer needed. Pure: blobs are numbers.

use std::collections::{HashMap, HashSet};

use super::rules::{Alias, Internals, Rule, rule};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Data,
    Diff,
}

pub const PARTS: [Part; 2] = [Part::Data, Part::Diff];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The diffs of activations in training, and internal blobs in any phase.
    Gradients,
    /// The data of activations, too.
    All,
}

/// A call of a layer, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    Forward(usize),
    Backward(usize),
}

pub struct Layer<'a> {
    pub kind: &'a str,
    pub bottoms: Vec<usize>,
    /// Whether `Backward` writes the diff of each bottom.
    pub propagates: Vec<bool>,
    pub tops: Vec<usize>,
    /// The layer's blobs that are neither parameters nor tops.
    pub internals: Vec<usize>,
}

/// A blob's data or diff that is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    pub blob: usize,
    pub part: Part,
    pub layer: usize,
    /// After these calls the contents are no longer needed.
    pub ends: Vec<Call>,
    /// The call that is expected to write the contents first, for each of the ends.
    pub begins: Vec<Call>,
    /// The first of the blobs that have the same memory.
    pub group: usize,
}

#[derive(Default)]
pub struct Plan {
    pub shared: Vec<Shared>,
    /// Blobs whose data or diff is not shared, and the reason.
    pub excluded: Vec<(usize, &'static str)>,
}

#[derive(Default)]
struct Uses {
    producers: Vec<usize>,
    consumers: Vec<usize>,
    /// Whether a consumer does not write the diff, which must then stay zeros.
    lacks_gradient: bool,
    excluded: Option<&'static str>,
}

/// Sets of blobs that have the same memory: a blob's parent, up to a root.
#[derive(Default)]
struct Groups(HashMap<usize, usize>);

impl Groups {
    fn root(&self, mut blob: usize) -> usize {
        while let Some(&next) = self.0.get(&blob) {
            blob = next;
        }
        blob
    }

    /// `one` is the newer blob: so old blobs stay roots, and paths short.
    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.0.insert(one, other);
        }
    }
}

pub fn plan(layers: &[Layer<'_>], is_test: bool, mode: Mode, kept: &HashSet<usize>) -> Plan {
    let mut order = Vec::new();
    let mut uses: HashMap<usize, Uses> = HashMap::new();
    let mut groups = [Groups::default(), Groups::default()];
    let mut outputs = HashSet::new();
    for (number, layer) in layers.iter().enumerate() {
        for (at, &blob) in layer.bottoms.iter().enumerate() {
            let of_blob = uses.entry(blob).or_default();
            of_blob.consumers.push(number);
            of_blob.lacks_gradient |= !layer.propagates.get(at).is_some_and(|&does| does);
            outputs.remove(&blob);
        }
        for &blob in &layer.tops {
            let of_blob = uses.entry(blob).or_default();
            if of_blob.producers.is_empty() {
                order.push(blob);
            }
            of_blob.producers.push(number);
            outputs.insert(blob);
        }
        match rule(layer.kind) {
            Rule::Excludes(why) => {
                for blob in layer.bottoms.iter().chain(&layer.tops) {
                    uses.entry(*blob).or_default().excluded.get_or_insert(why);
                }
            }
            Rule::Shares(shares) => unite(layer, shares.alias, &mut groups),
        }
    }
    for (set, why) in [(&outputs, "an output of the net"), (kept, "listed in SYNCEDMEM_KEEP")] {
        for blob in set {
            if let Some(of_blob) = uses.get_mut(blob) {
                of_blob.excluded = Some(why);
            }
        }
    }
    let mut found = Plan::default();
    for part in PARTS {
        if !is_wanted(part, is_test, mode) {
            continue;
        }
        share_tops(part, is_test, &order, &uses, &groups[part as usize], &mut found);
    }
    for (number, layer) in layers.iter().enumerate() {
        share_internals(number, layer, is_test, kept, &mut found);
    }
    found
}

fn is_wanted(part: Part, is_test: bool, mode: Mode) -> bool {
    match part {
        Part::Data => mode == Mode::All,
        Part::Diff => !is_test,
    }
}

fn unite(layer: &Layer<'_>, alias: Alias, groups: &mut [Groups; 2]) {
    let is_one = layer.bottoms.len() == 1 && layer.tops.len() == 1;
    let [data, diff] = match alias {
        Alias::None => [false, false],
        Alias::Data => [true, false],
        Alias::DataAndDiff => [true, true],
        Alias::OfOne => [is_one, is_one],
    };
    for (&top, &bottom) in layer.tops.iter().zip(layer.bottoms.iter().cycle()) {
        for (groups, is_alias) in groups.iter_mut().zip([data, diff]) {
            if is_alias {
                groups.unite(top, bottom);
            }
        }
    }
}

fn share_tops(
    part: Part,
    is_test: bool,
    order: &[usize],
    uses: &HashMap<usize, Uses>,
    groups: &Groups,
    found: &mut Plan,
) {
    let mut by_root: HashMap<usize, Vec<usize>> = HashMap::new();
    // Blobs that layers make come first, in order.
    for blob in
        order.iter().chain(uses.iter().filter(|(_, of_blob)| of_blob.producers.is_empty()).map(|(blob, _)| blob))
    {
        by_root.entry(groups.root(*blob)).or_default().push(*blob);
    }
    for &blob in order {
        let group = &by_root[&groups.root(blob)];
        let of_group = || group.iter().map(|member| &uses[member]);
        if let Some(why) = of_group().find_map(|of_blob| of_blob.excluded) {
            found.excluded.push((blob, why));
            continue;
        }
        if part == Part::Diff && of_group().any(|of_blob| of_blob.lacks_gradient) {
            found.excluded.push((blob, "no layer writes its gradient"));
            continue;
        }
        let first = of_group().flat_map(|of_blob| &of_blob.producers).min();
        let consumers = || of_group().flat_map(|of_blob| &of_blob.consumers);
        let is_early = cfg!(syncedmem_fault = "contents die one layer too early");
        let last = if is_early { consumers().min() } else { consumers().max() };
        let begin = if part == Part::Data {
            first.map(|&layer| Call::Forward(layer))
        } else {
            last.map(|&layer| Call::Backward(layer))
        };
        let end =
            if is_test { last.map(|&layer| Call::Forward(layer)) } else { first.map(|&layer| Call::Backward(layer)) };
        let layer = uses[&blob].producers[0];
        found.shared.extend(begin.zip(end).map(|(begin, end)| Shared {
            blob,
            part,
            layer,
            ends: vec![end],
            begins: vec![begin],
            group: group[0],
        }));
    }
}

fn share_internals(number: usize, layer: &Layer<'_>, is_test: bool, kept: &HashSet<usize>, found: &mut Plan) {
    let Rule::Shares(shares) = rule(layer.kind) else { return };
    // A second top may have the memory of an internal blob (SoftmaxWithLoss).
    if shares.internals == Internals::Kept || layer.tops.len() != 1 {
        return;
    }
    let ends = match (shares.internals, is_test) {
        (_, true) => vec![Call::Forward(number)],
        (Internals::Scratch, _) => vec![Call::Forward(number), Call::Backward(number)],
        (_, false) => vec![Call::Backward(number)],
    };
    for &blob in layer.internals.iter().filter(|blob| !kept.contains(blob)) {
        found.shared.extend(PARTS.map(|part| {
            // `Forward` does not use the diffs.
            let lives_from_forward = shares.internals == Internals::UntilBackward && part == Part::Data;
            let begins = if lives_from_forward { vec![Call::Forward(number)] } else { ends.clone() };
            Shared { blob, part, layer: number, ends: ends.clone(), begins, group: blob }
        }));
    }
}

#[cfg(test)]
mod tests;
