//! C++ functions for `crates/net`, which are in no header.
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

/// `syncedmem::place(SyncedMemory*, unsigned long offset, unsigned long whole)`: sets the offset in its arena, in bytes, of
/// a shared object's next block, which is used if that place is free then, and the bytes that the whole plan needs.
#[unsafe(export_name = "_ZN9syncedmem5placeEPN5caffe12SyncedMemoryEmm")]
pub unsafe extern "C" fn place(object: NonNull<SyncedMemory>, offset: usize, whole: usize) {
    // SAFETY: libsyncedmem_net.so passes an object of a net that lives.
    entry!(|| unsafe { object.as_ref() }.place(Place { offset: Some(offset), whole })?);
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
/// that the shared objects would have had at once. Writes at most `most` sentences of objects that were touched from outside of
/// layers to `touched`; returns their number.
#[unsafe(export_name = "_ZN9syncedmem7sharingEPmS0_m")]
pub unsafe extern "C" fn sharing(figures: NonNull<[[u64; 3]; 2]>, touched: NonNull<usize>, most: usize) -> usize {
    let ([host, device], sentences) = share::figures();
    let (of_host, of_devices) = (arena::host::figures(), arena::device::figures());
    let both = [(of_host, host), (of_devices, device)]
        .map(|(Figures { needed, most_in_use, .. }, would_be)| [needed, most_in_use, would_be]);
    // SAFETY: libsyncedmem_net.so passes two arrays of three.
    unsafe { figures.write(both) };
    let sentences = sentences.take(most).enumerate();
    sentences.fold(0, |_, (at, sentence)| {
        // SAFETY: libsyncedmem_net.so passes an array of `most`.
        unsafe { touched.add(at).write(sentence.addr()) };
        at + 1
    })
}
