//! Functions for libsyncedmem_names.so, which alone stands in front of Caffe's nets: in no header.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_char;

use syncedmem_trace::event::PassKind;

use super::arguments::string;
use super::call::entry;
use crate::observe::trace;

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
