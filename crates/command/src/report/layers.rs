//! What the layers of nets say about memory: groups of holders, and layers that could be in place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use syncedmem_analysis::net::{self, Layer, by_beginning, chains};
use syncedmem_analysis::role::Role;
use syncedmem_core::kind::Kind;

use super::rows::{Finding, HolderRow, IN_PLACE};
use super::sharing::Sharing;

pub const NO_LAYER: &str = "without a layer's name";
pub const NO_TYPE: &str = "of an unknown type";

#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub sharing: Sharing,
    nets: Vec<Vec<Layer>>,
    /// A program may make a net many times.
    texts: HashSet<String>,
    /// By the layers' names.
    kinds: HashMap<String, String>,
}

/// Holders of a type of layer, or of layers whose names begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    /// 0: without a layer.
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
            let layers = net::layers(text);
            self.kinds.extend(layers.iter().map(|layer| (layer.name.clone(), layer.kind.clone())));
            self.nets.push(layers);
        }
    }

    /// The type of a layer; `None` if it is not known.
    pub fn kind(&self, layer: &str) -> Option<&str> {
        self.kinds.get(layer).map(String::as_str).filter(|kind| !kind.is_empty())
    }

    /// The largest first; empty if no net was recorded.
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

    /// A finding for each blob whose memory layers could share.
    pub fn in_place(&self, holders: &[HolderRow]) -> Vec<Finding> {
        let at_peak: HashMap<&str, [u64; 3]> =
            holders.iter().map(|holder| (holder.who.as_str(), holder.at_peak)).collect();
        let held =
            |layer: &str, what: &str| at_peak.get(format!("{layer} {what}").as_str()).copied().unwrap_or_default();
        let finding = |chain: &net::Chain| {
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
            // The memory of a device is scarcer.
            let bytes = if device > 0 { device } else { saved.iter().sum() };
            let listed = |of: fn(&(String, String, net::Saved)) -> String| {
                chain.layers.iter().map(of).collect::<Vec<_>>().join(", ")
            };
            Finding {
                rule: IN_PLACE,
                certainty: "possible",
                change: "prototxt",
                seen: "Layers have outputs of their own, although they could write over their inputs, which no other \
                       layer reads.",
                to_do: "Give each output the name of the input, wherever it is a top or a bottom: results stay the same.",
                not_known: "The program must not read the input or the output by its name. Not for a ReLU with a \
                            negative_slope below 0, an ELU with an alpha below 0, nor behind an Eltwise with \
                            stable_prod_grad: false.",
                made: listed(|(name, ..)| name.clone()),
                at: format!("write \"{}\" for {}", chain.blob, listed(|(_, top, _)| format!("\"{top}\""))),
                count: chain.layers.len() as u64,
                bytes,
            }
        };
        chains(&self.nets).iter().map(finding).filter(|finding| finding.bytes > 0).collect()
    }
}

/// In the order of [`Role::ALL`]; empty if no holder's name says a role.
pub fn by_role(holders: &[HolderRow]) -> Vec<(&'static str, [u64; 3])> {
    let of = |role: Option<Role>| {
        let held = holders.iter().filter(|holder| Role::of_name(&holder.who) == role);
        (role.map_or(NO_LAYER, Role::name), held.fold([0; 3], |all, holder| sum(all, holder.at_peak)))
    };
    let mut roles: Vec<_> = Role::ALL.map(Some).into_iter().chain([None]).map(of).collect();
    roles.retain(|(_, at_peak)| *at_peak != [0; 3]);
    if roles.iter().all(|(role, _)| *role == NO_LAYER) { Vec::new() } else { roles }
}

/// Of layers whose names begin alike, the largest first; empty if no holder has a layer's name.
pub fn by_name(holders: &[HolderRow]) -> Vec<Group> {
    let (layers, others) = by_layer(holders);
    let layers: Vec<_> = layers.into_iter().map(|(layer, at_peak)| (layer, at_peak.iter().sum(), at_peak)).collect();
    let group = |(beginning, members): (&str, Vec<&[u64; 3]>)| {
        let more = if members.len() > 1 { "…" } else { "" };
        Group::of(format!("{beginning}{more}"), members)
    };
    let mut groups: Vec<_> = by_beginning(&layers).into_iter().map(group).collect();
    if !groups.is_empty() {
        groups.extend(without_layer(others));
    }
    groups
}

fn without_layer(at_peak: [u64; 3]) -> Option<Group> {
    let name = NO_LAYER.to_string();
    (at_peak != [0; 3]).then_some(Group { name, layers: 0, at_peak })
}

/// Bytes of each layer, and of all others.
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
