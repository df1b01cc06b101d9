//! Lets the objects of a net share memory whose contents are dead: `SYNCEDMEM_SHARE` is `gradients` or `all`.
//!
//! At the end of `Net::Init` the net is read, [`plan`] says after which calls of which layers the contents of which blobs
//! die, and each of these layers gets a [`shim`]. Between the calls no object is shared: libsyncedmem keeps one apart that
//! is touched there. Without the setting the plan is what sharing would save.

mod estimate;
mod layer_types;
mod library;
pub mod messages;
mod offsets;
mod placing;
mod plan;
mod settings;
mod shim;

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use syncedmem_core::text::Escaped;

use crate::blob::Blob;
use crate::layer_type::is_convolution;
use crate::net::{Layer, Net, Structure};
use crate::record;
use estimate::Estimate;
use layer_types::{Rule, rule};
use placing::Placed;
use plan::{Call, Mode, PARTS, Shared, plan};
use settings::Keep;
use shim::Slots;

pub fn is_on() -> bool {
    settings::get().mode.is_some()
}

/// What is known of a net that shares, or would.
#[derive(Default)]
pub struct OfNet {
    /// While the net is made: each blob that a layer reshaped, behind the layer's number.
    reshaped: Vec<(usize, Blob)>,
    /// The blobs that share, by their addresses.
    members: HashMap<usize, Member>,
    /// The plan of a net that shares.
    placed: Vec<Placed>,
    /// Whether a blob has new memory since the last plan.
    grew: bool,
    /// What another net would share.
    estimate: Option<Estimate>,
}

struct Member {
    gone: [Option<&'static CStr>; 2],
    own: Option<Arc<Own>>,
}

/// An internal blob's memory as it was shared: a layer may let the blob hold another's for a while.
type Own = [AtomicUsize; 2];

/// Contents that die at the end of a call.
struct Dead {
    blob: Blob,
    part: usize,
    own: Option<Arc<Own>>,
}

impl Dead {
    fn discard(&self) -> Option<()> {
        let object = self.blob.memory()?[self.part];
        if self.own.as_ref().is_none_or(|own| own[self.part].load(Ordering::Relaxed) == object.addr()) {
            library::discard(object);
        }
        Some(())
    }
}

impl Member {
    /// Shares what the plan has for the blob, where it is untouched; returns of which parts it could.
    fn share(&self, blob: Blob) -> Option<[bool; 2]> {
        let memory = blob.memory()?;
        if let Some(own) = &self.own {
            own.iter().zip(memory).for_each(|(own, object)| own.store(object.addr(), Ordering::Relaxed));
        }
        Some([0, 1].map(|part| self.gone[part].is_some_and(|gone| library::share(memory[part], gone))))
    }
}

impl OfNet {
    /// A blob has new memory, while the net is made.
    pub fn reshaped_in_init(&mut self, layer: usize, blob: Blob) {
        self.reshaped.push((layer, blob));
    }

    /// A blob has new memory, in a call of the net's.
    pub fn reshaped(&mut self, blob: Blob) {
        self.grew = true;
        if let Some(member) = self.members.get(&blob.address()) {
            member.share(blob);
        }
    }

    /// A blob has a shape: layers write so many bytes of its memory, which may have more.
    pub fn measured(&self, blob: Blob) -> Option<()> {
        let member = self.members.get(&blob.address())?;
        let (bytes, memory) = (blob.bytes()?, blob.memory()?);
        let shared = member.gone.iter().zip(memory).filter(|(gone, _)| gone.is_some());
        shared.for_each(|(_, object)| library::written(object, bytes));
        Some(())
    }

    /// Plans anew if blobs grew.
    pub fn place_again(&mut self) -> Option<()> {
        if std::mem::take(&mut self.grew) {
            placing::place(&self.placed);
        }
        Some(())
    }

    /// After a pass through a net: plans anew if blobs grew, and notes what sharing saves or would.
    pub fn after_pass(&mut self, net: Net, is_backward: bool) -> Option<()> {
        self.place_again();
        if is_on() {
            return estimate::note_shared();
        }
        let text = self.estimate.as_mut()?.text(net, is_backward)?;
        record::note(text)
    }

    /// Reads the net that was made, and stands in front of its layers.
    pub fn attach(&mut self, net: Net, structure: Structure) -> Option<()> {
        // SAFETY: Caffe's thread is at the end of the net's `Init`.
        let is_test = unsafe { crate::net::is_test(net.object(), net.letter(), net.caffe) }?;
        let any_blob = net.blob(std::ptr::null())?;
        let internals = internals(&structure, std::mem::take(&mut self.reshaped), net);
        let layers: Vec<_> = structure
            .layers
            .iter()
            .zip(&internals)
            .map(|(layer, own)| plan::Layer {
                kind: kind(layer),
                bottoms: layer.bottoms.clone(),
                propagates: layer.propagates.clone(),
                tops: layer.tops.clone(),
                internals: own.iter().map(|blob| blob.address()).collect(),
            })
            .collect();
        let own: HashMap<usize, Blob> = internals.iter().flatten().map(|blob| (blob.address(), *blob)).collect();
        let blob_at =
            |address: usize| own.get(&address).copied().unwrap_or_else(|| any_blob.at(address as *const c_void));
        let placed = |shared: &Shared| {
            // A convolution takes images one by one.
            let grows = !own.contains_key(&shared.blob) || !is_convolution(structure.layers[shared.layer].kind);
            Placed::of(shared, blob_at(shared.blob), grows, layers.len())
        };
        let Some(mode) = settings::get().mode else {
            // The plan for `gradients` is the same without the data of what layers make.
            let all = plan(&layers, is_test, Mode::All, &HashSet::new()).shared;
            let all =
                all.iter().map(|shared| (placed(shared), shared.part != PARTS[0] || own.contains_key(&shared.blob)));
            self.estimate = Some(Estimate::of(all, net.sources()?, is_test));
            return Some(());
        };
        let kept = kept(&structure, &internals, &settings::get().keep);
        let planned = plan(&layers, is_test, mode, &kept);
        messages::planned(
            planned.apart.iter().filter_map(|(blob, why)| Some((*why, *structure.blob_names.get(blob)?))),
        );
        let slots = structure.layers.iter().find_map(|layer| Slots::of(layer, net))?;
        let mut calls: HashMap<Call, Vec<Dead>> = HashMap::new();
        for shared in &planned.shared {
            let is_own = own.contains_key(&shared.blob);
            let new = || Member { gone: [None; 2], own: is_own.then(Arc::default) };
            let member = self.members.entry(shared.blob).or_insert_with(new);
            let part = shared.part as usize;
            member.gone[part] = Some(sentence(&structure, shared, is_own, is_test));
            for &end in &shared.ends {
                let dead = Dead { blob: blob_at(shared.blob), part, own: member.own.clone() };
                calls.entry(end).or_default().push(dead);
            }
        }
        let first = note_steps(&structure, is_test);
        for (number, layer) in structure.layers.iter().enumerate() {
            let Rule::Shares(shares) = rule(layer.caffes_kind) else { continue };
            let shim = shim::Layer {
                executing: if shares.zeros { 2 } else { 1 },
                steps: [number, 2 * layers.len() - 1 - number].map(|step| first + step as u64),
                dead: [Call::Forward(number), Call::Backward(number)]
                    .map(|call| calls.remove(&call).unwrap_or_default()),
            };
            // Every class of Caffe's can have a shim. What a layer without one touched, libsyncedmem would keep apart.
            // SAFETY: the net holds the layer; Caffe's thread is at the end of the net's `Init`.
            unsafe { shim::attach(layer, slots, shim) };
        }
        let is_placed = |shared: &&Shared| {
            let member = self.members.get(&shared.blob);
            let is_shared = member.and_then(|member| member.share(blob_at(shared.blob)));
            let part = shared.part as usize;
            // Layers do not touch the diffs of what they have inside, but for one of BatchNorm's.
            is_shared.is_some_and(|parts| parts[part]) && (part == 0 || !own.contains_key(&shared.blob))
        };
        self.placed = planned.shared.iter().filter(is_placed).map(placed).collect();
        placing::place(&self.placed);
        Some(())
    }
}

/// The type by which a layer shares: that of a class that is Caffe's own. Any class may be one of a type that never shares.
fn kind(layer: &Layer) -> &'static str {
    if matches!(rule(layer.kind), Rule::Apart(_)) { layer.kind } else { layer.caffes_kind }
}

/// The blobs that `SYNCEDMEM_KEEP` names, of a net, and inside of its layers.
fn kept(structure: &Structure, internals: &[Vec<Blob>], keep: &Keep) -> HashSet<usize> {
    let mut kept = HashSet::new();
    if keep.is_empty() {
        return kept;
    }
    let mut note = |name: &[u8], blobs: &mut dyn Iterator<Item = usize>| {
        if keep.has(name) {
            messages::has(name);
            kept.extend(blobs);
        }
    };
    for (blob, name) in &structure.blob_names {
        note(name, &mut std::iter::once(*blob));
    }
    for (layer, own) in structure.layers.iter().zip(internals) {
        note(&internal(layer.name), &mut own.iter().map(|blob| blob.address()));
    }
    kept
}

/// What a report, and `SYNCEDMEM_KEEP`, call the memory inside of a layer.
fn internal(layer: &[u8]) -> Vec<u8> {
    [layer, b" internal"].concat()
}

/// Notes the steps of a pass in the recording: each layer's `Forward`, and behind these each layer's `Backward`. Returns the first's
/// number, which follows from the text: a net that is made again has the same.
fn note_steps(structure: &Structure, is_test: bool) -> u64 {
    let names: String = structure.layers.iter().map(|layer| format!("\t{}", Escaped(layer.name))).collect();
    let mut hasher = DefaultHasher::new();
    (is_test, &names).hash(&mut hasher);
    let first = hasher.finish() >> 16 << 16 | 1;
    record::note(format!("\tsteps\t-\t{first}\t{}{names}", if is_test { "test" } else { "train" }));
    first
}

/// The blobs that each layer has inside: reshaped while it was the newest, and neither tops nor parameters.
fn internals(structure: &Structure, reshaped: Vec<(usize, Blob)>, net: Net) -> Vec<Vec<Blob>> {
    let parameters = net.parameters().unwrap_or_default();
    let mut seen: HashSet<usize> = parameters.iter().map(|named| named.blob.address()).collect();
    seen.extend(structure.layers.iter().flat_map(|layer| layer.tops.iter().chain(&layer.bottoms)));
    let mut internals = vec![Vec::new(); structure.layers.len()];
    for (number, blob) in reshaped {
        if number < internals.len() && seen.insert(blob.address()) {
            internals[number].push(blob);
        }
    }
    internals
}

/// The error of a use of what was given up.
fn sentence(structure: &Structure, shared: &Shared, is_internal: bool, is_test: bool) -> &'static CStr {
    let name = structure.layers.get(shared.layer).map_or(&[][..], |layer| layer.name);
    let layer = Escaped(name);
    // No name has a NUL.
    let key = |blob: &[u8]| [&[shared.part as u8, u8::from(is_test)], name, b"\0", blob].concat();
    if is_internal {
        return messages::sentence(key(b"\0"), &internal(name), None, || {
            if is_test {
                format!(
                    "the net is in phase TEST, and the memory inside of layer {layer} is shared (SYNCEDMEM_SHARE): its contents are \
                     gone after the layer's Forward; a backward pass needs a net in phase TRAIN, or memory that is kept apart: "
                )
            } else {
                format!(
                    "the memory inside of layer {layer} is shared (SYNCEDMEM_SHARE), and its contents are gone after the layer's \
                     Backward; a second backward pass needs another forward pass before it, or memory that is kept apart: "
                )
            }
        });
    }
    let blob = structure.blob_names.get(&shared.blob).copied().unwrap_or_default();
    messages::sentence(key(blob), blob, Some(blob), || {
        let part = if shared.part == PARTS[0] { "data" } else { "gradient" };
        let phase =
            if is_test { "the net is in phase TEST, and a backward pass needs one in phase TRAIN: " } else { "" };
        format!(
            "{phase}the {part} of blob {}, which layer {layer} makes, is gone: its memory is shared (SYNCEDMEM_SHARE), and the last \
             layer that needs it has run; to use it after a pass, keep it apart: ",
            Escaped(blob)
        )
    })
}
