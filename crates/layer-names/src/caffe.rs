//! A Caffe in this process: one loaded file, its functions, and its classes.
//!
//! A process may have several Caffes, and may close one. A [`Caffe`] belongs to one loaded file, which is held open from the first call
//! on, and addresses of one are never used for another. A net keeps the Caffe that made it.

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

const FOR_EVER: u64 = 0;

/// The names of classes' tables.
const TABLES: (Bound<&str>, Bound<&str>) = (Bound::Included("_ZTV"), Bound::Excluded("_ZTW"));

pub struct Caffe {
    file: File,
    taken: Option<Taken>,
    pub nets: Found<NetAccessors>,
    pub blobs: Found<BlobAccessors>,
    pub passes: Found<PassAccessors>,
    /// Classes by the address of their table's first slot, with the generation of loaded files for which they hold, or [`FOR_EVER`].
    classes: Mutex<Option<HashMap<usize, (Class, u64)>>>,
    /// The Caffe that was found before.
    next: AtomicPtr<Caffe>,
}

/// What is known of a Caffe that libsyncedmem takes over. A program that was linked without `-rdynamic` exports no symbols.
pub struct Taken {
    /// Address and bytes by name.
    symbols: BTreeMap<Box<str>, (usize, usize)>,
    /// The ways to the originals, or 0, in the order of `HOOKS`.
    originals: [usize; HOOKS.len()],
    is_held: AtomicBool,
}

/// A class with virtual functions, and its table.
#[derive(Clone, Copy)]
pub struct Class {
    pub symbol: &'static str,
    /// Address of the first function's slot, to which objects point.
    pub first: usize,
    /// Number of the functions' slots.
    pub slots: usize,
    /// Whether class and functions are those of this Caffe, which its name alone does not show, and objects can have another table.
    pub is_caffes: bool,
    /// The destructors of a complete object, and one that also frees it. `None`: the first slots hold something else.
    pub destructors: Option<[usize; 2]>,
}

/// Every Caffe, the newest first.
static NEWEST: AtomicPtr<Caffe> = AtomicPtr::new(null_mut());
/// The Caffe that was taken over last. Of those, one has names at a time.
static TAKEN: AtomicPtr<Caffe> = AtomicPtr::new(null_mut());
/// How many Caffes were taken over.
static TAKES: AtomicU64 = AtomicU64::new(0);

fn at(pointer: *mut Caffe) -> Option<&'static Caffe> {
    // SAFETY: `NEWEST` and `TAKEN` and each `next` hold null, or a box that is never freed.
    unsafe { pointer.as_ref() }
}

fn all() -> impl Iterator<Item = &'static Caffe> {
    std::iter::successors(at(NEWEST.load(Ordering::Acquire)), |caffe| at(caffe.next.load(Ordering::Relaxed)))
}

/// The Caffe of that loaded file, which stays loaded from now on. `None`: another thread has closed the file meanwhile.
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
            // SAFETY: `new` was boxed above, and stays.
            Ok(_) => return Some(unsafe { &*new }),
            // SAFETY: `new` was boxed above, and no other thread has seen it.
            Err(_) => drop(unsafe { Box::from_raw(new) }),
        }
    }
}

/// The Caffe that is taken over, if it is still loaded. It stays loaded from now on.
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

/// Whether another Caffe than that of the file has been taken over and is loaded. Called from within the dynamic linker, which cannot be asked
/// to hold a file.
pub fn has_taken(file: &File) -> bool {
    at(TAKEN.load(Ordering::Acquire)).is_some_and(|caffe| caffe.file != *file && caffe.file.is_loaded())
}

/// Notes a Caffe that is taken over: its loaded file, and the ways to its originals in the order of `HOOKS`.
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

/// Changes whenever a Caffe is taken over: its callers have another original than before.
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

    /// The way to the original of `HOOKS[number]`, if its entry is a jump.
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
        // Another file may be closed, and yet another one take its place.
        let valid = if self.file.range.contains(&first) { FOR_EVER } else { loaded::generation() };
        // A child of fork may find the lock held by a thread that it does not have.
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
        /// Before the first slot: the offset to the top, and the type.
        const HEAD: usize = 2 * size_of::<usize>();
        let is_there = |&(_, &(begin, bytes)): &(_, &(usize, usize))| (begin..begin + bytes).contains(&first);
        let mut tables = self.taken.iter().flat_map(|taken| taken.symbols.range::<str, _>(TABLES));
        let (symbol, begin, bytes) = match tables.find(is_there) {
            // SAFETY: a Caffe that is taken over is never freed.
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

    /// Caffe's classes declare them first.
    fn destructors(&self, class: Class) -> Option<[usize; 2]> {
        let deleting = format!("_Z{}D0Ev", class.name()?);
        // A program that uses the class may have the function, too.
        let is_it = self.find(&deleting).is_some_and(|found| found.addr() == class.slot(1))
            || exported_at(class.slot(1)).is_some_and(|(name, ..)| name == deleting);
        (is_it && class.slot(0) != 0).then(|| [class.slot(0), class.slot(1)])
    }
}

impl Class {
    /// The beginning of its functions' mangled names, behind `_Z`. `None`: it is in no namespace.
    pub fn name(self) -> Option<&'static str> {
        self.symbol.strip_prefix("_ZTV")?.strip_suffix('E').filter(|name| name.starts_with('N'))
    }

    /// The function in a slot.
    pub fn slot(self, at: usize) -> usize {
        if at >= self.slots {
            return 0;
        }
        // SAFETY: `class_at` found so many readable slots; the file stays loaded while an object of the class lives.
        unsafe { *(self.first as *const usize).add(at) }
    }

    /// The slot of the function at this address.
    pub fn slot_of(self, function: *mut c_void) -> Option<usize> {
        (0..self.slots).find(|&at| self.slot(at) == function.addr())
    }
}

/// Whether a function of Caffe's stands in a header, and so may be any file's: the compiler makes it wherever it is used. Those that compute
/// stand in none, but for what `Layer` has for classes without them.
fn is_from_a_header(function: &str) -> bool {
    let Some(rest) = function.strip_prefix("_ZN5caffe").or_else(|| function.strip_prefix("_ZNK5caffe")) else {
        return false;
    };
    let computes = ["Forward_", "Backward_", "7Reshape", "LayerSetUp"].iter().any(|name| rest.contains(name));
    rest.starts_with("5LayerI") || !computes
}

/// Name, address and bytes of the exported symbol in which an address is.
fn exported_at(address: usize) -> Option<(&'static str, usize, usize)> {
    let mut file = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut entry: *mut c_void = null_mut();
    // SAFETY: dladdr1 takes any address; both results are writable.
    unsafe { libc::dladdr1(address as *const c_void, file.as_mut_ptr(), &mut entry, SYMBOL_ENTRY) };
    // SAFETY: zeros are a value of it.
    let file = unsafe { file.assume_init() };
    if file.dli_sname.is_null() || entry.is_null() {
        return None;
    }
    // SAFETY: the loader's symbols and names stay while the file is loaded, as it is while an object of its class lives.
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
