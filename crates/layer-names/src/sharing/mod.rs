//! Lets the objects of a net share memory whose contents are dead: `SYNCEDMEM_SHARE` is `gradients` or `all`.
//!
//! At the end of `Net::Init` the net is read, [`plan`] says after which calls of which layers the contents of which blobs
//! die, and each of these layers gets a [`shim`]. Between the calls no object is shared: libsyncedmem keeps one apart that
//! is touched there. Without the setting the plan is what sharing would save.

mod estimate;
mod layer_types;
pub mod library;
mod offsets;
mod placing;
mod plan;
pub mod report;
mod shim;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::blob::Blob;
use crate::layer_type::is_convolution;
use crate::net::{Net, Structure};
use crate::record;
use estimate::Estimate;
use layer_types::{Rule, rule};
use placing::Placed;
pub use placing::place_again;
use plan::{Call, Mode, PARTS, Shared, plan};
use report::Kept;
use shim::Slots;

struct Settings {
    mode: Option<Mode>,
    kept: Vec<String>,
}

fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let text = std::env::var("SYNCEDMEM_SHARE").unwrap_or_default();
        let mode = match text.as_str() {
            "all" => Some(Mode::All),
            "gradients" => Some(Mode::Gradients),
            "" | "off" => None,
            _ => {
                eprintln!(
                    "libsyncedmem: SYNCEDMEM_SHARE is \"{text}\"; expected off, gradients or all; nothing is shared"
                );
                None
            }
        };
        let kept = std::env::var("SYNCEDMEM_KEEP").unwrap_or_default();
        Settings { mode, kept: kept.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect() }
    })
}

pub fn is_on() -> bool {
    settings().mode.is_some()
}

struct Member {
    parts: [Option<&'static CStr>; 2],
    /// An internal blob's memory as it was shared: a layer may let the blob hold another's for a while.
    own: Option<[usize; 2]>,
}

/// By the addresses of nets, blobs and layers. What has ended leaves its entries, until another begins at its address.
#[derive(Default)]
pub struct State {
    /// The blobs of all nets.
    members: HashMap<usize, Member>,
    /// The plans of nets that share.
    placed: HashMap<usize, Vec<Placed>>,
    /// What the others would share.
    estimates: HashMap<usize, Estimate>,
    /// The tables of virtual functions of layers.
    tables: HashMap<usize, Box<[usize]>>,
    /// Those that objects have, which stay.
    sentences: HashMap<String, &'static CStr>,
    kept: Kept,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// A fork takes this lock before it begins. A panic in the midst of a change does not keep others out.
pub fn lock() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<R>(work: impl FnOnce(&mut State) -> R) -> R {
    work(lock().get_or_insert_default())
}

struct Making {
    net: usize,
    /// Each blob that a layer reshaped, behind the layer's number.
    reshaped: Vec<(usize, Blob)>,
}

thread_local! {
    /// The net that this thread is making.
    static MAKING: RefCell<Option<Making>> = const { RefCell::new(None) };
}

pub fn begin(net: Net, is_inner: bool) -> Option<()> {
    if !is_inner {
        MAKING.replace(Some(Making { net: net.address(), reshaped: Vec::new() }));
    }
    Some(())
}

/// A blob has new memory.
pub fn reshaped(net: Net, is_new: bool, blob: Blob) -> Option<()> {
    if !is_new {
        placing::grew();
        share(blob)?;
        return Some(());
    }
    MAKING.with_borrow_mut(|making| {
        let making = making.as_mut().filter(|making| making.net == net.address())?;
        making.reshaped.push((net.newest_number()?, blob));
        Some(())
    })
}

/// Shares what the plan has for the blob, where it is untouched; returns of which parts it could.
fn share(blob: Blob) -> Option<[bool; 2]> {
    with(|state| {
        let member = state.members.get_mut(&blob.address())?;
        let memory = blob.memory()?;
        if let Some(own) = &mut member.own {
            *own = memory.map(|object| object.addr());
        }
        Some([0, 1].map(|part| member.parts[part].is_some_and(|gone| library::share(memory[part], gone))))
    })
}

fn discard(blob: Blob, part: usize) -> Option<()> {
    let object = blob.memory()?[part];
    let own = with(|state| Some(state.members.get(&blob.address())?.own))?;
    if own.is_none_or(|own| own[part] == object.addr()) {
        library::discard(object);
    }
    Some(())
}

/// After a pass through a net: plans anew if blobs grew, and notes what sharing saves or would.
pub fn after_pass(net: Net) -> Option<()> {
    place_again(net);
    estimate::note(net)
}

/// Reads the net that was made, and stands in front of its layers.
pub fn attach(net: Net) -> Option<()> {
    let Making { net: made, reshaped } = MAKING.take()?;
    if made != net.address() {
        return None;
    }
    let is_test = net.is_test()?;
    let structure = net.structure()?;
    let internals = internals(&structure, reshaped, net);
    let layers: Vec<_> = structure
        .layers
        .iter()
        .zip(&internals)
        .map(|(layer, own)| plan::Layer {
            kind: layer.kind,
            bottoms: layer.bottoms.clone(),
            propagates: layer.propagates.clone(),
            tops: layer.tops.clone(),
            internals: own.iter().map(|blob| blob.address()).collect(),
        })
        .collect();
    let own: HashMap<usize, Blob> = internals.iter().flatten().map(|blob| (blob.address(), *blob)).collect();
    let blob_at = |address: usize| {
        own.get(&address).copied().unwrap_or_else(|| Blob::new(address as *const c_void, net.letter()))
    };
    let placed = |shared: &Shared| {
        // A convolution takes images one by one.
        let grows = !own.contains_key(&shared.blob) || !is_convolution(structure.layers[shared.layer].object);
        Placed::of(shared, blob_at(shared.blob), grows, layers.len())
    };
    let Some(mode) = settings().mode else {
        let plans = [Mode::Gradients, Mode::All].map(|mode| plan(&layers, is_test, mode, &HashSet::new()));
        estimate::begin(net, plans.map(|plan| plan.shared.iter().map(placed).collect()));
        return Some(());
    };
    let slots = structure.layers.iter().find_map(|layer| Slots::of(layer.object, net.letter()))?;
    let kept =
        |blob: &&usize| settings().kept.iter().any(|name| structure.blob_names.get(*blob) == Some(&name.as_str()));
    let kept: HashSet<usize> = structure.blob_names.keys().filter(kept).copied().collect();
    let planned = plan(&layers, is_test, mode, &kept);
    forget(planned.shared.iter().map(|shared| shared.blob).chain(planned.apart.iter().map(|&(blob, _)| blob)));
    let mut calls: HashMap<Call, Vec<(Blob, usize)>> = HashMap::new();
    for shared in &planned.shared {
        let blob = blob_at(shared.blob);
        let gone = sentence(&structure, shared, own.contains_key(&shared.blob), is_test);
        let is_own = own.contains_key(&shared.blob);
        with(|state| {
            let new = Member { parts: [None; 2], own: is_own.then_some([0; 2]) };
            state.members.entry(shared.blob).or_insert(new).parts[shared.part as usize] = Some(gone);
        });
        for &end in &shared.ends {
            calls.entry(end).or_default().push((blob, shared.part as usize));
        }
    }
    let first = note_steps(&structure, is_test);
    for (number, layer) in structure.layers.iter().enumerate() {
        let Rule::Shares(shares) = rule(layer.kind) else { continue };
        let mut after = |call: Call| -> Box<dyn Fn() + Send + Sync> {
            let dead = calls.remove(&call).unwrap_or_default();
            Box::new(move || {
                for &(blob, part) in &dead {
                    crate::naming(|| discard(blob, part));
                }
            })
        };
        let layer_shim = shim::Layer {
            executing: if shares.zeros { 2 } else { 1 },
            steps: [number, 2 * layers.len() - 1 - number].map(|step| first + step as u64),
            after: [Call::Forward(number), Call::Backward(number)].map(&mut after),
        };
        // SAFETY: the net holds the layer; Caffe's thread is at the end of the net's `Init`.
        unsafe { shim::attach(layer.object, slots, layer_shim) };
    }
    let is_placed = |shared: &&Shared| {
        let part = shared.part as usize;
        let is_shared = share(blob_at(shared.blob)).is_some_and(|parts| parts[part]);
        // Layers do not touch the diffs of what they have inside, but for one of BatchNorm's.
        is_shared && (part == 0 || !own.contains_key(&shared.blob))
    };
    placing::begin(net, planned.shared.iter().filter(is_placed).map(placed).collect());
    report::planned(&structure, &planned.apart);
    Some(())
}

/// Notes the steps of a pass in the recording: each layer's `Forward`, and behind these each layer's `Backward`. Returns the first's
/// number, which follows from the text: a net that is made again has the same.
fn note_steps(structure: &Structure, is_test: bool) -> u64 {
    let names: String = structure.layers.iter().map(|layer| format!("\t{}", layer.name)).collect();
    let mut hasher = DefaultHasher::new();
    (is_test, &names).hash(&mut hasher);
    let first = hasher.finish() >> 16 << 16 | 1;
    record::note(format!("\tsteps\t-\t{first}\t{}{names}", if is_test { "test" } else { "train" }));
    first
}

/// Forgets blobs of an earlier net at these addresses.
fn forget(blobs: impl Iterator<Item = usize>) {
    with(|state| blobs.for_each(|blob| _ = state.members.remove(&blob)));
}

/// Of each layer, the blobs of its own: reshaped while it was the newest, and neither tops nor parameters.
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

/// The error of a read of what was given up. Kept for the rest of the process, once for equal ones.
fn sentence(structure: &Structure, shared: &Shared, is_internal: bool, is_test: bool) -> &'static CStr {
    let layer = structure.layers.get(shared.layer).map_or("", |layer| &layer.name);
    let blob = structure.blob_names.get(&shared.blob).copied().unwrap_or_default();
    let part = if shared.part == PARTS[0] { "data" } else { "gradient" };
    let text = if is_internal {
        format!(
            "the memory inside of layer {layer} is shared (SYNCEDMEM_SHARE), and its contents are gone after a pass; a backward \
             pass needs a net in phase TRAIN"
        )
    } else {
        let phase = if is_test { "; a backward pass needs a net in phase TRAIN" } else { "" };
        format!(
            "the {part} of blob {blob}, which layer {layer} makes, is gone: its memory is shared (SYNCEDMEM_SHARE), and the last \
             layer that needs it has run; to read it, keep it apart: --keep {blob} (SYNCEDMEM_KEEP={blob}){phase}"
        )
    };
    with(|state| {
        if let Some(known) = state.sentences.get(&text) {
            return *known;
        }
        let kept: &'static CStr = Box::leak(CString::new(text.as_str()).unwrap_or_default().into_boxed_c_str());
        state.sentences.insert(text, kept);
        if !is_internal {
            state.kept.names.insert(kept.as_ptr().addr(), blob.to_owned());
        }
        kept
    })
}
