//! The C API of `include/syncedmem.h`, which is generated from this folder.
//!
//! The top of that header (cbindgen.toml) states the conventions: ownership, NULL, threads, errors, fork, exit.

pub mod access;
pub mod account;
mod arguments;
pub mod caffe_host;
pub mod capsule;
pub mod cuda;
pub mod dlpack;
pub mod errors;
pub mod eviction;
pub mod object;
pub mod pinning;
pub mod policy;
pub mod pools;
pub mod query;
pub mod stats;
pub mod trace;
pub mod transfer;

use super::guard::guard;
use super::per_thread;
use super::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::report::Circumstances;

/// Runs the C function `name`: its error becomes a status and this thread's last sentence.
// Inlined, so that the C function's own frame is on the stack: the call site is found by it.
#[inline(always)]
fn call(name: &str, work: impl FnOnce() -> Result<(), Error>) -> syncedmem_status_t {
    match guard(work) {
        Ok(()) => syncedmem_status_t::SYNCEDMEM_SUCCESS,
        Err(error) => failed(name, error),
    }
}

#[cold]
fn failed(name: &str, error: Error) -> syncedmem_status_t {
    let sentence = per_thread::Sentence::of(format_args!("{name}: {error}{}", Circumstances(error)));
    if error == Error::Interrupted {
        per_thread::keep_without_memory(&sentence);
    } else {
        per_thread::keep(&sentence);
    }
    error.into()
}
