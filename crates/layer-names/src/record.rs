//! Gives libsyncedmem the names.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::blob::Blob;
use crate::function::Function;
use crate::layout::is_readable;
use crate::net::{Named, Net};

/// `SYNCEDMEM_NAME_BYTES` of syncedmem.h.
const LONGEST: usize = 200;

/// Bytes of a `SyncedMemory`: of every Caffe's, at least.
const OBJECT: usize = 32;

#[derive(Default)]
struct Objects {
    /// In the order of the walk.
    addresses: Vec<usize>,
    /// [`CONSTRUCTED`] before the walk.
    constructed: usize,
    /// Items of the batch; 0 before a layer with inputs.
    batch: u64,
    /// By a blob's address.
    internals: HashMap<usize, Internal>,
}

/// Neither a parameter nor an output.
struct Internal {
    name: String,
    memory: [usize; 2],
    one_by_one: bool,
}

/// By the address of a net. A net that ended leaves its entry, until another begins at its address.
static NAMED: Mutex<Option<HashMap<usize, Objects>>> = Mutex::new(None);

/// Objects that Caffe has constructed; 0 where the constructor is inlined, before Caffe's rc4. A net gets no other
/// memory.
static CONSTRUCTED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CONSTRUCTED_HERE: Cell<usize> = const { Cell::new(0) };
}

pub fn constructed() {
    CONSTRUCTED.fetch_add(1, Ordering::Relaxed);
    CONSTRUCTED_HERE.set(CONSTRUCTED_HERE.get() + 1);
}

pub fn constructed_here() -> usize {
    CONSTRUCTED_HERE.get()
}

/// Whether this thread may have constructed an object since it had constructed `before`.
pub fn may_have_constructed(before: usize) -> bool {
    CONSTRUCTED_HERE.get() != before || CONSTRUCTED.load(Ordering::Relaxed) == 0
}

fn set_items(object: *mut c_void, items: u64) -> Option<()> {
    static SET_ITEMS: Function<unsafe extern "C" fn(*mut c_void, usize) -> c_int> =
        Function::new("syncedmem_set_items");
    let set_items = SET_ITEMS.of_library()?;
    if is_readable(object.addr(), OBJECT) {
        // SAFETY: as in `set_name`.
        unsafe { set_items(object, items as usize) };
    }
    Some(())
}

fn set_name(object: *mut c_void, name: &str) -> Option<()> {
    static SET_NAME: Function<unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int> =
        Function::new("syncedmem_set_name");
    let set_name = SET_NAME.of_library()?;
    let name = CString::new(beginning(name, LONGEST)).ok()?;
    if is_readable(object.addr(), OBJECT) {
        // SAFETY: the object is a SyncedMemory of a blob's. A refusal leaves it without a name.
        unsafe { set_name(object, name.as_ptr()) };
    }
    Some(())
}

/// Names a net's objects that have no name yet; all if the net `is_new`.
pub fn net(net: Net, is_new: bool) -> Option<()> {
    walk(net, is_new, |_| true)
}

/// As `net`, in the middle of a call. Without memory for the names, the process would end.
pub fn net_so_far(net: Net, is_new: bool) -> Option<()> {
    /// Bytes: more than the names need.
    const NEEDED: usize = 1 << 20;
    let mut room = Vec::<u8>::new();
    std::hint::black_box(&mut room).try_reserve_exact(NEEDED).ok()?;
    drop(room);
    walk(net, is_new, Blob::has_axes)
}

fn walk(net: Net, is_new: bool, is_made: impl Fn(Blob) -> bool) -> Option<()> {
    // Not waited for: a child of fork may find it locked for ever.
    let mut nets = NAMED.try_lock().ok()?;
    let nets = nets.get_or_insert_default();
    let before = nets.entry(net.address()).or_default();
    if is_new {
        before.addresses.clear();
    }
    // Of this thread, which is the net's, none is missing.
    let constructed = CONSTRUCTED.load(Ordering::Relaxed);
    if constructed != 0 && before.constructed == constructed {
        return Some(());
    }
    let mut now = Vec::with_capacity(before.addresses.len());
    let mut seen = HashSet::new();
    let batch = if before.batch > 0 { before.batch } else { net.batch().unwrap_or(0) };
    for Named { blob, name, may_grow } in net.parameters()?.into_iter().chain(net.outputs()?) {
        if is_new {
            before.internals.remove(&blob.address());
        }
        if !is_made(blob) {
            continue;
        }
        let gradient = format!("{name} gradient");
        let items = if may_grow && batch > 0 && blob.first_axis() == batch { batch } else { 0 };
        let Some(memory) = blob.memory() else { continue };
        for (object, name) in memory.into_iter().zip([name, gradient]) {
            // Layers share memory: the first one names it.
            if seen.insert(object.addr()) {
                if before.addresses.get(now.len()) != Some(&object.addr()) {
                    set_name(object, &name)?;
                    // An output was taken for what its layer has inside, until now.
                    set_items(object, items)?;
                }
                now.push(object.addr());
            }
        }
    }
    (before.addresses, before.constructed) = (now, constructed);
    Some(())
}

/// Notes the layers of a new net.
pub fn layers(net: Net, is_inner: bool) -> Option<()> {
    note(net.layers(is_inner)?)
}

/// Notes lines about a net.
pub fn note(lines: String) -> Option<()> {
    // `syncedmem::net(const char* layers)`
    static NOTE: Function<unsafe extern "C" fn(*const c_char)> = Function::new("_ZN9syncedmem3netEPKc");
    let note = NOTE.of_library()?;
    let lines = CString::new(lines).ok()?;
    // SAFETY: it reads a C string.
    unsafe { note(lines.as_ptr()) };
    Some(())
}

pub fn history(net: Net, solver: *const c_void) -> Option<()> {
    for Named { blob, name, .. } in net.history(solver)? {
        set_name(blob.memory()?[0], &name)?;
    }
    Some(())
}

/// Names an object of the newest layer of a net that is being made.
pub fn internal(net: Net, object: *mut c_void) -> Option<()> {
    set_name(object, &format!("{} internal", net.newest_name()?))
}

/// Forgets the net that was at the address of one that begins.
pub fn begin(net: Net) -> Option<()> {
    NAMED.try_lock().ok()?.get_or_insert_default().remove(&net.address());
    Some(())
}

/// Notes the items of new memory, and names it, unless `internal` has.
pub fn reshaped(net: Net, is_new: bool, blob: Blob) -> Option<()> {
    let mut nets = NAMED.try_lock().ok()?;
    let of_net = nets.get_or_insert_default().entry(net.address()).or_default();
    let objects = blob.memory()?;
    let memory = objects.map(|object| object.addr());
    if is_new && !of_net.internals.contains_key(&blob.address()) {
        let newest = net.newest_layer()?;
        let name = format!("{} internal", newest.name);
        of_net.internals.insert(blob.address(), Internal { name, memory: [0; 2], one_by_one: newest.one_by_one });
        if of_net.batch == 0 && !newest.is_source {
            of_net.batch = net.batch()?;
        }
    }
    let batch = if of_net.batch > 0 { of_net.batch } else { net.batch()? };
    let internal = of_net.internals.get_mut(&blob.address())?;
    for (object, before) in objects.into_iter().zip(internal.memory) {
        if object.addr() != before {
            // `internal` has named the objects of a new net, unless the constructor is inlined.
            if !is_new || CONSTRUCTED.load(Ordering::Relaxed) == 0 {
                set_name(object, &internal.name)?;
            }
            let grows = batch > 0 && !internal.one_by_one && blob.first_axis() == batch;
            set_items(object, if grows { batch } else { 0 })?;
        }
    }
    internal.memory = memory;
    Some(())
}

/// At most `most` bytes, of whole letters.
fn beginning(name: &str, most: usize) -> &str {
    let end = (0..=most.min(name.len())).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    &name[..end]
}
