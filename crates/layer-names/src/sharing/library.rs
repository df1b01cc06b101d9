//! Functions of libsyncedmem's that share memory.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::AtomicPtr;

use crate::record::function;

/// `syncedmem::share(SyncedMemory*, const char* gone)`: whether the object is shared.
pub fn share(object: *mut c_void, gone: &'static CStr) -> bool {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    type Share = unsafe extern "C" fn(*mut c_void, *const c_char) -> bool;
    let Some(found) = function(&FOUND, c"_ZN9syncedmem5shareEPN5caffe12SyncedMemoryEPKc") else { return false };
    // SAFETY: libsyncedmem gives this name this signature.
    let share = unsafe { transmute::<*mut c_void, Share>(found) };
    // SAFETY: the caller has the object from a blob of a net that lives; the string stays.
    unsafe { share(object, gone.as_ptr()) }
}

/// `syncedmem::place(SyncedMemory*, unsigned long offset, unsigned long whole)`
pub fn place(object: *mut c_void, offset: usize, whole: usize) {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    type Place = unsafe extern "C" fn(*mut c_void, usize, usize);
    if let Some(found) = function(&FOUND, c"_ZN9syncedmem5placeEPN5caffe12SyncedMemoryEmm") {
        // SAFETY: as in `share`.
        let place = unsafe { transmute::<*mut c_void, Place>(found) };
        // SAFETY: as there.
        unsafe { place(object, offset, whole) };
    }
}

/// `syncedmem::discard(SyncedMemory*)`
pub fn discard(object: *mut c_void) {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    type Discard = unsafe extern "C" fn(*mut c_void);
    if let Some(found) = function(&FOUND, c"_ZN9syncedmem7discardEPN5caffe12SyncedMemoryE") {
        // SAFETY: as in `share`.
        let discard = unsafe { transmute::<*mut c_void, Discard>(found) };
        // SAFETY: as there.
        unsafe { discard(object) };
    }
}

/// `syncedmem::executing(unsigned what, unsigned long step)`
pub fn executing(what: u32, step: u64) -> u32 {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    type Executing = unsafe extern "C" fn(u32, u64) -> u32;
    let Some(found) = function(&FOUND, c"_ZN9syncedmem9executingEjm") else { return 0 };
    // SAFETY: as in `share`.
    let executing = unsafe { transmute::<*mut c_void, Executing>(found) };
    // SAFETY: it takes any numbers.
    unsafe { executing(what, step) }
}

/// `syncedmem::sharing(unsigned long* figures, unsigned long* touched, unsigned long room)`: of the host and of devices, bytes that the
/// arenas needed, the most that were lent at once, and the most that the shared objects would have had at once; and the
/// addresses of the sentences of objects that were touched from outside of layers.
pub fn figures() -> ([[u64; 3]; 2], Vec<usize>) {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    type Figures = unsafe extern "C" fn(*mut [[u64; 3]; 2], *mut usize, usize) -> usize;
    let (mut figures, mut touched) = ([[0; 3]; 2], vec![0; 100]);
    if let Some(found) = function(&FOUND, c"_ZN9syncedmem7sharingEPmS0_m") {
        // SAFETY: as in `share`.
        let read = unsafe { transmute::<*mut c_void, Figures>(found) };
        // SAFETY: the numbers and a vector can be written.
        let count = unsafe { read(&mut figures, touched.as_mut_ptr(), touched.len()) };
        touched.truncate(count);
    }
    (figures, touched)
}
