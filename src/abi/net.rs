//! Functions for libsyncedmem_names.so, which alone stands in front of Caffe's nets: in no header.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_char;
use std::ptr::NonNull;

use syncedmem_trace::event::PassKind;

use super::arguments::string;
use super::call::entry;
use crate::memory::arena::device::Place;
use crate::memory::arena::{self, Figures};
use crate::object::SyncedMemory;
use crate::object::sharing::{Executing, share};
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

/// `syncedmem::making(bool)`: whether this thread makes a net, whose objects get names, from now on; returns whether it did.
#[unsafe(export_name = "_ZN9syncedmem6makingEb")]
pub extern "C" fn making(is_on: bool) -> bool {
    recorder::name_objects(is_on)
}

/// `syncedmem::share(SyncedMemory*, const char* gone)`: an object that nothing has touched takes its memory from its
/// thread's arena from now on, as long as layers alone touch it. `gone` is the sentence of the error that a read of given up
/// contents is; it stays for the rest of the process. Returns whether the object is shared.
#[unsafe(export_name = "_ZN9syncedmem5shareEPN5caffe12SyncedMemoryEPKc")]
pub unsafe extern "C" fn share(object: NonNull<SyncedMemory>, gone: *const c_char) -> bool {
    let mut is_shared = false;
    entry!(string(gone), |gone| {
        // SAFETY: libsyncedmem_names.so passes an object of a net that lives.
        is_shared = unsafe { object.as_ref() }.share(gone)?;
    });
    is_shared
}

/// `syncedmem::place(SyncedMemory*, unsigned long offset, unsigned long whole)`: where in its arena a shared object's next block
/// lies, in bytes, if that is free then, and how many bytes the whole plan needs.
#[unsafe(export_name = "_ZN9syncedmem5placeEPN5caffe12SyncedMemoryEmm")]
pub unsafe extern "C" fn place(object: NonNull<SyncedMemory>, offset: usize, whole: usize) {
    // SAFETY: libsyncedmem_names.so passes an object of a net that lives.
    entry!(|| unsafe { object.as_ref() }.place(Place { offset: Some(offset), whole })?);
}

/// `syncedmem::written(SyncedMemory*, unsigned long bytes)`: how many bytes of a shared object's memory layers write from now on.
#[unsafe(export_name = "_ZN9syncedmem7writtenEPN5caffe12SyncedMemoryEm")]
pub unsafe extern "C" fn written(object: NonNull<SyncedMemory>, bytes: usize) {
    // SAFETY: libsyncedmem_names.so passes an object of a net that lives.
    entry!(|| unsafe { object.as_ref() }.written(bytes)?);
}

/// `syncedmem::discard(SyncedMemory*)`: gives up the contents, if the object is shared.
#[unsafe(export_name = "_ZN9syncedmem7discardEPN5caffe12SyncedMemoryE")]
pub unsafe extern "C" fn discard(object: NonNull<SyncedMemory>) {
    entry!(|| {
        // SAFETY: libsyncedmem_names.so passes an object of a net that lives.
        let object = unsafe { object.as_ref() };
        // SAFETY: layers alone had its pointers, and none uses them any more.
        unsafe { object.discard_shared() }?;
    });
}

/// `syncedmem::executing(unsigned what, unsigned long step)`: what this thread executes from now on, as a number of `Executing`;
/// returns what it did. Records the step, if there is a trace, unless it is 0.
#[unsafe(export_name = "_ZN9syncedmem9executingEjm")]
pub extern "C" fn executing(what: u32, step: u64) -> u32 {
    if step != 0 {
        entry!(|| trace::step(step));
    }
    Executing::ALL.get(what as usize).copied().unwrap_or(Executing::Nothing).begin() as u32
}

/// `syncedmem::sharing(unsigned long* figures, unsigned long* touched, unsigned long room)`: of the host and then of devices, bytes
/// that the arenas needed, the most that were lent at once, and the most that the shared objects would have had at once. Writes at
/// most `room` sentences of objects that were touched from outside of layers; returns their number.
#[unsafe(export_name = "_ZN9syncedmem7sharingEPmS0_m")]
pub unsafe extern "C" fn sharing(figures: NonNull<[[u64; 3]; 2]>, touched: NonNull<usize>, room: usize) -> usize {
    let ([host, device], sentences) = share::figures();
    let (of_host, of_devices) = (arena::host::figures(), arena::device::figures());
    let both = [(of_host, host), (of_devices, device)]
        .map(|(Figures { needed, most_lent, .. }, would_be)| [needed, most_lent, would_be]);
    // SAFETY: libsyncedmem_names.so passes two arrays of three.
    unsafe { figures.write(both) };
    let sentences = sentences.take(room).enumerate();
    sentences.fold(0, |_, (at, sentence)| {
        // SAFETY: libsyncedmem_names.so passes an array of `room`.
        unsafe { touched.add(at).write(sentence.addr()) };
        at + 1
    })
}
