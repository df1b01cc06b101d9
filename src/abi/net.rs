//! C++ functions for `crates/net`, which are in no header.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_char;
use std::ptr::NonNull;

use syncedmem_core::waited::Waited;
use syncedmem_trace::event::PassKind;

use super::arguments::string;
use super::call::entry;
use crate::memory::arena::device::Place;
use crate::memory::arena::{self, Figures};
use crate::memory::host;
use crate::object::SyncedMemory;
use crate::object::sharing::{Executing, parked, share};
use crate::observe::{recorder, trace};

/// `syncedmem::pass(unsigned kind, unsigned long iteration, unsigned long start)`: records a pass that ends now, if
/// there is a trace. `kind` is a number of [`PassKind`], `iteration` the solver's plus 1 (0 without one), `start` the
/// pass's begin in nanoseconds of CLOCK_MONOTONIC.
#[unsafe(export_name = "_ZN9syncedmem4passEjmm")]
pub extern "C" fn pass(kind: u32, iteration: u64, start: u64) {
    entry!(|| {
        if let Some(&kind) = PassKind::ALL.get(kind as usize) {
            trace::pass(kind, iteration.checked_sub(1), start);
        }
    });
}

/// `syncedmem::net(const char* layers)`: records the layers of a new net, if there is a trace, as the recording's format
/// has them.
#[unsafe(export_name = "_ZN9syncedmem3netEPKc")]
pub unsafe extern "C" fn net(layers: *const c_char) {
    entry!(string(layers), |layers| trace::net(layers.to_bytes()));
}

/// `syncedmem::making(bool)`: sets whether this thread makes a net, whose objects get names; returns the
/// old value.
#[unsafe(export_name = "_ZN9syncedmem6makingEb")]
pub extern "C" fn making(is_on: bool) -> bool {
    recorder::name_objects(is_on)
}

/// `syncedmem::share(SyncedMemory*, const char* gone)`: an untouched object takes its memory from its thread's
/// arena from now on, as long as only layers touch it. `gone` is the error sentence of a read of contents that were given up; it
/// stays valid for the rest of the process. Returns whether the object is shared.
#[unsafe(export_name = "_ZN9syncedmem5shareEPN5caffe12SyncedMemoryEPKc")]
pub unsafe extern "C" fn share(object: NonNull<SyncedMemory>, gone: *const c_char) -> bool {
    let mut is_shared = false;
    entry!(string(gone), |gone| {
        // SAFETY: libsyncedmem_net.so passes an object of a net that lives.
        is_shared = unsafe { object.as_ref() }.share(gone)?;
    });
    is_shared
}

/// `syncedmem::place(SyncedMemory*, const unsigned long* numbers)`: sets the offsets in its arena, in bytes, of a shared object's next new
/// block, of its block after its contents were parked, and of the parked contents; then the bytes of these, and those that the whole plan
/// needs. A place is used if it is free then.
#[unsafe(export_name = "_ZN9syncedmem5placeEPN5caffe12SyncedMemoryEPKm")]
pub unsafe extern "C" fn place(object: NonNull<SyncedMemory>, numbers: NonNull<[usize; 5]>) {
    // SAFETY: libsyncedmem_net.so passes an array of five.
    let [first, again, stored, bytes, whole] = unsafe { numbers.read() };
    let [first, again, stored] = [first, again, stored].map(|offset| Place { offset: Some(offset), whole });
    // SAFETY: libsyncedmem_net.so passes an object of a net that lives.
    entry!(|| unsafe { object.as_ref() }.place([first, again], (stored, bytes))?);
}

/// `syncedmem::parks()`: whether the thread's objects can be parked: on the host, and not in page-locked memory.
#[unsafe(export_name = "_ZN9syncedmem5parksEv")]
pub extern "C" fn parks() -> bool {
    let mut parks = false;
    entry!(|| parks = !host::wants_pinned(0));
    parks
}

/// `syncedmem::park(SyncedMemory*, const SyncedMemory* const* twins, unsigned long count, unsigned long rows)`: parks the contents, if the
/// object is shared and that saves memory. The twins may have the same contents: in each of so many rows a row of each twin, one after the
/// other. Returns the bytes that the contents take; -1: they are not parked.
#[unsafe(export_name = "_ZN9syncedmem4parkEPN5caffe12SyncedMemoryEPKPKS1_mm")]
pub unsafe extern "C" fn park(
    object: NonNull<SyncedMemory>,
    twins: *const NonNull<SyncedMemory>,
    count: usize,
    rows: usize,
) -> isize {
    let mut taken = -1;
    entry!(|| {
        // SAFETY: libsyncedmem_net.so passes an array of so many objects of a net that lives.
        let twins = (0..count).map(|at| unsafe { twins.add(at).read().as_ref() });
        // SAFETY: libsyncedmem_net.so passes an object of a net that lives.
        let object = unsafe { object.as_ref() };
        // SAFETY: only layers had pointers to the object's memory, and the caller says that none uses them any more.
        if let Some(bytes) = unsafe { object.park(twins, rows) }? {
            taken = bytes as isize;
        }
    });
    taken
}

/// `syncedmem::written(SyncedMemory*, unsigned long bytes)`: sets how many bytes of a shared object's memory layers write from
/// now on.
#[unsafe(export_name = "_ZN9syncedmem7writtenEPN5caffe12SyncedMemoryEm")]
pub unsafe extern "C" fn written(object: NonNull<SyncedMemory>, bytes: usize) {
    // SAFETY: libsyncedmem_net.so passes an object of a net that lives.
    entry!(|| unsafe { object.as_ref() }.written(bytes)?);
}

/// `syncedmem::discard(SyncedMemory*)`: gives up the contents, if the object is shared.
#[unsafe(export_name = "_ZN9syncedmem7discardEPN5caffe12SyncedMemoryE")]
pub unsafe extern "C" fn discard(object: NonNull<SyncedMemory>) {
    entry!(|| {
        // SAFETY: libsyncedmem_net.so passes an object of a net that lives.
        let object = unsafe { object.as_ref() };
        // SAFETY: only layers had pointers to the object's memory, and the caller says that none uses them any more.
        unsafe { object.discard_shared() }?;
    });
}

/// `syncedmem::executing(unsigned what, unsigned long step)`: sets what this thread executes, a number of `Executing`; returns
/// the old value. Records the step in a trace, unless it is 0.
#[unsafe(export_name = "_ZN9syncedmem9executingEjm")]
pub extern "C" fn executing(what: u32, step: u64) -> u32 {
    if step != 0 {
        entry!(|| trace::step(step));
    }
    Executing::ALL.get(what as usize).copied().unwrap_or(Executing::Nothing).begin() as u32
}

/// `syncedmem::sharing(unsigned long* figures, unsigned long* touched, unsigned long most)`: writes to
/// `figures`, for the host and then for devices, the bytes that the arenas needed, the most that were in use at once, and the most
/// that the shared objects would have had at once; then the figures of `Waited`, of the moment when most bytes were parked. Writes at most
/// `most` sentences of objects that were touched from outside of layers to `touched`; returns their number.
#[unsafe(export_name = "_ZN9syncedmem7sharingEPmS0_m")]
pub unsafe extern "C" fn sharing(figures: NonNull<[[u64; 3]; 5]>, touched: NonNull<usize>, most: usize) -> usize {
    let ([host, device], sentences) = share::figures();
    let (of_host, of_devices) = (arena::host::figures(), arena::device::figures());
    let [host, devices] = [(of_host, host), (of_devices, device)]
        .map(|(Figures { needed, most_in_use, .. }, would_be)| [needed, most_in_use, would_be]);
    let Waited([twins, differences, zeros]) = parked::figures();
    // SAFETY: libsyncedmem_net.so passes five times three numbers.
    unsafe { figures.write([host, devices, twins, differences, zeros]) };
    let sentences = sentences.take(most).enumerate();
    sentences.fold(0, |_, (at, sentence)| {
        // SAFETY: libsyncedmem_net.so passes an array of `most`.
        unsafe { touched.add(at).write(sentence.addr()) };
        at + 1
    })
}
