//! Tells libsyncedmem the names.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::layout::is_readable;
use crate::net::{Named, Net};

/// `SYNCEDMEM_NAME_BYTES` of syncedmem.h. A longer name is cut.
const LONGEST: usize = 200;

/// Bytes of a `SyncedMemory`, of every Caffe at least.
const OBJECT: usize = 32;

/// `syncedmem_set_name`
type SetName = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;

/// The objects that have got the names of a net.
#[derive(Default)]
struct Objects {
    /// In the order of the walk.
    addresses: Vec<usize>,
    /// [`CONSTRUCTED`] before the walk.
    constructed: usize,
}

/// By the address of a net. Nets that ended leave their entry, until another begins at their address.
static NAMED: Mutex<Option<HashMap<usize, Objects>>> = Mutex::new(None);

/// Objects that Caffe has constructed: a net gets no other memory. It stays 0 where the constructor is inlined, before Caffe's rc4.
static CONSTRUCTED: AtomicUsize = AtomicUsize::new(0);

/// Notes that an object was constructed.
pub fn constructed() {
    CONSTRUCTED.fetch_add(1, Ordering::Relaxed);
}

fn set_name(object: *mut c_void, name: &str) -> Option<()> {
    static SET_NAME: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut found = SET_NAME.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the symbol is NUL-terminated.
        found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"syncedmem_set_name".as_ptr()) };
        if found.is_null() {
            return None;
        }
        SET_NAME.store(found, Ordering::Relaxed);
    }
    // SAFETY: syncedmem.h gives this name this signature; no function is null.
    let set_name = unsafe { transmute::<*mut c_void, SetName>(found) };
    let name = CString::new(beginning(name, LONGEST)).ok()?;
    if is_readable(object.addr(), OBJECT) {
        // SAFETY: the object is a SyncedMemory that a blob of Caffe's holds. A refusal leaves it without a name.
        unsafe { set_name(object, name.as_ptr()) };
    }
    Some(())
}

/// Names the objects of a net that have no name yet; all of them if the net `is_new`.
pub fn net(net: Net, is_new: bool) -> Option<()> {
    // Not waited for: a child of fork may find it locked for ever.
    let mut nets = NAMED.try_lock().ok()?;
    let nets = nets.get_or_insert_default();
    if is_new {
        nets.remove(&net.address());
    }
    let before = nets.entry(net.address()).or_default();
    // Of this thread, which is the net's, none is missing.
    let constructed = CONSTRUCTED.load(Ordering::Relaxed);
    if constructed != 0 && before.constructed == constructed {
        return Some(());
    }
    let mut now = Vec::with_capacity(before.addresses.len());
    let mut seen = HashSet::new();
    for Named { blob, name } in net.parameters()?.into_iter().chain(net.outputs()?) {
        let gradient = format!("{name} gradient");
        for (object, name) in net.memory(blob)?.into_iter().zip([name, gradient]) {
            // Layers share memory: the first one names it.
            if seen.insert(object.addr()) {
                if before.addresses.get(now.len()) != Some(&object.addr()) {
                    set_name(object, &name)?;
                }
                now.push(object.addr());
            }
        }
    }
    *before = Objects { addresses: now, constructed };
    Some(())
}

/// Names the history of a solver after the parameters of its net.
pub fn history(net: Net, solver: *const c_void) -> Option<()> {
    for Named { blob, name } in net.history(solver)? {
        set_name(net.memory(blob)?[0], &name)?;
    }
    Some(())
}

/// Names an object after the newest layer of the net that is being made.
pub fn internal(net: Net, object: *mut c_void) -> Option<()> {
    set_name(object, &format!("{} internal", net.newest_layer()?))
}

/// The beginning of a name, of at most `most` bytes and whole letters.
fn beginning(name: &str, most: usize) -> &str {
    let end = (0..=most.min(name.len())).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    &name[..end]
}
