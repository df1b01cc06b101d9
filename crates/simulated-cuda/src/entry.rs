//! Every call passes here: checks of the process, counts, injected faults, and the log.
#![expect(unsafe_code, reason = "fork handlers are registered with C")]

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{MutexGuard, Once};

use crate::abi::{NOT_INITIALIZED, NOT_PERMITTED, Outcome, SUCCESS, UNKNOWN};
use crate::log::{Call, Log, log};
use crate::state::{Guard, state};
use crate::{context, life};

pub fn enter(function: &'static str, body: impl FnOnce(&mut Call) -> Outcome) -> c_int {
    pass(function, true, body)
}

/// Runs a call that is allowed before `cuInit`.
pub fn enter_before_init(function: &'static str, body: impl FnOnce(&mut Call) -> Outcome) -> c_int {
    pass(function, false, body)
}

fn pass(function: &'static str, needs_init: bool, body: impl FnOnce(&mut Call) -> Outcome) -> c_int {
    life::check_that_calls_are_allowed(function);
    prepare_for_forks();
    let fault = log().begin(function);
    let mut call = Call::new(function);
    let current = context::top_of_stack();
    let status = match fault {
        Some(status) => status,
        None if needs_init && !life::is_initialised() => NOT_INITIALIZED,
        None if life::in_callback() => NOT_PERMITTED,
        None => match catch_unwind(AssertUnwindSafe(|| body(&mut call))) {
            Ok(Ok(())) => SUCCESS,
            Ok(Err(status)) => status,
            Err(_) => {
                life::say(&format!("a bug of the simulated driver: a panic in {function}"));
                UNKNOWN
            }
        },
    };
    if let Some(current) = current {
        call.hex("ctx", current);
    }
    log().end(call, life::thread_number(), status);
    status
}

type Locks = (Guard, MutexGuard<'static, Log>);

thread_local! {
    /// Locks that a fork takes, so that the child finds whole contents. No destructor: a thread may fork while it ends.
    static HELD_FOR_FORK: Cell<Option<ManuallyDrop<Locks>>> = const { Cell::new(None) };
}

unsafe extern "C" fn before_fork() {
    HELD_FOR_FORK.set(Some(ManuallyDrop::new((state(), log()))));
}

unsafe extern "C" fn after_fork_in_parent() {
    drop(HELD_FOR_FORK.take().map(ManuallyDrop::into_inner));
}

unsafe extern "C" fn after_fork_in_child() {
    life::note_forked();
    drop(HELD_FOR_FORK.take().map(ManuallyDrop::into_inner));
}

/// A forked child finds no lock taken. Registered at the first call: a library that is only loaded does not affect forks.
fn prepare_for_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (before, parent, child) =
            (Some(before_fork as _), Some(after_fork_in_parent as _), after_fork_in_child as _);
        // SAFETY: the handlers are functions of this library, which is never unloaded (build.rs).
        if unsafe { libc::pthread_atfork(before, parent, Some(child)) } != 0 {
            life::die("the fork handlers could not be registered");
        }
    });
}
