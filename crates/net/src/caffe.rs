//! The Caffes in this process. A [`Caffe`] is one loaded file with its functions and classes.
//!
//! A process may have several, and may close one. This library holds the file of each Caffe open from its first call on, and never uses
//! an address of one for another. A net refers to the Caffe that made it.
#![expect(unsafe_code, reason = "classes and symbols of loaded files are read")]

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::{Bound, Range};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use syncedmem_caffe_file::entries::symbols;
use syncedmem_caffe_file::limit::Limit;
use syncedmem_caffe_file::names::HOOKS;

use crate::accessor::{BlobAccessors, Found, NetAccessors, PassAccessors};
use crate::layout::is_readable;
use crate::loaded::{self, File};

/// `RTLD_DL_SYMENT` of dlfcn.h.
const SYMBOL_ENTRY: c_int = 1;

/// The generation of a class in the Caffe's own file, which stays loaded.
const FOR_EVER: u64 = 0;

/// The range of the names of tables of virtual functions.
const TABLES: (Bound<&str>, Bound<&str>) = (Bound::Included("_ZTV"), Bound::Excluded("_ZTW"));

pub struct Caffe {
    file: File,
    taken: Option<Taken>,
    pub nets: Found<NetAccessors>,
    pub blobs: Found<BlobAccessors>,
    pub passes: Found<PassAccessors>,
    /// Classes by the address of their table's first slot, each with the generation of loaded files for which it is valid, or [`FOR_EVER`].
    classes: Mutex<Option<HashMap<usize, (Class, u64)>>>,
    /// The next older one.
    next: AtomicPtr<Caffe>,
}

/// A Caffe that libsyncedmem has taken over. It may be in a program that was linked without `-rdynamic` and exports no symbols.
pub struct Taken {
    /// Address and bytes of each symbol.
    symbols: BTreeMap<Box<str>, (usize, usize)>,
    /// Addresses by which the originals of `HOOKS` are called; 0 where there is none.
    originals: [usize; HOOKS.len()],
    is_held: AtomicBool,
}

/// A class with virtual functions, and its table.
#[derive(Clone, Copy)]
pub struct Class {
    pub symbol: &'static str,
    /// Address of the first slot, which objects have as the address of their table.
    pub first: usize,
    /// Number of slots.
    pub slots: usize,
    /// Whether the class and its functions are this Caffe's own, and its destructors are known, so that an object can get another table. The
    /// name alone does not show it.
    pub is_caffes: bool,
    /// The complete and the deleting destructor. `None`: the first slots hold something else.
    pub destructors: Option<[usize; 2]>,
}

/// Every Caffe that was found by a call, the newest first.
static NEWEST: AtomicPtr<Caffe> = AtomicPtr::new(null_mut());
/// The Caffe that was taken over last: only one has names at a time.
static TAKEN: AtomicPtr<Caffe> = AtomicPtr::new(null_mut());
/// How many Caffes were taken over.
static TAKES: AtomicU64 = AtomicU64::new(0);

fn at(pointer: *mut Caffe) -> Option<&'static Caffe> {
    // SAFETY: `NEWEST`, `TAKEN` and each `next` are null or a box that is never freed.
    unsafe { pointer.as_ref() }
}

fn all() -> impl Iterator<Item = &'static Caffe> {
    std::iter::successors(at(NEWEST.load(Ordering::Acquire)), |caffe| at(caffe.next.load(Ordering::Relaxed)))
}

/// The Caffe of a loaded file, which it keeps loaded. `None`: another thread has closed the file.
pub fn of(file: &File) -> Option<&'static Caffe> {
    if let Some(taken) = taken().filter(|taken| taken.file == *file) {
        return Some(taken);
    }
    loop {
        let newest = NEWEST.load(Ordering::Acquire);
        if let Some(known) = all().find(|caffe| caffe.file == *file) {
            return Some(known);
        }
        if !file.hold() {
            return None;
        }
        let new = Box::into_raw(Box::new(Caffe::new(file.clone(), None)));
        at(new).inspect(|caffe| caffe.next.store(newest, Ordering::Relaxed));
        match NEWEST.compare_exchange(newest, new, Ordering::AcqRel, Ordering::Relaxed) {
            // SAFETY: `new` was boxed above, and is never freed.
            Ok(_) => return Some(unsafe { &*new }),
            // SAFETY: `new` was boxed above, and was not published.
            Err(_) => drop(unsafe { Box::from_raw(new) }),
        }
    }
}

/// The Caffe that was taken over, if it is still loaded. Keeps it loaded.
pub fn taken() -> Option<&'static Caffe> {
    let caffe = at(TAKEN.load(Ordering::Acquire))?;
    let taken = caffe.taken.as_ref()?;
    if !taken.is_held.load(Ordering::Acquire) {
        if !caffe.file.hold() {
            return None;
        }
        taken.is_held.store(true, Ordering::Release);
    }
    Some(caffe)
}

/// Whether a Caffe in another file has been taken over and is loaded. Called in the dynamic linker, where a file cannot be held.
pub fn has_taken(file: &File) -> bool {
    at(TAKEN.load(Ordering::Acquire)).is_some_and(|caffe| caffe.file != *file && caffe.file.is_loaded())
}

/// Adds a Caffe that is being taken over; `originals` are as in [`Taken`].
pub fn take(file: File, bytes: &[u8], base: usize, originals: [usize; HOOKS.len()]) -> Result<(), Limit> {
    let mut found = BTreeMap::new();
    symbols(bytes, |symbol| {
        if ["_ZN5caffe", "_ZNK5caffe", "_ZTV"].iter().any(|start| symbol.name.starts_with(start)) {
            found.insert(symbol.name.into(), (base.wrapping_add(symbol.address as usize), symbol.size));
        }
        Ok(())
    })?;
    let taken = Taken { symbols: found, originals, is_held: AtomicBool::new(false) };
    TAKEN.store(Box::into_raw(Box::new(Caffe::new(file, Some(taken)))), Ordering::Release);
    TAKES.fetch_add(1, Ordering::Release);
    Ok(())
}

/// How many Caffes were taken over: each one changes the originals of its callers.
pub fn takes() -> u64 {
    TAKES.load(Ordering::Acquire)
}

impl Caffe {
    fn new(file: File, taken: Option<Taken>) -> Caffe {
        let (nets, blobs, passes) = (Found::new(), Found::new(), Found::new());
        Caffe { file, taken, nets, blobs, passes, classes: Mutex::new(None), next: AtomicPtr::new(null_mut()) }
    }

    pub fn range(&self) -> &Range<usize> {
        &self.file.range
    }

    /// Address by which the original of `HOOKS[number]` is called, if its entry was overwritten by a jump.
    pub fn original(&self, number: usize) -> Option<*const c_void> {
        let original = *self.taken.as_ref()?.originals.get(number)?;
        (original != 0).then_some(original as *const c_void)
    }

    pub fn find(&self, symbol: &str) -> Option<*mut c_void> {
        if let Some((address, _)) = self.taken.as_ref().and_then(|taken| taken.symbols.get(symbol)) {
            return Some(*address as *mut c_void);
        }
        self.file.find(&CString::new(symbol).ok()?)
    }

    /// The class of an object with virtual functions.
    pub fn class_of(&self, object: *const c_void) -> Option<Class> {
        if !object.cast::<usize>().is_aligned() || !is_readable(object.addr(), size_of::<usize>()) {
            return None;
        }
        // SAFETY: an object with virtual functions begins with the address of its class's first slot.
        let first = unsafe { *object.cast::<usize>() };
        // Another file may be closed, and a third one loaded in its place.
        let valid = if self.file.range.contains(&first) { FOR_EVER } else { loaded::generation() };
        // In a forked child the lock may be held by a thread that the child lacks.
        let known = self.classes.try_lock().ok().and_then(|classes| classes.as_ref()?.get(&first).copied());
        if let Some((class, _)) = known.filter(|(_, known)| *known == valid) {
            return Some(class);
        }
        let class = self.class_at(first)?;
        if let Ok(mut classes) = self.classes.try_lock() {
            classes.get_or_insert_default().insert(first, (class, valid));
        }
        Some(class)
    }

    fn class_at(&self, first: usize) -> Option<Class> {
        /// Bytes before the first slot: the offset to top and the type info.
        const HEAD: usize = 2 * size_of::<usize>();
        let is_there = |&(_, &(begin, bytes)): &(_, &(usize, usize))| (begin..begin + bytes).contains(&first);
        let mut tables = self.taken.iter().flat_map(|taken| taken.symbols.range::<str, _>(TABLES));
        let (symbol, begin, bytes) = match tables.find(is_there) {
            // SAFETY: `Caffe` and its symbols are never freed.
            Some((symbol, &(begin, bytes))) => (unsafe { &*std::ptr::from_ref::<str>(symbol) }, begin, bytes),
            None => exported_at(first)?,
        };
        if !symbol.starts_with("_ZTV") || first != begin + HEAD || !is_readable(begin, bytes) {
            return None;
        }
        let class =
            Class { symbol, first, slots: (bytes - HEAD) / size_of::<usize>(), is_caffes: false, destructors: None };
        let is_own = |slot: usize| {
            let function = class.slot(slot);
            self.file.range.contains(&function)
                || exported_at(function).is_some_and(|(name, ..)| is_from_a_header(name))
        };
        let is_caffes = symbol.starts_with("_ZTVN5caffe") && self.file.range.contains(&first);
        let is_caffes = is_caffes && (0..class.slots).all(is_own);
        let destructors = self.destructors(class);
        Some(Class { is_caffes: is_caffes && destructors.is_some(), destructors, ..class })
    }

    /// Caffe's classes declare their destructors first.
    fn destructors(&self, class: Class) -> Option<[usize; 2]> {
        let deleting = format!("_Z{}D0Ev", class.name()?);
        // A program that uses the class may have a copy of the function.
        let is_it = self.find(&deleting).is_some_and(|found| found.addr() == class.slot(1))
            || exported_at(class.slot(1)).is_some_and(|(name, ..)| name == deleting);
        (is_it && class.slot(0) != 0).then(|| [class.slot(0), class.slot(1)])
    }
}

impl Class {
    /// The mangled names of its functions begin with this after `_Z`. `None`: the class is in no namespace.
    pub fn name(self) -> Option<&'static str> {
        self.symbol.strip_prefix("_ZTV")?.strip_suffix('E').filter(|name| name.starts_with('N'))
    }

    /// Address of the function in a slot; 0 beyond the last one.
    pub fn slot(self, at: usize) -> usize {
        if at >= self.slots {
            return 0;
        }
        // SAFETY: `class_at` found so many readable slots; the program keeps the file loaded while an object of the class lives.
        unsafe { *(self.first as *const usize).add(at) }
    }

    pub fn slot_of(self, function: *mut c_void) -> Option<usize> {
        (0..self.slots).find(|&at| self.slot(at) == function.addr())
    }
}

/// Whether Caffe defines the function in a header, so that any file may have a copy. It defines no function that computes in a header, except
/// the defaults in `Layer`.
fn is_from_a_header(function: &str) -> bool {
    let Some(rest) = function.strip_prefix("_ZN5caffe").or_else(|| function.strip_prefix("_ZNK5caffe")) else {
        return false;
    };
    let computes = ["Forward_", "Backward_", "7Reshape", "LayerSetUp"].iter().any(|name| rest.contains(name));
    rest.starts_with("5LayerI") || !computes
}

/// Name, address and bytes of the exported symbol that has the address in it.
fn exported_at(address: usize) -> Option<(&'static str, usize, usize)> {
    let mut file = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut entry: *mut c_void = null_mut();
    // SAFETY: dladdr1 takes any address; both results are writable.
    unsafe { libc::dladdr1(address as *const c_void, file.as_mut_ptr(), &mut entry, SYMBOL_ENTRY) };
    // SAFETY: zeros are a valid Dl_info.
    let file = unsafe { file.assume_init() };
    if file.dli_sname.is_null() || entry.is_null() {
        return None;
    }
    // SAFETY: dladdr1 returned both; they are valid while the file is loaded, and the program keeps it loaded while an object of the class lives.
    let (bytes, name) = unsafe { ((*entry.cast::<libc::Elf64_Sym>()).st_size, CStr::from_ptr(file.dli_sname)) };
    Some((name.to_str().ok()?, file.dli_saddr.addr(), usize::try_from(bytes).ok()?))
}

#[cfg(test)]
mod tests {
    use super::is_from_a_header;

    #[test]
    fn a_function_that_computes_is_from_no_header() {
        for (function, is) in [
            ("_ZNK5caffe9ReLULayerIfE4typeEv", true),
            ("_ZN5caffe9ReLULayerIfED0Ev", true),
            ("_ZNK5caffe11NeuronLayerIfE19ExactNumBottomBlobsEv", true),
            ("_ZN5caffe5LayerIfE11Forward_gpuERKSt6vectorIPNS_4BlobIfEESaIS4_EES8_", true),
            ("_ZN5caffe9ReLULayerIfE11Forward_cpuERKSt6vectorIPNS_4BlobIfEESaIS4_EES8_", false),
            ("_ZN5caffe9ReLULayerIfE7ReshapeERKSt6vectorIPNS_4BlobIfEESaIS4_EES8_", false),
            ("_ZN6mosaic9TileLayerIfE4typeEv", false),
        ] {
            assert_eq!(is_from_a_header(function), is, "{function}");
        }
    }
}
