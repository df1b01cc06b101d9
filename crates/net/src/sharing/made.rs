//! A net at the end of its `Init`, as a plan needs it.
#![expect(unsafe_code, reason = "the net is asked for its phase")]

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};

use syncedmem_core::text::Escaped;

use super::messages;
use super::placing::{Placed, Taken};
use super::plan::{self, Expected, Part, Shared};
use super::rules::{Form, Rule, rule};
use super::settings::Keep;
use crate::blob::Blob;
use crate::layer_parameter::is_sum;
use crate::layer_type::is_convolution;
use crate::library;
use crate::net::{self, Layer, Net, Structure};

pub struct Made {
    pub net: Net,
    pub structure: Structure,
    pub is_test: bool,
    /// The layers as the plan takes them.
    pub layers: Vec<plan::Layer<'static>>,
    /// The internal blobs of each layer.
    internals: Vec<Vec<Blob>>,
    /// The internal blobs by address.
    internal: HashMap<usize, Blob>,
    any_blob: Blob,
}

impl Made {
    /// `reshaped` are the blobs that got memory in `Init`, each with the number of the layer that was set up then.
    pub fn read(net: Net, structure: Structure, reshaped: Vec<(usize, Blob)>) -> Option<Made> {
        // SAFETY: this thread is in the net's `Init`, and the net belongs to that Caffe.
        let is_test = unsafe { net::is_test(net.object(), net.letter(), net.caffe) }?;
        let internals = internals(&structure, reshaped, net);
        let of_plan = |(layer, internals): (&Layer, &Vec<Blob>)| plan::Layer {
            kind: kind(layer),
            form: form(layer, net),
            bottoms: layer.bottoms.clone(),
            propagates: layer.propagates.clone(),
            tops: layer.tops.clone(),
            internals: internals.iter().map(|blob| blob.address()).collect(),
        };
        let layers = structure.layers.iter().zip(&internals).map(of_plan).collect();
        let internal = internals.iter().flatten().map(|blob| (blob.address(), *blob)).collect();
        Some(Made { net, structure, is_test, layers, internals, internal, any_blob: net.blob(std::ptr::null())? })
    }

    pub fn is_internal(&self, blob: usize) -> bool {
        self.internal.contains_key(&blob)
    }

    pub fn blob(&self, address: usize) -> Blob {
        self.internal.get(&address).copied().unwrap_or_else(|| self.any_blob.at(address as *const c_void))
    }

    pub fn blob_name(&self, address: usize) -> Option<&'static [u8]> {
        self.structure.blob_names.get(&address).copied()
    }

    pub fn placed(&self, shared: &Shared) -> Placed {
        // A convolution's internal blobs are for one image.
        let grows = !self.is_internal(shared.blob) || !is_convolution(self.structure.layers[shared.layer].kind);
        let (taken, twins) = self.expected(shared);
        Placed::of(shared, self.blob(shared.blob), grows, self.layers.len(), taken, twins)
    }

    /// The bytes that contents are expected to take while they wait, and the blobs that are expected to have the same contents.
    fn expected(&self, shared: &Shared) -> (Taken, Vec<Blob>) {
        let bytes = |&blob: &usize| self.blob(blob).memory()?[shared.part as usize].bytes();
        let own = bytes(&shared.blob);
        let percent = |percent: usize| own.map_or(Taken::Whole, |own| Taken::Bytes(own / 100 * percent));
        match &shared.expected {
            Expected::Dense => (Taken::Whole, vec![]),
            &Expected::Percent(number) => (percent(number), vec![]),
            Expected::Rows(blobs) => (percent(0), blobs.iter().map(|&blob| self.blob(blob)).collect()),
            Expected::TwinOf(blobs) => match blobs.iter().rev().find(|blob| bytes(blob) == own) {
                Some(&twin) => (percent(0), vec![self.blob(twin)]),
                None => (Taken::Whole, vec![]),
            },
            Expected::OfBatchNorm => {
                let whole = self.structure.layers[shared.layer].bottoms.first().and_then(bytes);
                let first = self.layers[shared.layer].internals.iter().find(|blob| bytes(blob) == whole);
                (if first == Some(&shared.blob) && own == whole { percent(5) } else { Taken::Whole }, vec![])
            }
        }
    }

    /// The blobs that `SYNCEDMEM_KEEP` names.
    pub fn kept(&self, keep: &Keep) -> HashSet<usize> {
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
        for (blob, name) in &self.structure.blob_names {
            note(name, &mut std::iter::once(*blob));
        }
        for (layer, internals) in self.structure.layers.iter().zip(&self.internals) {
            note(&internal_name(layer.name), &mut internals.iter().map(|blob| blob.address()));
        }
        kept
    }

    /// Notes the steps of a pass in the trace: each layer's `Forward`, then each layer's `Backward`. Returns the number of the first, which is a hash
    /// of the text: a net that is made again has the same.
    pub fn note_steps(&self) -> u64 {
        let names: String = self.structure.layers.iter().map(|layer| format!("\t{}", Escaped(layer.name))).collect();
        let mut hasher = DefaultHasher::new();
        (self.is_test, &names).hash(&mut hasher);
        let first = hasher.finish() >> 16 << 16 | 1;
        library::note(format!("\tsteps\t-\t{first}\t{}{names}", if self.is_test { "test" } else { "train" }));
        first
    }

    /// The error of a read of the contents after they were discarded.
    pub fn error(&self, shared: &Shared) -> &'static CStr {
        let is_test = self.is_test;
        let name = self.structure.layers.get(shared.layer).map_or(&[][..], |layer| layer.name);
        let layer = Escaped(name);
        // No name has a NUL.
        let key = |blob: &[u8]| [&[shared.part as u8, u8::from(is_test)], name, b"\0", blob].concat();
        if self.is_internal(shared.blob) {
            return messages::sentence(key(b"\0"), &internal_name(name), None, || {
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
        let blob = self.blob_name(shared.blob).unwrap_or_default();
        messages::sentence(key(blob), blob, Some(blob), || {
            let part = if shared.part == Part::Data { "data" } else { "gradient" };
            let phase =
                if is_test { "the net is in phase TEST, and a backward pass needs one in phase TRAIN: " } else { "" };
            // `gradients` shares no activations, and saves little in phase TEST. Parking keeps nothing longer than `all`.
            let others = if part == "data" && !is_test { "use --share=gradients, or " } else { "" };
            format!(
                "{phase}the {part} of blob {}, an output of layer {layer}, is gone: its memory is shared (SYNCEDMEM_SHARE), and the last \
                 layer that needs it has run; to read it after a pass, {others}keep it: ",
                Escaped(blob)
            )
        })
    }
}

/// The type whose rule holds for a layer. A class that is not Caffe's own has none of those that share.
fn kind(layer: &Layer) -> &'static str {
    if matches!(rule(layer.kind), Rule::Excludes(_)) { layer.kind } else { layer.caffes_kind }
}

fn form(layer: &Layer, net: Net) -> Form {
    Form {
        is_cudnn: layer.is_cudnn(),
        // SAFETY: the net, whose thread is in its `Init`, holds the layer.
        is_sum: layer.caffes_kind == "Eltwise" && unsafe { is_sum(layer.object, net.caffe) },
        is_in_place: layer.bottoms.first().is_some_and(|bottom| layer.tops.first() == Some(bottom)),
        tops: layer.tops.len(),
    }
}

/// The name of a layer's internal memory in reports and in `SYNCEDMEM_KEEP`.
fn internal_name(layer: &[u8]) -> Vec<u8> {
    [layer, b" internal"].concat()
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
