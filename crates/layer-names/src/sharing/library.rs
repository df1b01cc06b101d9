//! Functions of libsyncedmem's that share memory.

use std::ffi::{CStr, c_char, c_void};

use crate::library::Function;

/// Whether the object is shared from now on.
pub fn share(object: *mut c_void, gone: &'static CStr) -> bool {
    type Share = unsafe extern "C" fn(*mut c_void, *const c_char) -> bool;
    // `syncedmem::share(SyncedMemory*, const char* gone)`
    static SHARE: Function<Share> = Function::new(c"_ZN9syncedmem5shareEPN5caffe12SyncedMemoryEPKc");
    // SAFETY: the caller has the object from a blob of a net that lives; the string stays.
    SHARE.find().is_some_and(|share| unsafe { share(object, gone.as_ptr()) })
}

pub fn place(object: *mut c_void, offset: usize, whole: usize) {
    type Place = unsafe extern "C" fn(*mut c_void, usize, usize);
    // `syncedmem::place(SyncedMemory*, unsigned long offset, unsigned long whole)`
    static PLACE: Function<Place> = Function::new(c"_ZN9syncedmem5placeEPN5caffe12SyncedMemoryEmm");
    if let Some(place) = PLACE.find() {
        // SAFETY: as in `share`.
        unsafe { place(object, offset, whole) };
    }
}

pub fn discard(object: *mut c_void) {
    // `syncedmem::discard(SyncedMemory*)`
    static DISCARD: Function<unsafe extern "C" fn(*mut c_void)> =
        Function::new(c"_ZN9syncedmem7discardEPN5caffe12SyncedMemoryE");
    if let Some(discard) = DISCARD.find() {
        // SAFETY: as in `share`.
        unsafe { discard(object) };
    }
}

/// How many bytes of the object's memory layers write, from its beginning on.
pub fn written(object: *mut c_void, bytes: usize) {
    type Written = unsafe extern "C" fn(*mut c_void, usize);
    // `syncedmem::written(SyncedMemory*, unsigned long bytes)`
    static WRITTEN: Function<Written> = Function::new(c"_ZN9syncedmem7writtenEPN5caffe12SyncedMemoryEm");
    if let Some(written) = WRITTEN.find() {
        // SAFETY: as in `share`.
        unsafe { written(object, bytes) };
    }
}

/// Returns what was executed before.
pub fn executing(what: u32, step: u64) -> u32 {
    // `syncedmem::executing(unsigned what, unsigned long step)`
    static EXECUTING: Function<unsafe extern "C" fn(u32, u64) -> u32> = Function::new(c"_ZN9syncedmem9executingEjm");
    // SAFETY: it takes any numbers.
    EXECUTING.find().map_or(0, |executing| unsafe { executing(what, step) })
}

/// Of the host and of devices, bytes that the arenas needed, the most that were lent at once, and the most that the shared objects would
/// have had at once; and the addresses of the sentences of objects that were touched from outside of layers.
pub fn figures() -> ([[u64; 3]; 2], Vec<usize>) {
    type Figures = unsafe extern "C" fn(*mut [[u64; 3]; 2], *mut usize, usize) -> usize;
    // `syncedmem::sharing(unsigned long* figures, unsigned long* touched, unsigned long room)`
    static SHARING: Function<Figures> = Function::new(c"_ZN9syncedmem7sharingEPmS0_m");
    let (mut figures, mut touched) = ([[0; 3]; 2], vec![0; 100]);
    if let Some(read) = SHARING.find() {
        // SAFETY: the numbers and a vector can be written.
        let count = unsafe { read(&mut figures, touched.as_mut_ptr(), touched.len()) };
        touched.truncate(count);
    }
    (figures, touched)
}
