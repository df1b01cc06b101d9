//! The functions of libsyncedmem that this library calls, found by name when they are first needed. They do nothing if libsyncedmem
//! is not loaded.
#![expect(unsafe_code, reason = "functions of another library are called")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use syncedmem_core::waited::Waited;

use crate::blob::Object;

/// `SYNCEDMEM_NAME_BYTES` of syncedmem.h.
const LONGEST_NAME: usize = 200;

/// A function of this name and type. libsyncedmem is never unloaded.
struct Function<F> {
    symbol: &'static CStr,
    found: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    /// # Safety
    /// libsyncedmem's function of that name has the type `F`.
    const unsafe fn new(symbol: &'static CStr) -> Self {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Function { symbol, found: AtomicPtr::new(null_mut()), of: PhantomData }
    }

    fn find(&self) -> Option<F> {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the symbol is NUL-terminated.
            found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.symbol.as_ptr()) };
            if found.is_null() {
                return None;
            }
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: the caller of `new` gave the function's type, whose size `new` checked.
        Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }
}

/// Defines a static `Function`, whose type is that of libsyncedmem's `src/abi/net.rs` or `include/syncedmem.h`.
macro_rules! function {
    ($name:ident: fn($($of:ty),*) $(-> $result:ty)?, $symbol:literal) => {
        // SAFETY: libsyncedmem declares it so in src/abi/net.rs or include/syncedmem.h.
        static $name: Function<unsafe extern "C" fn($($of),*) $(-> $result)?> = unsafe { Function::new($symbol) };
    };
}

pub fn set_name(object: Object, name: &str) -> Option<()> {
    function!(SET_NAME: fn(*mut c_void, *const c_char) -> c_int, c"syncedmem_set_name");
    let set_name = SET_NAME.find()?;
    let name = CString::new(beginning(name, LONGEST_NAME)).ok()?;
    if object.is_readable() {
        // SAFETY: `Object` is a SyncedMemory that lives; the name is NUL-terminated.
        unsafe { set_name(object.pointer(), name.as_ptr()) };
    }
    Some(())
}

/// The items of the batch that the object holds.
pub fn set_items(object: Object, items: u64) -> Option<()> {
    function!(SET_ITEMS: fn(*mut c_void, usize) -> c_int, c"syncedmem_set_items");
    let set_items = SET_ITEMS.find()?;
    if object.is_readable() {
        // SAFETY: `Object` is a SyncedMemory that lives.
        unsafe { set_items(object.pointer(), items as usize) };
    }
    Some(())
}

/// Sets whether this thread is making a net, whose objects get names; returns the previous value.
pub fn making(is_on: bool) -> bool {
    function!(MAKING: fn(bool) -> bool, c"_ZN9syncedmem6makingEb");
    // SAFETY: the function has no preconditions.
    MAKING.find().is_some_and(|making| unsafe { making(is_on) })
}

/// Writes lines about a net to the trace.
pub fn note(lines: String) -> Option<()> {
    function!(NOTE: fn(*const c_char), c"_ZN9syncedmem3netEPKc");
    let note = NOTE.find()?;
    let lines = CString::new(lines).ok()?;
    // SAFETY: `lines` is NUL-terminated.
    unsafe { note(lines.as_ptr()) };
    Some(())
}

/// Writes a pass that ends now to the trace: a number of `PassKind`, the solver's iteration plus 1, or 0, and the time of the beginning.
pub fn pass(kind: u32, iteration: u64, start: u64) {
    function!(PASS: fn(u32, u64, u64), c"_ZN9syncedmem4passEjmm");
    if let Some(pass) = PASS.find() {
        // SAFETY: the function takes any numbers.
        unsafe { pass(kind, iteration, start) };
    }
}

/// Returns whether the object's memory is shared from now on. `gone` is the error of a read after its contents were discarded.
pub fn share(object: Object, gone: &'static CStr) -> bool {
    function!(SHARE: fn(*mut c_void, *const c_char) -> bool, c"_ZN9syncedmem5shareEPN5caffe12SyncedMemoryEPKc");
    // SAFETY: `Object` is a SyncedMemory that lives; the string is never freed.
    SHARE.find().is_some_and(|share| unsafe { share(object.pointer(), gone.as_ptr()) })
}

/// The offsets in the arena of a shared object's next new block, of its block for contents that come back, and of the contents while they
/// are parked; the bytes of these, and those that the whole plan needs.
#[repr(C)]
pub struct Places {
    pub first: usize,
    pub again: usize,
    pub stored: usize,
    pub stored_bytes: usize,
    pub whole: usize,
}

pub fn place(object: Object, places: &Places) {
    function!(PLACE: fn(*mut c_void, *const Places), c"_ZN9syncedmem5placeEPN5caffe12SyncedMemoryEPKm");
    if let Some(place) = PLACE.find() {
        // SAFETY: `Object` is a SyncedMemory that lives.
        unsafe { place(object.pointer(), places) };
    }
}

/// Whether this thread's objects can be parked: not in GPU mode, and not in page-locked memory.
pub fn parks() -> bool {
    function!(PARKS: fn() -> bool, c"_ZN9syncedmem5parksEv");
    // SAFETY: the function has no preconditions.
    PARKS.find().is_some_and(|parks| unsafe { parks() })
}

/// Parks the contents of a shared object. The twins may have the same contents: in each of so many rows a row of each twin, one after the
/// other. Returns the bytes that the contents take, if they are parked.
pub fn park(object: Object, twins: &[*mut c_void], rows: usize) -> Option<usize> {
    type Twins = *const *mut c_void;
    function!(PARK: fn(*mut c_void, Twins, usize, usize) -> isize, c"_ZN9syncedmem4parkEPN5caffe12SyncedMemoryEPKPKS1_mm");
    let park = PARK.find()?;
    // SAFETY: an `Object` is a SyncedMemory that lives, and the plan says that no layer uses its pointers until it asks again.
    usize::try_from(unsafe { park(object.pointer(), twins.as_ptr(), twins.len(), rows) }).ok()
}

/// Discards the contents of a shared object.
pub fn discard(object: Object) {
    function!(DISCARD: fn(*mut c_void), c"_ZN9syncedmem7discardEPN5caffe12SyncedMemoryE");
    if let Some(discard) = DISCARD.find() {
        // SAFETY: `Object` is a SyncedMemory that lives, and the plan says that no layer uses its pointers any more.
        unsafe { discard(object.pointer()) };
    }
}

/// Sets how many bytes of a shared object's memory layers write, from its beginning on.
pub fn written(object: Object, bytes: usize) {
    function!(WRITTEN: fn(*mut c_void, usize), c"_ZN9syncedmem7writtenEPN5caffe12SyncedMemoryEm");
    if let Some(written) = WRITTEN.find() {
        // SAFETY: `Object` is a SyncedMemory that lives.
        unsafe { written(object.pointer(), bytes) };
    }
}

/// Sets what this thread executes, a number of libsyncedmem's `Executing`, and its step in the trace; returns the previous number.
pub fn executing(what: u32, step: u64) -> u32 {
    function!(EXECUTING: fn(u32, u64) -> u32, c"_ZN9syncedmem9executingEjm");
    // SAFETY: the function takes any numbers.
    EXECUTING.find().map_or(0, |executing| unsafe { executing(what, step) })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Figures {
    /// Figures of the host and of devices: bytes that the arenas needed, the most that were used at once, and the most that the shared objects would
    /// have had at once without sharing.
    pub sides: [[u64; 3]; 2],
    /// When most bytes were parked.
    pub parked: Waited,
}

impl Figures {
    pub const NONE: Figures = Figures { sides: [[0; 3]; 2], parked: Waited([[0; 3]; 3]) };
}

/// Returns the figures, and the addresses of the sentences of objects that were touched outside of layers.
pub fn figures() -> (Figures, Vec<usize>) {
    function!(SHARING: fn(*mut Figures, *mut usize, usize) -> usize, c"_ZN9syncedmem7sharingEPmS0_m");
    let (mut figures, mut touched) = (Figures::NONE, vec![0; 100]);
    if let Some(read) = SHARING.find() {
        // SAFETY: both pointers are to local variables, the second to so many numbers.
        let count = unsafe { read(&mut figures, touched.as_mut_ptr(), touched.len()) };
        touched.truncate(count);
    }
    (figures, touched)
}

/// Cuts a name to at most `most` bytes, between two characters.
fn beginning(name: &str, most: usize) -> &str {
    let end = (0..=most.min(name.len())).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
    &name[..end]
}
