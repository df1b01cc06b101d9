//! Reuses the memory of blobs whose contents are no longer needed or, if `SYNCEDMEM_SHARE` is `parked`, wait for `Backward`.
//!
//! At the end of `Net::Init` the net is read, [`plan`] finds the calls after which each blob's contents are no longer needed or wait, and each
//! layer of the plan gets a [`shim`] that discards or parks them. libsyncedmem excludes an object from sharing that is touched outside of layers' calls.
//! The plan gives an [`estimate`] of what sharing would save if the setting is off.
#![expect(unsafe_code, reason = "layers are wrapped")]

mod estimate;
mod made;
pub mod messages;
mod offsets;
mod placing;
mod plan;
mod rules;
mod settings;
mod shim;

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::blob::{Blob, Object};
use crate::library;
use crate::net::{Net, Structure};
use estimate::Estimate;
use made::Made;
use placing::{Placed, Taken, Waits};
use plan::{Call, Mode, Part, Shared, plan};
use rules::{Rule, asks_for_unread, rule};
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
    /// Whether contents that waited took other bytes than were planned.
    is_unplanned: Arc<AtomicBool>,
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
        library::discard(self.object()?);
        Some(())
    }

    fn object(&self) -> Option<Object> {
        let object = self.blob.memory()?[self.part];
        let is_own = self.own.as_ref().is_none_or(|own| own[self.part].load(Ordering::Relaxed) == object.address());
        is_own.then_some(object)
    }
}

/// Contents that wait after a call.
struct Waiting {
    of: Dead,
    twins: Vec<Blob>,
    waits: Arc<Waits>,
    /// Set when the contents took other bytes than the offsets were planned for.
    is_unplanned: Arc<AtomicBool>,
}

impl Waiting {
    fn park(&self) -> Option<()> {
        let twin = |blob: &Blob| Some(blob.memory()?[self.of.part].pointer());
        let twins: Option<Vec<_>> = self.twins.iter().map(twin).collect();
        let rows = self.twins.first().and_then(|&twin| self.of.blob.rows(twin));
        let twins = twins.filter(|_| rows.is_some()).unwrap_or_default();
        let taken = library::park(self.of.object()?, &twins, rows.unwrap_or(1));
        if self.waits.note(taken.map_or(Taken::Whole, Taken::Bytes)) {
            self.is_unplanned.store(true, Ordering::Relaxed);
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
        // Between the passes the offsets stay: blocks lie at them.
        self.grew |= is_backward && self.is_unplanned.swap(false, Ordering::Relaxed);
        self.place_again();
        if is_on() {
            return estimate::note_shared();
        }
        let text = self.estimate.as_mut()?.text(net, is_backward)?;
        library::note(text)
    }

    /// Plans for a net at the end of `Init`, and wraps its layers if it shares.
    pub fn attach(&mut self, net: Net, structure: Structure) -> Option<()> {
        let made = Made::read(net, structure, std::mem::take(&mut self.reshaped))?;
        match settings::get().mode {
            Some(mode) => self.share(&made, possible(mode)),
            None => {
                self.estimate = Some(estimate(&made)?);
                Some(())
            }
        }
    }

    fn share(&mut self, made: &Made, mode: Mode) -> Option<()> {
        let plan = plan(&made.layers, made.is_test, mode, &made.kept(&settings::get().keep));
        messages::excluded(plan.excluded.iter().filter_map(|(blob, why)| Some((*why, made.blob_name(*blob)?))));
        let slots = made.structure.layers.iter().find_map(|layer| Slots::of(layer, made.net))?;
        let mut calls: HashMap<Call, (Vec<Dead>, Vec<Waiting>)> = HashMap::new();
        for shared in &plan.shared {
            let new = || Member { gone: [None; 2], own: made.is_internal(shared.blob).then(Arc::default) };
            let member = self.members.entry(shared.blob).or_insert_with(new);
            let part = shared.part as usize;
            member.gone[part] = Some(made.error(shared));
            let own = member.own.clone();
            let dead = || Dead { blob: made.blob(shared.blob), part, own: own.clone() };
            for end in shared.ends() {
                calls.entry(end).or_default().0.push(dead());
            }
            // Layers do not touch the diffs of internal blobs, except one of BatchNorm's.
            let is_used = part == 0 || !made.is_internal(shared.blob);
            let is_shared = self.members[&shared.blob].share(made.blob(shared.blob)).is_some_and(|parts| parts[part]);
            if !is_shared || !is_used {
                continue;
            }
            let placed = made.placed(shared);
            if let (Some(waits), Some(&(_, last))) =
                (placed.waits.as_ref().filter(|_| placed.is_first()), shared.lives.first())
            {
                let (waits, is_unplanned) = (Arc::clone(waits), Arc::clone(&self.is_unplanned));
                let waiting = Waiting { of: dead(), twins: placed.twins.clone(), waits, is_unplanned };
                calls.entry(last).or_default().1.push(waiting);
            }
            self.placed.push(placed);
        }
        wrap(made, slots, calls);
        placing::place(&self.placed);
        Some(())
    }
}

/// On a device nothing is parked.
fn possible(mode: Mode) -> Mode {
    if mode == Mode::Parked && !library::parks() { Mode::All } else { mode }
}

/// The plan for `gradients` is that for `all` without the data of tops.
fn estimate(made: &Made) -> Option<Estimate> {
    let with_gradients = |shared: &Shared| shared.part == Part::Diff || made.is_internal(shared.blob);
    let plan_for = |mode| {
        let plan = plan(&made.layers, made.is_test, mode, &HashSet::new()).shared;
        estimate::Plan::of(plan.iter().map(|shared| (made.placed(shared), with_gradients(shared))))
    };
    let parked = (!made.is_test && library::parks()).then(|| plan_for(Mode::Parked));
    Some(Estimate::of(plan_for(Mode::All), parked, made.net.sources()?, made.is_test))
}

/// Wraps the layers. All of Caffe's classes can be wrapped; libsyncedmem excludes the objects that an unwrapped layer touches.
fn wrap(made: &Made, slots: Slots, mut calls: HashMap<Call, (Vec<Dead>, Vec<Waiting>)>) {
    let first = made.note_steps();
    for (number, layer) in made.structure.layers.iter().enumerate() {
        let Rule::Shares(shares) = rule(layer.caffes_kind) else { continue };
        let executes = if shares.zeros { 2 } else { 1 };
        let plan::Layer { kind, form, .. } = made.layers[number];
        let [forward, backward] =
            [Call::Forward(number), Call::Backward(number)].map(|call| calls.remove(&call).unwrap_or_default());
        let shim = shim::Layer {
            executing: [executes, if asks_for_unread(kind, form) { 3 } else { executes }],
            steps: [number, 2 * made.layers.len() - 1 - number].map(|step| first + step as u64),
            dead: [forward.0, backward.0],
            waiting: [forward.1, backward.1],
        };
        // SAFETY: the net holds the layer, and only this thread, which is in the net's `Init`, uses it.
        unsafe { shim::attach(layer, slots, shim) };
    }
}
