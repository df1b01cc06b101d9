//! Memory by the layers of nets and by role: groups of holders, and advice about layers that could be in place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::in_place::{self, Layer, chains};
use Role::*;
use syncedmem_core::kind::Kind;

use super::rows::{HolderRow, InPlace};
use super::sharing::Sharing;

pub const NO_LAYER: &str = "without a layer's name";
pub const NO_TYPE: &str = "of an unknown type";

#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub sharing: Sharing,
    nets: Vec<Vec<Layer>>,
    /// The texts of the nets: a program may make a net many times.
    texts: HashSet<String>,
    /// The types of layers by their names.
    kinds: HashMap<String, String>,
}

/// The memory of layers of one type, or of layers whose names begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    /// Number of layers; 0: memory that belongs to no layer.
    pub layers: usize,
    /// Bytes at the peak of each kind.
    pub at_peak: [u64; 3],
}

impl Group {
    fn of<'h>(name: String, layers: impl IntoIterator<Item = &'h [u64; 3]>) -> Group {
        let mut group = Group { name, layers: 0, at_peak: [0; 3] };
        layers.into_iter().for_each(|layer| group.add(layer));
        group
    }

    fn add(&mut self, layer: &[u64; 3]) {
        self.layers += 1;
        self.at_peak = sum(self.at_peak, *layer);
    }

    /// `BatchNorm, 53 layers`
    pub fn words(&self) -> String {
        match self.layers {
            0 => self.name.clone(),
            1 => format!("{}, 1 layer", self.name),
            layers => format!("{}, {layers} layers", self.name),
        }
    }
}

impl Layers {
    pub fn take(&mut self, text: &str) {
        if self.sharing.take(text) {
            return;
        }
        if self.texts.insert(text.to_string()) {
            let layers = in_place::layers(text);
            self.kinds.extend(layers.iter().map(|layer| (layer.name.clone(), layer.kind.clone())));
            self.nets.push(layers);
        }
    }

    /// The type of a layer; `None` if it is not known.
    pub fn kind(&self, layer: &str) -> Option<&str> {
        self.kinds.get(layer).map(String::as_str).filter(|kind| !kind.is_empty())
    }

    /// Groups by type, the largest first; empty if no net was recorded.
    pub fn by_type(&self, holders: &[HolderRow]) -> Vec<Group> {
        if self.nets.is_empty() {
            return Vec::new();
        }
        let (layers, others) = by_layer(holders);
        let mut kinds: BTreeMap<&str, Group> = BTreeMap::new();
        for (layer, at_peak) in &layers {
            let kind = self.kind(layer).unwrap_or(NO_TYPE);
            kinds.entry(kind).or_insert_with(|| Group::of(kind.to_string(), [])).add(at_peak);
        }
        let mut groups: Vec<_> = kinds.into_values().collect();
        groups.sort_by_key(|group| Reverse(group.at_peak.iter().max().copied()));
        groups.extend(without_layer(others));
        groups
    }

    /// Returns the blobs whose memory layers could write over, the largest saving first.
    pub fn in_place(&self, holders: &[HolderRow]) -> Vec<InPlace> {
        let at_peak: HashMap<&str, [u64; 3]> =
            holders.iter().map(|holder| (holder.who.as_str(), holder.at_peak)).collect();
        let held =
            |layer: &str, what: &str| at_peak.get(format!("{layer} {what}").as_str()).copied().unwrap_or_default();
        let of_chain = |chain: &in_place::Chain| {
            let mut gradient = held(&chain.maker, "output gradient");
            let mut saved = [0; 3];
            for (layer, _, saves) in &chain.layers {
                let (data, own) = (held(layer, "output"), held(layer, "output gradient"));
                for kind in 0..3 {
                    saved[kind] += saves.bytes(data[kind], own[kind], gradient[kind]);
                    gradient[kind] = gradient[kind].max(own[kind]);
                }
            }
            let device = saved[Kind::Device as usize];
            // Device memory is scarcer.
            let bytes = if device > 0 { device } else { saved.iter().sum() };
            let listed = |of: fn(&(String, String, in_place::Saved)) -> String| {
                chain.layers.iter().map(of).collect::<Vec<_>>().join(", ")
            };
            InPlace {
                layers: listed(|(name, ..)| name.clone()),
                change: format!("write \"{}\" for {}", chain.blob, listed(|(_, top, _)| format!("\"{top}\""))),
                count: chain.layers.len() as u64,
                bytes,
            }
        };
        let mut all: Vec<_> = chains(&self.nets).iter().map(of_chain).filter(|place| place.bytes > 0).collect();
        all.sort_by_key(|place| Reverse(place.bytes));
        all
    }
}

/// Memory by role, in the order of [`Role::ALL`]; empty if no holder's name contains a role.
pub fn by_role(holders: &[HolderRow]) -> Vec<(&'static str, [u64; 3])> {
    let of = |role: Option<Role>| {
        let held = holders.iter().filter(|holder| Role::of_name(&holder.who) == role);
        (role.map_or(NO_LAYER, Role::name), held.fold([0; 3], |all, holder| sum(all, holder.at_peak)))
    };
    let mut roles: Vec<_> = Role::ALL.map(Some).into_iter().chain([None]).map(of).collect();
    roles.retain(|(_, at_peak)| *at_peak != [0; 3]);
    if roles.iter().all(|(role, _)| *role == NO_LAYER) { Vec::new() } else { roles }
}

/// Groups of layers whose names begin alike, the largest first; empty if no holder has the name of a layer.
pub fn by_name(holders: &[HolderRow]) -> Vec<Group> {
    let (layers, others) = by_layer(holders);
    let group = |Beginning { text, layers, .. }: Beginning| {
        let more = if layers.len() > 1 { "…" } else { "" };
        Group::of(format!("{text}{more}"), layers.iter().map(|(_, bytes)| bytes))
    };
    let mut groups: Vec<_> = by_beginning(layers.into_iter().collect()).into_iter().map(group).collect();
    if !groups.is_empty() {
        groups.extend(without_layer(others));
    }
    groups
}

fn without_layer(at_peak: [u64; 3]) -> Option<Group> {
    let name = NO_LAYER.to_string();
    (at_peak != [0; 3]).then_some(Group { name, layers: 0, at_peak })
}

/// Bytes of each layer, and of the holders that belong to none.
fn by_layer(holders: &[HolderRow]) -> (BTreeMap<&str, [u64; 3]>, [u64; 3]) {
    let (mut layers, mut others) = (BTreeMap::new(), [0; 3]);
    for HolderRow { who, at_peak, .. } in holders.iter().filter(|holder| holder.at_peak != [0; 3]) {
        let layer = Role::of_layer(who).map(|(layer, _)| layers.entry(layer).or_default());
        let all = layer.unwrap_or(&mut others);
        *all = sum(*all, *at_peak);
    }
    (layers, others)
}

fn sum(one: [u64; 3], other: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|kind| one[kind].saturating_add(other[kind]))
}

/// Number of groups that hold at least 1 % of the whole.
const GROUPS: usize = 10;
/// A group is divided only if it holds more than a quarter of the whole.
const LARGE: u64 = 4;

/// Layers whose names begin with this text, and their memory.
struct Beginning<'n> {
    text: &'n str,
    bytes: u64,
    layers: Vec<(&'n str, [u64; 3])>,
}

/// Groups layers by the beginnings of their names (`res4`, `inception_3a`), the group with the most bytes first. Large groups
/// are divided where letters, digits and other characters meet, as long as there are few groups.
fn by_beginning<'n>(layers: Vec<(&'n str, [u64; 3])>) -> Vec<Beginning<'n>> {
    let all: u64 = layers.iter().map(|(_, bytes)| bytes.iter().sum::<u64>()).sum();
    let is_large = |group: &Beginning| group.bytes.saturating_mul(LARGE) > all;
    let count = |groups: &[Beginning]| groups.iter().filter(|group| group.bytes.saturating_mul(100) >= all).count();
    let (_, parts) = divided(Beginning { text: "", bytes: all, layers });
    let (mut large, mut small): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_large);
    let mut done = Vec::new();
    while let Some(largest) = (0..large.len()).max_by_key(|&at| large[at].bytes) {
        let (group, parts) = divided(large.swap_remove(largest));
        if parts.len() > 1 && count(&large) + count(&small) + count(&done) + count(&parts) <= GROUPS {
            let (larger, smaller): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_large);
            large.extend(larger);
            small.extend(smaller);
        } else {
            done.push(group);
        }
    }
    done.extend(small.into_iter().map(|group| divided(group).0));
    done.sort_by_key(|group| (Reverse(group.bytes), group.text));
    done
}

/// Extends the beginning of a group to all that its names have in common. Returns the group, and its parts.
fn divided<'n>(mut group: Beginning<'n>) -> (Beginning<'n>, Vec<Beginning<'n>>) {
    loop {
        let mut parts: BTreeMap<&str, Beginning> = BTreeMap::new();
        for &(name, bytes) in &group.layers {
            let text = &name[..end_of_word(name, group.text.len())];
            let part = parts.entry(text).or_insert(Beginning { text, bytes: 0, layers: Vec::new() });
            part.bytes = part.bytes.saturating_add(bytes.iter().sum());
            part.layers.push((name, bytes));
        }
        match parts.first_key_value() {
            Some((only, _)) if parts.len() == 1 && only.len() > group.text.len() => group.text = only,
            _ => return (group, parts.into_values().collect()),
        }
    }
}

/// The end of the letters, the digits or the one other character at `from`.
fn end_of_word(name: &str, from: usize) -> usize {
    let sort = |letter: char| (letter.is_alphabetic(), letter.is_numeric());
    let rest = &name[from..];
    let Some(first) = rest.chars().next() else { return from };
    let is_other =
        |(at, letter): &(usize, char)| *at > 0 && (sort(*letter) != sort(first) || sort(first) == (false, false));
    from + rest.char_indices().find(is_other).map_or(rest.len(), |(at, _)| at)
}

/// The role of memory, read from the names that libsyncedmem_net.so gives: `fc6 weights gradient`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Data,
    Activations,
    ActivationGradients,
    Weights,
    WeightGradients,
    SolverHistory,
    /// Memory inside a layer: neither parameters nor outputs.
    Internal,
}

impl Role {
    pub const ALL: [Role; 7] =
        [Data, Activations, ActivationGradients, Weights, WeightGradients, SolverHistory, Internal];

    pub fn name(self) -> &'static str {
        match self {
            Data => "data",
            Activations => "activations",
            ActivationGradients => "gradients of activations",
            Weights => "weights",
            WeightGradients => "gradients of weights",
            SolverHistory => "solver history",
            Internal => "inside layers",
        }
    }

    pub fn of_name(name: &str) -> Option<Role> {
        Role::of_layer(name).map(|(_, role)| role)
    }

    /// Returns the layer and the role that a name contains.
    pub fn of_layer(name: &str) -> Option<(&str, Role)> {
        let (of, is_gradient) = name.strip_suffix(" gradient").map_or((name, false), |of| (of, true));
        // Parameters from the third on are numbered, and outputs of a layer with several outputs.
        let of = of.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end();
        let (layer, word) = of.rsplit_once(' ')?;
        let role = match (word, is_gradient) {
            ("weights" | "bias" | "parameter", false) => Weights,
            ("weights" | "bias" | "parameter", true) => WeightGradients,
            ("output", false) => Activations,
            // Caffe does not use the diff of a data layer: it has memory only if the next layer fills it.
            ("output" | "data", true) => ActivationGradients,
            ("data", false) => Data,
            ("history", false) => SolverHistory,
            ("internal", false) => Internal,
            _ => return None,
        };
        // The history of a solver belongs to a parameter.
        let layer = if role == SolverHistory { Role::of_layer(layer).map_or(layer, |(layer, _)| layer) } else { layer };
        Some((layer, role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(names: &[(&str, u64)]) -> Vec<String> {
        let groups = by_beginning(names.iter().map(|&(name, bytes)| (name, [bytes, 0, 0])).collect());
        groups.iter().map(|group| format!("{} {}", group.text, group.layers.len())).collect()
    }

    #[test]
    fn the_largest_group_is_divided_where_its_names_differ() {
        let names: Vec<String> = (2..6)
            .flat_map(|stage| ["a", "b", "c"].map(|block| (stage, block)))
            .flat_map(|(stage, block)| ["_branch1", "_branch2a"].map(|branch| format!("res{stage}{block}{branch}")))
            .collect();
        let mut names: Vec<_> = names.iter().map(|name| (name.as_str(), 10)).collect();
        names.push(("conv1", 1));
        assert_eq!(grouped(&names), ["res2 6", "res3 6", "res4 6", "res5 6", "conv1 1"]);
    }

    #[test]
    fn few_layers_are_a_group_each() {
        assert_eq!(grouped(&[("conv1", 5), ("conv2", 7), ("ip é", 3)]), ["conv2 1", "conv1 1", "ip é 1"]);
        assert_eq!(grouped(&[("a", 1), ("a", 1)]), ["a 2"]);
        assert!(grouped(&[]).is_empty());
    }

    #[test]
    fn many_layers_without_a_common_beginning_are_a_group_each() {
        let names: Vec<String> = ('a'..='z').map(String::from).collect();
        assert_eq!(grouped(&names.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>()).len(), 26);
    }

    #[test]
    fn names_of_layers_contain_the_layer_and_the_role() {
        for (name, layer, role) in [
            ("fc6 weights", "fc6", Weights),
            ("fc6 bias", "fc6", Weights),
            ("bn1 parameter 2", "bn1", Weights),
            ("fc6 weights gradient", "fc6", WeightGradients),
            ("bn1 parameter 2 gradient", "bn1", WeightGradients),
            ("fc6 bias history", "fc6", SolverHistory),
            ("bn1 parameter 2 history", "bn1", SolverHistory),
            ("conv1 output", "conv1", Activations),
            ("slice1 output 3 gradient", "slice1", ActivationGradients),
            ("mnist data 1", "mnist", Data),
            ("norm1 internal", "norm1", Internal),
            ("a layer of three words output", "a layer of three words", Activations),
        ] {
            assert_eq!(Role::of_layer(name), Some((layer, role)), "{name}");
        }
    }

    #[test]
    fn other_names_contain_no_role() {
        for name in
            ["", "data", "conv1", "weights", "my own buffer", "output 3", "history of fc6", "fc6 history gradient"]
        {
            assert_eq!(Role::of_name(name), None, "{name}");
        }
    }
}
