//! Names the objects of nets after their layers.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use syncedmem_core::text::Escaped;

use crate::blob::{Blob, Object};
use crate::layer_type::{is_convolution, is_recurrent};
use crate::library::{set_items, set_name};
use crate::net::{Named, Net, Newest};

/// The state of a net's names.
#[derive(Default)]
pub struct OfNet {
    /// [`CONSTRUCTED`] before the last walk: older objects have their names.
    constructed: u64,
    /// The outputs of layers without inputs: the first axis of the largest is the batch. Empty if `has_time`.
    sources: Vec<Blob>,
    /// Whether a layer is recurrent, or the net is inside a recurrent layer: the first axis of blobs is time.
    has_time: bool,
    /// Items of the batch; 0 if not known.
    batch: u64,
    /// The layer that is being set up.
    newest: Option<Newest>,
    /// Blobs that are neither parameters nor outputs, by address.
    internals: HashMap<usize, Internal>,
    /// While the net is made: the objects that outputs had when they were named, by the addresses of the blobs.
    outputs: HashMap<usize, [usize; 2]>,
}

struct Internal {
    layer: Arc<str>,
    /// Addresses of its objects. The blob may have ended.
    memory: [usize; 2],
    /// Whether the layer handles images one by one, so that the first axis is not the batch.
    one_by_one: bool,
}

/// The number of objects that were constructed in this process.
static CONSTRUCTED: AtomicU64 = AtomicU64::new(0);

/// [`CONSTRUCTED`] when the last object of each slot was constructed. Objects whose addresses have the same slot share it; then the older
/// one is named again.
static BORN: [AtomicU64; 1 << 13] = [const { AtomicU64::new(0) }; 1 << 13];

/// Whether Caffe calls a constructor. Before rc4 it is inlined: then any object of a reshaped blob may be new.
static HAS_CONSTRUCTOR: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CONSTRUCTED_HERE: Cell<usize> = const { Cell::new(0) };
}

fn born(object: Object) -> &'static AtomicU64 {
    /// `malloc` aligns objects so.
    const ALIGNMENT: usize = 16;
    let number = object.address() / ALIGNMENT;
    &BORN[(number ^ number >> 13) % BORN.len()]
}

fn note_new(object: Object) {
    born(object).fetch_max(CONSTRUCTED.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    CONSTRUCTED_HERE.set(CONSTRUCTED_HERE.get() + 1);
}

pub fn constructed(object: Object) {
    HAS_CONSTRUCTOR.store(true, Ordering::Relaxed);
    note_new(object);
}

pub fn count() -> u64 {
    CONSTRUCTED.load(Ordering::Relaxed)
}

/// The number of objects that this thread constructed.
pub fn constructed_here() -> usize {
    CONSTRUCTED_HERE.get()
}

pub fn has_constructor() -> bool {
    HAS_CONSTRUCTOR.load(Ordering::Relaxed)
}

/// Whether this thread may have constructed an object for the blob since `constructed_here` was `before`.
pub fn has_constructed(before: usize, blob: impl FnOnce() -> Option<Blob>) -> bool {
    if !has_constructor() {
        let memory = blob().filter(|blob| blob.has_axes()).and_then(Blob::memory);
        memory.into_iter().flatten().for_each(note_new);
    }
    CONSTRUCTED_HERE.get() != before
}

/// Names the objects of a solver's history after the net's parameters.
pub fn history(net: Net, solver: *const c_void) -> Option<()> {
    let names = net.layer_names()?;
    for (blob, Named { layer, which, .. }, is_second) in net.history(solver)? {
        let second = if is_second { " 2" } else { "" };
        set_name(blob.memory()?[0], &format!("{} {which} history{second}", Escaped(names.get(layer)?)))?;
    }
    Some(())
}

impl OfNet {
    pub fn of(is_inner: bool) -> OfNet {
        OfNet { has_time: is_inner, ..OfNet::default() }
    }

    /// Names the objects of a net at the end of `Init`.
    pub fn made(&mut self, net: Net) -> Option<()> {
        if !self.has_time {
            self.sources = net.sources()?;
        }
        self.newest = None;
        self.measure();
        let result = self.walk(net, true, |_| true);
        self.outputs = HashMap::new();
        result
    }

    /// Reads the batch, which the program may have changed since the last call.
    fn measure(&mut self) {
        self.batch = batch(&self.sources);
    }

    /// Names the objects that were constructed since the last walk.
    pub fn again(&mut self, net: Net) -> Option<()> {
        // The count includes this thread's objects, and only the net's thread makes objects of the net.
        if self.constructed == count() {
            return Some(());
        }
        self.measure();
        self.walk(net, false, |_| true)
    }

    /// Names the objects of a net in the middle of a call, before an allocation fails. Does nothing without enough memory for the names,
    /// because a failed allocation would end the process.
    pub fn so_far(&mut self, net: Net, is_new: bool) -> Option<()> {
        /// In bytes, more than the names need.
        const NEEDED: usize = 1 << 20;
        let mut reserve = Vec::<u8>::new();
        std::hint::black_box(&mut reserve).try_reserve_exact(NEEDED).ok()?;
        drop(reserve);
        self.measure();
        self.walk(net, is_new, Blob::has_axes)
    }

    fn walk(&mut self, net: Net, is_new: bool, is_made: impl Fn(Blob) -> bool) -> Option<()> {
        let (constructed, batch) = (count(), self.batch);
        let names = net.layer_names()?;
        let mut seen = HashSet::new();
        for Named { blob, layer, which, may_grow } in net.parameters()?.into_iter().chain(net.outputs()?) {
            if is_new {
                self.internals.remove(&blob.address());
            }
            // A net that is being made has blobs without memory.
            let Some(name) = names.get(layer).filter(|_| is_made(blob)) else { continue };
            let Some(memory) = blob.memory() else { continue };
            let is_named = self.outputs.get(&blob.address()) == Some(&memory.map(|object| object.address()));
            for (object, gradient) in memory.into_iter().zip(["", " gradient"]) {
                if !is_new && born(object).load(Ordering::Relaxed) <= self.constructed {
                    continue;
                }
                // Layers share memory: the first one names it.
                if seen.insert(object.address()) && !is_named {
                    set_name(object, &format!("{} {which}{gradient}", Escaped(name)))?;
                    set_items(object, if may_grow { items(blob, batch) } else { 0 })?;
                }
            }
        }
        self.constructed = constructed;
        Some(())
    }

    fn newest(&mut self, net: Net) -> Option<&Newest> {
        let count = net.layer_count()?;
        if self.newest.as_ref().is_none_or(|newest| newest.number + 1 != count) {
            let newest = net.newest_layer()?;
            self.has_time |= is_recurrent(newest.kind);
            // When the first layer with inputs is set up, most layers without inputs exist.
            if self.sources.is_empty() && !newest.is_source && !self.has_time {
                self.sources = net.sources().unwrap_or_default();
                self.measure();
            }
            if self.has_time {
                self.sources.clear();
                self.batch = 0;
            }
            self.newest = Some(newest);
        }
        self.newest.as_ref()
    }

    /// The layer that is being set up has constructed an object outside of blobs.
    pub fn constructed(&mut self, net: Net, object: Object) -> Option<()> {
        let name = format!("{} internal", self.newest(net)?.name);
        set_name(object, &name)
    }

    /// A blob got new memory in `Init`. It counts as an output of the newest layer, or as internal to that layer. Returns the layer's number.
    pub fn reshaped_in_init(&mut self, net: Net, blob: Blob) -> Option<usize> {
        let batch = self.batch;
        let newest = self.newest(net)?;
        let (number, name) = (newest.number, Arc::clone(&newest.name));
        let memory = blob.memory()?;
        if let Some(which) = newest.output(blob) {
            for (object, gradient) in memory.into_iter().zip(["", " gradient"]) {
                set_name(object, &format!("{name} {which}{gradient}"))?;
                set_items(object, items(blob, batch))?;
            }
            // The walk sets the items later if the batch is not known yet.
            if batch > 0 {
                self.outputs.insert(blob.address(), memory.map(|object| object.address()));
            }
        } else {
            let one_by_one = is_convolution(newest.kind);
            self.internals.entry(blob.address()).or_insert(Internal { layer: name, memory: [0; 2], one_by_one });
            self.reshaped(blob)?;
        }
        Some(number)
    }

    /// A blob got new memory in a call of the net. Names it if it is internal, and sets its items.
    pub fn reshaped(&mut self, blob: Blob) -> Option<()> {
        if !self.internals.contains_key(&blob.address()) {
            return None;
        }
        self.measure();
        let batch = self.batch;
        let internal = self.internals.get_mut(&blob.address())?;
        let objects = blob.memory()?;
        let before = std::mem::replace(&mut internal.memory, objects.map(|object| object.address()));
        for (object, _) in objects.into_iter().zip(before).filter(|(object, before)| object.address() != *before) {
            set_name(object, &format!("{} internal", internal.layer))?;
            set_items(object, if internal.one_by_one { 0 } else { items(blob, batch) })?;
        }
        Some(())
    }
}

/// The batch: the first axis of the largest output of layers without inputs.
pub fn batch(sources: &[Blob]) -> u64 {
    sources.iter().map(|blob| blob.size()).max().map_or(0, |(_, axis)| axis)
}

/// The items of the batch in a blob: all, or 0.
fn items(blob: Blob, batch: u64) -> u64 {
    if batch > 0 && blob.first_axis() == batch { batch } else { 0 }
}
