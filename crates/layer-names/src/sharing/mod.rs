//! Reuses the memory of blobs whose contents are no longer needed, if `SYNCEDMEM_SHARE` is `gradients` or `all`.
//!
//! At the end of `Net::Init` the net is read, [`plan`] finds the call after which each blob's contents are no longer needed, and each layer
//! of the plan gets a [`shim`] that discards them. libsyncedmem excludes an object from sharing that is touched outside of layers' calls.
//! Without the setting the plan gives an [`estimate`] of what sharing would save.
#![expect(unsafe_code, reason = "layers are wrapped")]

mod estimate;
pub mod messages;
mod offsets;
mod placing;
mod plan;
mod rules;
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
use crate::library;
use crate::net::{Layer, Net, Structure};
use estimate::Estimate;
use placing::Placed;
use plan::{Call, Mode, PARTS, Shared, plan};
use rules::{Rule, rule};
use settings::Keep;
use shim::Slots;

pub fn is_on() -> bool {
    settings::get().mode.is_some()
}

/// The state of a net's sharing.
#[derive(Default)]
pub struct OfNet {
    /// While the net is made: each blob that was reshaped, with the number of the layer that was set up then.
    reshaped: Vec<(usize, Blob)>,
    /// The blobs that share, by address.
    members: HashMap<usize, Member>,
    /// The plan, if the net shares.
    placed: Vec<Placed>,
    /// Whether a blob got new memory since the offsets were planned.
    grew: bool,
    /// The plan, if the net does not share.
    estimate: Option<Estimate>,
}

struct Member {
    /// The errors of reads after data and diff were discarded.
    gone: [Option<&'static CStr>; 2],
    own: Option<Arc<Own>>,
}

/// Addresses of an internal blob's objects when they were shared: a layer may let the blob have another blob's memory for a while.
type Own = [AtomicUsize; 2];

/// Contents that are discarded after a call.
struct Dead {
    blob: Blob,
    part: usize,
    own: Option<Arc<Own>>,
}

impl Dead {
    fn discard(&self) -> Option<()> {
        let object = self.blob.memory()?[self.part];
        if self.own.as_ref().is_none_or(|own| own[self.part].load(Ordering::Relaxed) == object.address()) {
            library::discard(object);
        }
        Some(())
    }
}

impl Member {
    /// Shares the blob's objects that are in the plan and untouched; returns for data and diff whether it did.
    fn share(&self, blob: Blob) -> Option<[bool; 2]> {
        let memory = blob.memory()?;
        if let Some(own) = &self.own {
            own.iter().zip(memory).for_each(|(own, object)| own.store(object.address(), Ordering::Relaxed));
        }
        Some([0, 1].map(|part| self.gone[part].is_some_and(|gone| library::share(memory[part], gone))))
    }
}

impl OfNet {
    /// A blob got new memory while the net is made.
    pub fn reshaped_in_init(&mut self, layer: usize, blob: Blob) {
        self.reshaped.push((layer, blob));
    }

    /// A blob got new memory in a call of the net.
    pub fn reshaped(&mut self, blob: Blob) {
        self.grew = true;
        if let Some(member) = self.members.get(&blob.address()) {
            member.share(blob);
        }
    }

    /// A blob was reshaped: layers write the bytes of its shape; its memory may have more.
    pub fn measured(&self, blob: Blob) -> Option<()> {
        let member = self.members.get(&blob.address())?;
        let (bytes, memory) = (blob.bytes()?, blob.memory()?);
        let shared = member.gone.iter().zip(memory).filter(|(gone, _)| gone.is_some());
        shared.for_each(|(_, object)| library::written(object, bytes));
        Some(())
    }

    /// Plans the offsets again if blobs got new memory.
    pub fn place_again(&mut self) -> Option<()> {
        if std::mem::take(&mut self.grew) {
            placing::place(&self.placed);
        }
        Some(())
    }

    /// After a pass: plans the offsets again if blobs got new memory, and notes what sharing saves or would save.
    pub fn after_pass(&mut self, net: Net, is_backward: bool) -> Option<()> {
        self.place_again();
        if is_on() {
            return estimate::note_shared();
        }
        let text = self.estimate.as_mut()?.text(net, is_backward)?;
        library::note(text)
    }

    /// Plans for a net at the end of `Init`, and wraps its layers if it shares.
    pub fn attach(&mut self, net: Net, structure: Structure) -> Option<()> {
        // SAFETY: this thread is in the net's `Init`, and the net belongs to that Caffe.
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
            // A convolution's internal blobs are for one image.
            let grows = !own.contains_key(&shared.blob) || !is_convolution(structure.layers[shared.layer].kind);
            Placed::of(shared, blob_at(shared.blob), grows, layers.len())
        };
        let Some(mode) = settings::get().mode else {
            // The plan for `gradients` is that for `all` without the data of tops.
            let all = plan(&layers, is_test, Mode::All, &HashSet::new()).shared;
            let all =
                all.iter().map(|shared| (placed(shared), shared.part != PARTS[0] || own.contains_key(&shared.blob)));
            self.estimate = Some(Estimate::of(all, net.sources()?, is_test));
            return Some(());
        };
        let kept = kept(&structure, &internals, &settings::get().keep);
        let planned = plan(&layers, is_test, mode, &kept);
        messages::excluded(
            planned.excluded.iter().filter_map(|(blob, why)| Some((*why, *structure.blob_names.get(blob)?))),
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
            // All of Caffe's classes can be wrapped. libsyncedmem excludes the objects that an unwrapped layer touches.
            // SAFETY: the net holds the layer, and only this thread, which is in the net's `Init`, uses it.
            unsafe { shim::attach(layer, slots, shim) };
        }
        let is_placed = |shared: &&Shared| {
            let member = self.members.get(&shared.blob);
            let is_shared = member.and_then(|member| member.share(blob_at(shared.blob)));
            let part = shared.part as usize;
            // Layers do not touch the diffs of internal blobs, except one of BatchNorm's.
            is_shared.is_some_and(|parts| parts[part]) && (part == 0 || !own.contains_key(&shared.blob))
        };
        self.placed = planned.shared.iter().filter(is_placed).map(placed).collect();
        placing::place(&self.placed);
        Some(())
    }
}

/// The type whose rule holds for a layer. A class that is not Caffe's own has none of those that share.
fn kind(layer: &Layer) -> &'static str {
    if matches!(rule(layer.kind), Rule::Excludes(_)) { layer.kind } else { layer.caffes_kind }
}

/// The blobs of a net, and internal to its layers, that `SYNCEDMEM_KEEP` names.
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

/// The name of a layer's internal memory in reports and in `SYNCEDMEM_KEEP`.
fn internal(layer: &[u8]) -> Vec<u8> {
    [layer, b" internal"].concat()
}

/// Notes the steps of a pass in the trace: each layer's `Forward`, then each layer's `Backward`. Returns the number of the first, which is a hash
/// of the text: a net that is made again has the same.
fn note_steps(structure: &Structure, is_test: bool) -> u64 {
    let names: String = structure.layers.iter().map(|layer| format!("\t{}", Escaped(layer.name))).collect();
    let mut hasher = DefaultHasher::new();
    (is_test, &names).hash(&mut hasher);
    let first = hasher.finish() >> 16 << 16 | 1;
    library::note(format!("\tsteps\t-\t{first}\t{}{names}", if is_test { "test" } else { "train" }));
    first
}

/// The internal blobs of each layer: those that were reshaped while it was set up, and are neither tops nor parameters.
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

/// The error of a read of the contents after they were discarded.
fn sentence(structure: &Structure, shared: &Shared, is_internal: bool, is_test: bool) -> &'static CStr {
    let name = structure.layers.get(shared.layer).map_or(&[][..], |layer| layer.name);
    let layer = Escaped(name);
    // No name has a NUL.
    let key = |blob: &[u8]| [&[shared.part as u8, u8::from(is_test)], name, b"\0", blob].concat();
    if is_internal {
        return messages::sentence(key(b"\0"), &internal(name), None, || {
            if is_test {
                format!(
                    "the net is in phase TEST, and the internal memory of layer {layer} is shared (SYNCEDMEM_SHARE): its contents are \
                     gone after the layer's Forward; use a net in phase TRAIN for a backward pass, or keep the memory: "
                )
            } else {
                format!(
                    "the internal memory of layer {layer} is shared (SYNCEDMEM_SHARE), and its contents are gone after the layer's \
                     Backward; make another forward pass before a second backward pass, or keep the memory: "
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
            "{phase}the {part} of blob {}, an output of layer {layer}, is gone: its memory is shared (SYNCEDMEM_SHARE), and the last \
             layer that needs it has run; to read it after a pass, keep it: ",
            Escaped(blob)
        )
    })
}
