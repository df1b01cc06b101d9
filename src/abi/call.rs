//! Runs C functions: an error becomes a status and the thread's last sentence.

use std::fmt::Display;

use super::guard::guard;
use super::per_thread;
use super::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::report::Circumstances;

pub trait Failure: Display + From<Error> {
    fn status(&self) -> syncedmem_status_t;

    /// The library's own error, if it is one.
    fn cause(&self) -> Option<Error>;
}

impl Failure for Error {
    fn status(&self) -> syncedmem_status_t {
        (*self).into()
    }

    fn cause(&self) -> Option<Error> {
        Some(*self)
    }
}

// Inlined: the call site is found by the C function's own frame.
#[inline(always)]
pub fn call(name: &str, work: impl FnOnce() -> Result<(), Error>) -> syncedmem_status_t {
    call_for(name, work)
}

/// As `call`, for a function that cannot fail.
#[inline(always)]
pub fn run(name: &str, work: impl FnOnce()) -> syncedmem_status_t {
    call(name, || {
        work();
        Ok(())
    })
}

/// As `call`, with a room's errors.
#[inline(always)]
pub fn call_for<E: Failure>(name: &str, work: impl FnOnce() -> Result<(), E>) -> syncedmem_status_t {
    match guard(work) {
        Ok(()) => syncedmem_status_t::SYNCEDMEM_SUCCESS,
        Err(error) => failed(name, &error),
    }
}

#[cold]
fn failed(name: &str, error: &impl Failure) -> syncedmem_status_t {
    let cause = error.cause();
    match cause {
        Some(Error::Interrupted) => {
            per_thread::keep_without_memory(&per_thread::Sentence::of(format_args!("{name}: {error}")));
        }
        Some(own) => {
            per_thread::keep(&per_thread::Sentence::of(format_args!("{name}: {error}{}", Circumstances(own))));
        }
        None => per_thread::keep(&per_thread::Sentence::of(format_args!("{name}: {error}"))),
    }
    error.status()
}
