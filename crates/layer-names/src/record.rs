//! Gives libsyncedmem the names.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use syncedmem_core::text::Escaped;

use crate::blob::Blob;
use crate::layer_type::{is_convolution, is_recurrent};
use crate::layout::is_readable;
use crate::library::Function;
use crate::net::{Named, Net, Newest};

/// `SYNCEDMEM_NAME_BYTES` of syncedmem.h.
const LONGEST: usize = 200;

/// Bytes of a `SyncedMemory`: of every Caffe's, at least.
const OBJECT: usize = 32;

/// What is known of a net's names.
#[derive(Default)]
pub struct OfNet {
    /// [`CONSTRUCTED`] before the walk: objects that are older have their names.
    constructed: u64,
    /// The outputs of layers without inputs: of the largest, the first axis is the batch. Empty in the inner net of a recurrent layer, and
    /// in a net that has one.
    sources: Vec<Blob>,
    /// Whether a layer is recurrent, or the net is inside of one: the first axis of its blobs is time.
    has_time: bool,
    /// Items of the batch; 0: not known.
    batch: u64,
    /// The layer that is being set up.
    newest: Option<Newest>,
    /// Blobs that are neither parameters nor outputs, by their addresses.
    internals: HashMap<usize, Internal>,
    /// The objects that outputs had when they were named, while the net is made; by the addresses of blobs.
    outputs: HashMap<usize, [usize; 2]>,
}

struct Internal {
    layer: Arc<str>,
    /// Addresses of its objects. The blob itself may have ended.
    memory: [usize; 2],
    one_by_one: bool,
}

/// The number of objects that were constructed. A net gets no other memory.
static CONSTRUCTED: AtomicU64 = AtomicU64::new(0);

/// When the object at an address was constructed, as a number of [`CONSTRUCTED`]. Objects of one place share a number: the older one is named
/// again.
static BORN: [AtomicU64; 1 << 13] = [const { AtomicU64::new(0) }; 1 << 13];

/// Whether Caffe's constructor is inlined, as before rc4: what a blob has after it was reshaped may be new.
static HAS_CONSTRUCTOR: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CONSTRUCTED_HERE: Cell<usize> = const { Cell::new(0) };
}

fn born(object: *const c_void) -> &'static AtomicU64 {
    /// `malloc` aligns objects to it.
    const ALIGNMENT: usize = 16;
    let place = object.addr() / ALIGNMENT;
    &BORN[(place ^ place >> 13) % BORN.len()]
}

fn note_new(object: *const c_void) {
    born(object).fetch_max(CONSTRUCTED.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    CONSTRUCTED_HERE.set(CONSTRUCTED_HERE.get() + 1);
}

pub fn constructed(object: *const c_void) {
    HAS_CONSTRUCTOR.store(true, Ordering::Relaxed);
    note_new(object);
}

/// The number of objects that were constructed.
pub fn count() -> u64 {
    CONSTRUCTED.load(Ordering::Relaxed)
}

pub fn constructed_here() -> usize {
    CONSTRUCTED_HERE.get()
}

pub fn has_constructor() -> bool {
    HAS_CONSTRUCTOR.load(Ordering::Relaxed)
}

/// Whether this thread may have constructed an object for the blob since it had constructed `before`.
pub fn has_constructed(before: usize, blob: impl FnOnce() -> Option<Blob>) -> bool {
    if !has_constructor() {
        let memory = blob().filter(|blob| blob.has_axes()).and_then(Blob::memory);
        memory.into_iter().flatten().for_each(|object| note_new(object));
    }
    CONSTRUCTED_HERE.get() != before
}

fn set_items(object: *mut c_void, items: u64) -> Option<()> {
    static SET_ITEMS: Function<unsafe extern "C" fn(*mut c_void, usize) -> c_int> =
        Function::new(c"syncedmem_set_items");
    let set_items = SET_ITEMS.find()?;
    if is_readable(object.addr(), OBJECT) {
        // SAFETY: as in `set_name`.
        unsafe { set_items(object, items as usize) };
    }
    Some(())
}

fn set_name(object: *mut c_void, name: &str) -> Option<()> {
    static SET_NAME: Function<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int> =
        Function::new(c"syncedmem_set_name");
    let set_name = SET_NAME.find()?;
    let name = CString::new(beginning(name, LONGEST)).ok()?;
    if is_readable(object.addr(), OBJECT) {
        // SAFETY: the object is a SyncedMemory of a blob's. A refusal leaves it without a name.
        unsafe { set_name(object, name.as_ptr()) };
    }
    Some(())
}

/// Whether this thread makes a net from now on, whose objects get names; returns whether it did.
pub fn making(is_on: bool) -> bool {
    // `syncedmem::making(bool)`
    static MAKING: Function<unsafe extern "C" fn(bool) -> bool> = Function::new(c"_ZN9syncedmem6makingEb");
    // SAFETY: it has no preconditions.
    MAKING.find().is_some_and(|making| unsafe { making(is_on) })
}

/// Notes lines about a net.
pub fn note(lines: String) -> Option<()> {
    // `syncedmem::net(const char* layers)`
    static NOTE: Function<unsafe extern "C" fn(*const c_char)> = Function::new(c"_ZN9syncedmem3netEPKc");
    let note = NOTE.find()?;
    let lines = CString::new(lines).ok()?;
    // SAFETY: it reads a C string.
    unsafe { note(lines.as_ptr()) };
    Some(())
}

/// The history of a solver for the net's parameters.
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

    /// Names the objects of a net that was made.
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

    /// A program may have given the inputs another batch since the last call.
    fn measure(&mut self) {
        self.batch = batch(&self.sources);
    }

    /// Names the objects that have no name yet, after a call that may have made some.
    pub fn again(&mut self, net: Net) -> Option<()> {
        // No object of the net is missing: this thread, which is the net's, has counted its own.
        if self.constructed == count() {
            return Some(());
        }
        self.measure();
        self.walk(net, false, |_| true)
    }

    /// Names the objects of a net in the middle of a call. Without memory for the names, the process would end.
    pub fn so_far(&mut self, net: Net, is_new: bool) -> Option<()> {
        /// Bytes: more than the names need.
        const NEEDED: usize = 1 << 20;
        let mut room = Vec::<u8>::new();
        std::hint::black_box(&mut room).try_reserve_exact(NEEDED).ok()?;
        drop(room);
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
            // A net that is being made has outputs of its first layers.
            let Some(name) = names.get(layer).filter(|_| is_made(blob)) else { continue };
            let Some(memory) = blob.memory() else { continue };
            let is_named = self.outputs.get(&blob.address()) == Some(&memory.map(|object| object.addr()));
            for (object, gradient) in memory.into_iter().zip(["", " gradient"]) {
                if !is_new && born(object).load(Ordering::Relaxed) <= self.constructed {
                    continue;
                }
                // Layers share memory: the first one names it.
                if seen.insert(object.addr()) && !is_named {
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
            // When the first layer with inputs is set up, the layers without, or most of them, have been.
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

    /// An object that is no blob's was constructed by the layer that is being set up.
    pub fn constructed(&mut self, net: Net, object: *mut c_void) -> Option<()> {
        let name = format!("{} internal", self.newest(net)?.name);
        set_name(object, &name)
    }

    /// A blob of a net that is being made has new memory: an output or an internal blob of the newest layer, as far as is known. Returns
    /// the layer's number.
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
            // The batch may become known later.
            if batch > 0 {
                self.outputs.insert(blob.address(), memory.map(|object| object.addr()));
            }
        } else {
            let one_by_one = is_convolution(newest.kind);
            self.internals.entry(blob.address()).or_insert(Internal { layer: name, memory: [0; 2], one_by_one });
            self.reshaped(blob)?;
        }
        Some(number)
    }

    /// A blob has new memory, in a call of the net's. Names it, if it is an internal blob, and notes its items.
    pub fn reshaped(&mut self, blob: Blob) -> Option<()> {
        if !self.internals.contains_key(&blob.address()) {
            return None;
        }
        self.measure();
        let batch = self.batch;
        let internal = self.internals.get_mut(&blob.address())?;
        let objects = blob.memory()?;
        let before = std::mem::replace(&mut internal.memory, objects.map(|object| object.addr()));
        for (object, _) in objects.into_iter().zip(before).filter(|(object, before)| object.addr() != *before) {
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

/// The items of the batch that a blob holds: all, or none.
fn items(blob: Blob, batch: u64) -> u64 {
    if batch > 0 && blob.first_axis() == batch { batch } else { 0 }
}

/// Cuts a name to at most `most` bytes, at the end of a letter.
fn beginning(name: &str, most: usize) -> &str {
    let end = (0..=most.min(name.len())).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    &name[..end]
}
