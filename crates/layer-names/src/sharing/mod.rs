//! Lets the objects of a net share memory whose contents are dead: `SYNCEDMEM_SHARE` is `gradients` or `all`.
//!
//! At the end of `Net::Init` the net is read, [`plan`] says after which calls of which layers the contents of which blobs
//! die, and each of these layers gets a [`shim`]. Between the calls no object is shared: libsyncedmem keeps one apart that
//! is touched there.

mod layer_types;
pub mod library;
mod offsets;
mod plan;
pub mod report;
mod shim;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, OnceLock};

use crate::blob::{Blob, bytes_of};
use crate::net::{Net, Structure};
use layer_types::{Rule, rule};
use offsets::{Block, offsets};
use plan::{Call, Mode, PARTS, Shared, plan};
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

/// By the address of a blob.
struct Member {
    parts: [Option<&'static CStr>; 2],
    /// An internal blob's memory as it was shared: a layer may let the blob hold another's for a while.
    own: Option<[usize; 2]>,
}

/// The blobs of all nets. A net that ended leaves its entries, until other blobs begin at their addresses.
static MEMBERS: Mutex<Option<HashMap<usize, Member>>> = Mutex::new(None);

struct Making {
    net: usize,
    /// Each blob that a layer reshaped, behind the layer's number.
    reshaped: Vec<(usize, Blob)>,
}

thread_local! {
    /// Whether a blob of a net has new memory since the last plan.
    static GREW: Cell<bool> = const { Cell::new(false) };
    /// The net that this thread is making.
    static MAKING: RefCell<Option<Making>> = const { RefCell::new(None) };
}

pub fn begin(net: Net, is_inner: bool) -> Option<()> {
    if is_on() && !is_inner {
        MAKING.replace(Some(Making { net: net.address(), reshaped: Vec::new() }));
    }
    Some(())
}

/// A blob has new memory.
pub fn reshaped(net: Net, is_new: bool, blob: Blob) -> Option<()> {
    if !is_on() {
        return None;
    }
    if !is_new {
        GREW.set(true);
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
    let mut members = MEMBERS.try_lock().ok()?;
    let member = members.as_mut()?.get_mut(&blob.address())?;
    let memory = blob.memory()?;
    if let Some(own) = &mut member.own {
        *own = memory.map(|object| object.addr());
    }
    Some([0, 1].map(|part| member.parts[part].is_some_and(|gone| library::share(memory[part], gone))))
}

fn discard(blob: Blob, part: usize) -> Option<()> {
    let object = blob.memory()?[part];
    let own = MEMBERS.try_lock().ok()?.as_ref()?.get(&blob.address())?.own;
    if own.is_none_or(|own| own[part] == object.addr()) {
        library::discard(object);
    }
    Some(())
}

/// Reads the net that was made, and stands in front of its layers.
pub fn attach(net: Net) -> Option<()> {
    let mode = settings().mode?;
    let Making { net: made, reshaped } = MAKING.take()?;
    if made != net.address() {
        return None;
    }
    let is_test = net.is_test()?;
    let structure = net.structure()?;
    let slots = structure.layers.iter().find_map(|layer| Slots::of(layer.object, net.letter()))?;
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
    let kept =
        |blob: &&usize| settings().kept.iter().any(|name| structure.blob_names.get(*blob) == Some(&name.as_str()));
    let kept: HashSet<usize> = structure.blob_names.keys().filter(kept).copied().collect();
    let planned = plan(&layers, is_test, mode, &kept);
    let own: HashMap<usize, Blob> = internals.iter().flatten().map(|blob| (blob.address(), *blob)).collect();
    let blob_at = |address: usize| {
        own.get(&address).copied().unwrap_or_else(|| Blob::new(address as *const c_void, net.letter()))
    };
    forget(planned.shared.iter().map(|shared| shared.blob).chain(planned.apart.iter().map(|&(blob, _)| blob)));
    let mut calls: HashMap<Call, Vec<(Blob, usize)>> = HashMap::new();
    for shared in &planned.shared {
        let blob = blob_at(shared.blob);
        let gone = sentence(&structure, shared, own.contains_key(&shared.blob), is_test);
        let is_own = own.contains_key(&shared.blob);
        with_members(|members| {
            let member =
                members.entry(shared.blob).or_insert(Member { parts: [None; 2], own: is_own.then_some([0; 2]) });
            member.parts[shared.part as usize] = Some(gone);
        })?;
        for &end in &shared.ends {
            calls.entry(end).or_default().push((blob, shared.part as usize));
        }
    }
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
            after_forward: after(Call::Forward(number)),
            after_backward: after(Call::Backward(number)),
        };
        // SAFETY: the net holds the layer; Caffe's thread is at the end of the net's `Init`.
        unsafe { shim::attach(layer.object, slots, layer_shim) };
    }
    let mut placed: Vec<Placed> = Vec::new();
    for shared in &planned.shared {
        let (blob, part) = (blob_at(shared.blob), shared.part as usize);
        let is_shared = share(blob).is_some_and(|parts| parts[part]);
        // Layers do not touch the diffs of what they have inside, but for one of BatchNorm's.
        if is_shared && (part == 0 || !own.contains_key(&shared.blob)) {
            let step = |call: &Call| match *call {
                Call::Forward(layer) => layer,
                Call::Backward(layer) => 2 * layers.len() - 1 - layer,
            };
            let lives = shared.begins.iter().map(step).zip(shared.ends.iter().map(step)).collect();
            placed.push(Placed { blob, part, lives, group: shared.group });
        }
    }
    place(&placed);
    NETS.lock().ok()?.get_or_insert_default().insert(net.address(), placed);
    report::planned(&structure, &planned.apart);
    Some(())
}

/// A blob's part in a plan.
struct Placed {
    blob: Blob,
    part: usize,
    lives: Vec<(usize, usize)>,
    /// The first blob of those that hold one memory.
    group: usize,
}

/// By the address of a net. A net that ended leaves its entry, until another begins at its address.
static NETS: Mutex<Option<HashMap<usize, Vec<Placed>>>> = Mutex::new(None);

/// Plans anew if blobs grew.
pub fn place_again(net: Net) -> Option<()> {
    if is_on() && GREW.take() {
        place(NETS.try_lock().ok()?.as_ref()?.get(&net.address())?);
    }
    Some(())
}

/// Tells libsyncedmem where in the arena each object's block lies.
fn place(placed: &[Placed]) {
    /// As the arena rounds them.
    const ROOM: usize = 64;
    let mut groups: HashMap<(usize, usize), usize> = HashMap::new();
    let (mut blocks, mut objects): (Vec<Block>, Vec<(*mut c_void, usize)>) = (Vec::new(), Vec::new());
    for one in placed {
        let Some(object) = one.blob.memory().map(|memory| memory[one.part]) else { continue };
        let Some(bytes) = bytes_of(object) else { continue };
        let at = *groups.entry((one.group, one.part)).or_insert(blocks.len());
        if at == blocks.len() {
            blocks.push(Block { bytes: 0, lives: one.lives.clone() });
        }
        blocks[at].bytes = blocks[at].bytes.max((bytes + 16).next_multiple_of(ROOM));
        objects.push((object, at));
    }
    let offsets = offsets(&blocks);
    for (object, at) in objects {
        library::place(object, offsets[at]);
    }
}

fn with_members<R>(work: impl FnOnce(&mut HashMap<usize, Member>) -> R) -> Option<R> {
    Some(work(MEMBERS.try_lock().ok()?.get_or_insert_default()))
}

/// Forgets blobs of an earlier net at these addresses.
fn forget(blobs: impl Iterator<Item = usize>) -> Option<()> {
    with_members(|members| {
        for blob in blobs {
            members.remove(&blob);
        }
    })
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
    static SENTENCES: Mutex<Option<HashMap<String, &'static CStr>>> = Mutex::new(None);
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
    let Ok(mut sentences) = SENTENCES.lock() else { return c"the contents are gone: the memory is shared" };
    let sentences = sentences.get_or_insert_default();
    if let Some(known) = sentences.get(&text) {
        return known;
    }
    let kept: &'static CStr = Box::leak(CString::new(text.as_str()).unwrap_or_default().into_boxed_c_str());
    sentences.insert(text, kept);
    if !is_internal {
        report::names(kept, blob);
    }
    kept
}
