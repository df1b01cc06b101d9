//! Stands in front of one layer's `Forward_cpu` and `Backward_cpu`: the layer object gets a copy of its class's table of
//! virtual functions, with two slots exchanged. Layers of nets that share nothing keep their own.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::sync::Mutex;

use super::library;
use crate::at_fork::lock;
use crate::layout::is_readable;
use crate::original::find;

/// `Forward_cpu(const vector<Blob*>& bottom, const vector<Blob*>& top)`
type Forward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void);
/// `Backward_cpu(const vector<Blob*>& top, const vector<bool>& propagate_down, const vector<Blob*>& bottom)`
type Backward = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void, *const c_void);

/// Before the first slot, to which objects point: the offset to the top, and the type.
const HEAD: usize = 2;
const WORD: usize = size_of::<usize>();
/// `RTLD_DL_SYMENT` of dlfcn.h.
const SYMBOL_ENTRY: libc::c_int = 1;

/// What is done at the end of a call of a layer.
pub struct Layer {
    pub executing: u32,
    pub after_forward: Box<dyn Fn() + Send + Sync>,
    pub after_backward: Box<dyn Fn() + Send + Sync>,
}

/// The copy of a table, behind the word that leads to its [`Shim`].
struct Shim {
    forward: Forward,
    backward: Backward,
    layer: Layer,
}

/// The slots of the two functions, which are the same in all classes, because `Layer` declares them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    forward: usize,
    backward: usize,
}

/// A class's table: its first slot, and the number of slots.
#[derive(Clone, Copy)]
struct Table {
    first: *const usize,
    slots: usize,
    symbol: &'static str,
}

impl Table {
    /// Of an object with virtual functions.
    fn of(object: *const c_void) -> Option<Table> {
        if !object.cast::<usize>().is_aligned() || !is_readable(object.addr(), WORD) {
            return None;
        }
        // SAFETY: an object with virtual functions begins with the address of its class's first slot.
        let first = unsafe { *object.cast::<*const usize>() };
        let mut file = MaybeUninit::<libc::Dl_info>::zeroed();
        let mut entry: *mut c_void = std::ptr::null_mut();
        // SAFETY: dladdr1 takes any address; both results are writable.
        let found = unsafe { libc::dladdr1(first.cast(), file.as_mut_ptr(), &mut entry, SYMBOL_ENTRY) };
        // SAFETY: zeros are a value of it.
        let file = unsafe { file.assume_init() };
        if found == 0 || file.dli_sname.is_null() || entry.is_null() {
            return None;
        }
        // SAFETY: the loader's symbols and names stay while Caffe, whose layer this is, is loaded.
        let (bytes, name) = unsafe { ((*entry.cast::<libc::Elf64_Sym>()).st_size, CStr::from_ptr(file.dli_sname)) };
        let slots = (usize::try_from(bytes).ok()? / WORD).checked_sub(HEAD)?;
        let is_start = first.addr() == file.dli_saddr.addr() + HEAD * WORD;
        let symbol = name.to_str().ok()?;
        (is_start && symbol.starts_with("_ZTVN")).then_some(Table { first, slots, symbol })
    }

    fn slot(self, at: usize) -> usize {
        // SAFETY: `at` is below the number of slots, which the symbol's size gives.
        unsafe { *self.first.add(at) }
    }

    /// The slot of the class's own function.
    fn find(self, function: &str) -> Option<usize> {
        let class = self.symbol.strip_prefix("_ZTV")?.strip_suffix('E')?;
        let address = find(&format!("_Z{class}{function}"))?.addr();
        (0..self.slots).find(|&at| self.slot(at) == address)
    }
}

impl Slots {
    /// `None`: the object's class has no such function of its own under the name that Caffe's header gives.
    pub fn of(object: *const c_void, letter: &str) -> Option<Slots> {
        let table = Table::of(object)?;
        let blobs = format!("RKSt6vectorIPNS_4BlobI{letter}EESaIS5_EE");
        Some(Slots {
            forward: table.find(&format!("11Forward_cpuE{blobs}S9_"))?,
            backward: table.find(&format!("12Backward_cpuE{blobs}RKS2_IbSaIbEES9_"))?,
        })
    }
}

/// By the object's address: a table stays until another layer begins there.
pub static TABLES: Mutex<Vec<(usize, Box<[usize]>)>> = Mutex::new(Vec::new());

/// Puts `layer` in front of the object's functions.
///
/// # Safety
/// The object is a layer that lives, and no thread calls it meanwhile.
pub unsafe fn attach(object: *mut c_void, slots: Slots, layer: Layer) -> Option<()> {
    let table = Table::of(object)?;
    let function = |at: usize| (at < table.slots).then(|| table.slot(at)).filter(|&address| address != 0);
    // SAFETY: the slots are those of the functions, of these types.
    let forward = unsafe { std::mem::transmute::<usize, Forward>(function(slots.forward)?) };
    // SAFETY: as above.
    let backward = unsafe { std::mem::transmute::<usize, Backward>(function(slots.backward)?) };
    let shim = Box::into_raw(Box::new(Shim { forward, backward, layer }));
    let mut copy = vec![0; 1 + HEAD + table.slots].into_boxed_slice();
    copy[0] = shim.addr();
    for (at, word) in copy[1..].iter_mut().enumerate() {
        // SAFETY: a table's head lies before its first slot.
        *word = unsafe { *table.first.sub(HEAD).add(at) };
    }
    copy[1 + HEAD + slots.forward] = before_forward as *const () as usize;
    copy[1 + HEAD + slots.backward] = before_backward as *const () as usize;
    let mut tables = lock(&TABLES);
    // SAFETY: the caller guarantees the object; the copy stays as long as it.
    unsafe { *object.cast::<*const usize>() = copy.as_ptr().add(1 + HEAD) };
    match tables.binary_search_by_key(&object.addr(), |(address, _)| *address) {
        Ok(at) => {
            let (_, old) = std::mem::replace(&mut tables[at], (object.addr(), copy));
            // SAFETY: the layer that was here has ended; its shim was boxed above.
            drop(unsafe { Box::from_raw(old[0] as *mut Shim) });
        }
        Err(at) => tables.insert(at, (object.addr(), copy)),
    }
    Some(())
}

/// # Safety
/// `object` has a copy of `attach`.
unsafe fn shim<'a>(object: *const c_void) -> &'a Shim {
    // SAFETY: the caller guarantees it: the word before the copy's head leads to the shim.
    unsafe { &*(*(*object.cast::<*const usize>()).sub(1 + HEAD) as *const Shim) }
}

/// What this thread executed before. An exception of Caffe's drops it too.
struct Executing(u32);

impl Drop for Executing {
    fn drop(&mut self) {
        library::executing(self.0);
    }
}

unsafe extern "C-unwind" fn before_forward(object: *mut c_void, bottom: *const c_void, top: *const c_void) {
    // SAFETY: only copies of `attach` have this function.
    let shim = unsafe { shim(object) };
    {
        let _executing = Executing(library::executing(shim.layer.executing));
        // SAFETY: the caller called the layer's function with these arguments.
        unsafe { (shim.forward)(object, bottom, top) };
    }
    (shim.layer.after_forward)();
}

unsafe extern "C-unwind" fn before_backward(
    object: *mut c_void,
    top: *const c_void,
    propagate_down: *const c_void,
    bottom: *const c_void,
) {
    // SAFETY: as in `before_forward`.
    let shim = unsafe { shim(object) };
    {
        let _executing = Executing(library::executing(shim.layer.executing));
        // SAFETY: as there.
        unsafe { (shim.backward)(object, top, propagate_down, bottom) };
    }
    (shim.layer.after_backward)();
}
