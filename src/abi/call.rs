//! The body of a C function: checks of its arguments, the guard against panics, a status, and the thread's last error sentence.

use std::fmt::Display;

use super::per_thread;
use super::status::syncedmem_status_t;
use crate::error::Error;
use crate::object::report::Circumstances;

pub trait Failure: Display + From<Error> {
    fn status(&self) -> syncedmem_status_t;

    /// The error of the core that this failure wraps, if it wraps one.
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

/// The body of a C function, which returns its status:
///
/// `entry!(handle(mem), out(bytes), |object, bytes| bytes.set(object.size()?))`
///
/// Each argument that is a pointer stands before `|`, with the unsafe function of `arguments.rs` that checks it, in the order of
/// the checks. The work after `|` gets the checked values. It evaluates to `()`, or returns a `super::Error` by `?`.
///
/// The error sentence begins with the name of the enclosing function.
macro_rules! entry {
    ($($check:ident($($argument:ident),*),)* |$($value:pat_param),*| $work:expr) => {
        $crate::abi::call::status(
            $crate::abi::call::place!(),
            $crate::abi::guard::guard(|| -> Result<(), super::Error> {
                // SAFETY: the C caller keeps the rules of "Pointers" (syncedmem.h), on which each check relies.
                let ($($value,)*) = ($(unsafe { $check($($argument),*) }?,)*);
                let () = $work;
                Ok(())
            }),
        )
    };
    (|| $work:expr) => {
        $crate::abi::call::status(
            $crate::abi::call::place!(),
            $crate::abi::guard::guard(|| -> Result<(), super::Error> {
                let () = $work;
                Ok(())
            }),
        )
    };
}

/// The path of `here` in the enclosing function. The part before `here` is that function's name.
macro_rules! place {
    () => {{
        fn here() {}
        std::any::type_name_of_val(&here)
    }};
}

pub(super) use {entry, place};

// Inlined, because a call site is found by the C function's own frame.
#[inline(always)]
pub fn status<E: Failure>(place: &'static str, result: Result<(), E>) -> syncedmem_status_t {
    match result {
        Ok(()) => syncedmem_status_t::SYNCEDMEM_SUCCESS,
        Err(error) => failed(place, &error),
    }
}

#[cold]
fn failed(place: &str, error: &impl Failure) -> syncedmem_status_t {
    // Searches byte by byte: the searches of `str` take as many instructions as the rest of a refusal.
    let function = place.strip_suffix("::here").unwrap_or(place);
    let start = function.bytes().rposition(|byte| byte == b':').map_or(0, |colon| colon + 1);
    let name = function.get(start..).unwrap_or(function);
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
