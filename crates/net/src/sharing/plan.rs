//! The calls of layers after which the contents of each blob are no longer needed, or wait. Pure: blobs are numbers.

use std::collections::{HashMap, HashSet};

use super::rules::{Alias, Form, Internals, Rule, Zeros, reads, rule, zeros};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Data,
    Diff,
}

pub const PARTS: [Part; 2] = [Part::Data, Part::Diff];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The diffs of activations in training, and internal blobs in any phase.
    Gradients,
    /// The data of activations, too.
    All,
    /// And what waits in training is parked.
    Parked,
}

/// A call of a layer, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    Forward(usize),
    Backward(usize),
}

pub struct Layer<'a> {
    pub kind: &'a str,
    pub form: Form,
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
    /// The calls from the first to the last one that uses the block, for each time in which the contents are needed.
    pub lives: Vec<(Call, Call)>,
    /// Whether the contents of the first life are those of the second one: they wait in between.
    pub waits: bool,
    pub expected: Expected,
    /// The first of the blobs that have the same memory.
    pub group: usize,
}

/// What contents that wait are expected to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Not worth encoding.
    Dense,
    /// Encoded, in so many percent of their bytes.
    Percent(usize),
    /// The data of the last of these blobs that has as many bytes.
    TwinOf(Vec<usize>),
    /// The data of these blobs, one after the other in each row.
    Rows(Vec<usize>),
    /// The deviations of a BatchNorm layer, or its output: the first and the second internal blob with the bytes of its bottom.
    OfBatchNorm,
}

/// Percent of their bytes that contents with many zeros are expected to take.
const WITH_ZEROS: usize = 65;

impl Shared {
    /// The calls after which the contents are no longer needed.
    pub fn ends(&self) -> impl Iterator<Item = Call> {
        let skipped = usize::from(self.waits);
        self.lives.iter().skip(skipped).map(|&(_, last)| last)
    }
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
        share_tops(part, is_test, mode, layers, &order, &uses, &groups[part as usize], &mut found);
    }
    for number in 0..layers.len() {
        share_internals(number, layers, is_test, mode, kept, &mut found);
    }
    found
}

fn is_wanted(part: Part, is_test: bool, mode: Mode) -> bool {
    match part {
        Part::Data => mode >= Mode::All,
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

#[expect(clippy::too_many_arguments, reason = "one pass of `plan`")]
fn share_tops(
    part: Part,
    is_test: bool,
    mode: Mode,
    layers: &[Layer<'_>],
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
        let first = of_group().flat_map(|of_blob| &of_blob.producers).min().copied();
        let consumers = || of_group().flat_map(|of_blob| &of_blob.consumers).copied();
        let is_early = cfg!(syncedmem_fault = "contents die one layer too early");
        let last = if is_early { consumers().min() } else { consumers().max() };
        let (Some(first), Some(last)) = (first, last) else { continue };
        let in_forward = (Call::Forward(first), Call::Forward(last));
        let (lives, waits) = match part {
            Part::Data if is_test => (vec![in_forward], false),
            Part::Diff => (vec![(Call::Backward(last), Call::Backward(first))], false),
            Part::Data => {
                let is_in = |blobs: &[usize], from: usize| blobs.iter().skip(from).any(|blob| group.contains(blob));
                let reads = |layer: usize| {
                    let Layer { kind, form, bottoms, tops, .. } = &layers[layer];
                    let reads = reads(kind, *form);
                    is_in(bottoms, reads.bottoms_from) || reads.tops && is_in(tops, 0)
                };
                let readers = || consumers().chain(writers(group, uses)).filter(|&layer| reads(layer));
                // `Backward` calls the layers in the reverse order.
                let first_read = readers().max();
                let is_early = cfg!(syncedmem_fault = "contents die after their first reader in Backward");
                match (first_read, if is_early { first_read } else { readers().min() }) {
                    (Some(begin), Some(end)) if mode == Mode::Parked && is_worth(last, begin, layers.len()) => {
                        (vec![in_forward, (Call::Backward(begin), Call::Backward(end))], true)
                    }
                    (Some(_), Some(end)) => (vec![(in_forward.0, Call::Backward(end))], false),
                    _ => (vec![in_forward], false),
                }
            }
        };
        let expected = if waits { expected_of_data(group, uses, layers) } else { Expected::Dense };
        let layer = uses[&blob].producers[0];
        found.shared.push(Shared { blob, part, layer, lives, waits, expected, group: group[0] });
    }
}

/// Whether several calls come between the last use in `Forward` and the first one in `Backward`.
fn is_worth(last: usize, begin: usize, layers: usize) -> bool {
    (layers - 1 - last) + (layers - 1 - begin) >= 2
}

/// The layers that write the data of a group.
fn writers(group: &[usize], uses: &HashMap<usize, Uses>) -> impl Iterator<Item = usize> {
    group.iter().flat_map(|blob| &uses[blob].producers).copied()
}

fn expected_of_data(group: &[usize], uses: &HashMap<usize, Uses>, layers: &[Layer<'_>]) -> Expected {
    match last_writer(group, uses, layers) {
        Some(layer) if layer.kind == "Concat" => Expected::Rows(layer.bottoms.clone()),
        _ if has_zeros(group, uses, layers) => Expected::Percent(WITH_ZEROS),
        _ => Expected::Dense,
    }
}

fn has_zeros(group: &[usize], uses: &HashMap<usize, Uses>, layers: &[Layer<'_>]) -> bool {
    last_writer(group, uses, layers).is_some_and(|last| match zeros(last.kind) {
        Zeros::Many => true,
        Zeros::Few => false,
        Zeros::AsBottoms => last.bottoms.iter().all(|&bottom| has_zeros(&[bottom], uses, layers)),
    })
}

/// The last layer that computes the data of a group. A layer like Split has the group's memory as its bottom and its top.
fn last_writer<'l>(group: &[usize], uses: &HashMap<usize, Uses>, layers: &'l [Layer<'_>]) -> Option<&'l Layer<'l>> {
    let is_from_group = |layer: &Layer<'_>| layer.bottoms.iter().any(|bottom| group.contains(bottom));
    let computes = |&layer: &usize| zeros(layers[layer].kind) != Zeros::AsBottoms || !is_from_group(&layers[layer]);
    writers(group, uses).filter(computes).max().map(|layer| &layers[layer])
}

fn share_internals(
    number: usize,
    layers: &[Layer<'_>],
    is_test: bool,
    mode: Mode,
    kept: &HashSet<usize>,
    found: &mut Plan,
) {
    let layer = &layers[number];
    let Rule::Shares(shares) = rule(layer.kind) else { return };
    // A second top may have the memory of an internal blob (SoftmaxWithLoss).
    if shares.internals == Internals::Kept || layer.tops.len() != 1 {
        return;
    }
    let (forward, backward) = (Call::Forward(number), Call::Backward(number));
    let parks = mode == Mode::Parked && is_worth(number, number, layers.len());
    for &blob in layer.internals.iter().filter(|blob| !kept.contains(blob)) {
        found.shared.extend(PARTS.map(|part| {
            // `Forward` does not use the diffs.
            let until_backward = shares.internals == Internals::UntilBackward;
            let lives_from_forward = until_backward && part == Part::Data;
            let waits = lives_from_forward && parks && !is_test;
            let lives = match () {
                () if is_test => vec![(forward, forward)],
                () if lives_from_forward && !waits => vec![(forward, backward)],
                () if until_backward && part == Part::Diff => vec![(backward, backward)],
                () => vec![(forward, forward), (backward, backward)],
            };
            let expected = if waits { expected_of_internal(number, layers) } else { Expected::Dense };
            Shared { blob, part, layer: number, lives, waits, expected, group: blob }
        }));
    }
}

fn expected_of_internal(number: usize, layers: &[Layer<'_>]) -> Expected {
    let layer = &layers[number];
    match layer.kind {
        "BatchNorm" => Expected::OfBatchNorm,
        // A mask, and the numbers of the largest values.
        "Dropout" => Expected::Percent(10),
        "Pooling" => Expected::Percent(45),
        // In place it copies its bottom, of which a BatchNorm before it has a copy, too.
        "Scale" if layer.form.is_in_place => {
            let before = layers[..number].iter().rev().find(|before| before.tops.first() == layer.bottoms.first());
            let twins = before.filter(|before| before.kind == "BatchNorm").map(|before| before.internals.clone());
            twins.map_or(Expected::Dense, Expected::TwinOf)
        }
        _ => Expected::Dense,
    }
}

#[cfg(test)]
mod tests;
