//! The trace.

use std::ffi::c_char;

use crate::abi::arguments::string;
use crate::abi::call::entry;
use crate::abi::status::syncedmem_status_t;
use crate::error::Error;
use crate::observe::control;

/// Starts to record every memory event in a file, which `syncedmem report` and `syncedmem export` read. `%p` in the
/// name becomes the process id. A running trace ends first. Recorded events survive the process, however it ends.
/// `SYNCEDMEM_TRACE` does the same from the first call on.
///
/// Errors: `FILE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncedmem_trace_start(file: *const c_char) -> syncedmem_status_t {
    entry!(string(file), |file| control::begin_trace(file).map_err(|why| Error::NoTrace { why })?)
}

/// Ends the trace and marks it as whole.
#[unsafe(no_mangle)]
pub extern "C" fn syncedmem_trace_stop() -> syncedmem_status_t {
    entry!(|| control::end_trace())
}
