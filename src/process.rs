//! Fork handlers. `prepare` takes every lock in one order, and `parent` and `child` release them, so that a child finds
//! them free. If another thread was filling an object, the child sees the object as it was before the fill, because
//! heads are published last; the child only has to remove the claim.
//!
//! # The order beside other libraries' handlers
//! `prepare` handlers run in the reverse order of registration. This library registers its handlers at load, so those
//! that the program registers later run before them (docs/architecture.md). Those registered earlier run after them:
//! the handlers of a preloaded library that does not depend on this one, or of a program that loads it with `dlopen`.
//! A thread that holds a lock which such a handler takes must not call this library (deadlock).
#![expect(unsafe_code, reason = "a function that runs at load")]

#[cfg(feature = "caffe2")]
use crate::caffe2;
use crate::cuda;
#[cfg(feature = "blob")]
use crate::cuda::cublas;
use crate::memory::arena;
use crate::memory::blocks;
use crate::memory::cache::{self, decay};
use crate::object;
use crate::observe::{call_counts, call_site, control, recorder, trace};
use crate::platform::fork;
use crate::platform::loaded;
use crate::platform::sync::{ForkLock, ForkStep, forking};
use crate::state::fast_path;
use crate::state::flags::{self, UNSETTLED};
use crate::takeover;

#[used]
#[unsafe(link_section = ".init_array")]
pub static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    fork::register(prepare, parent, child);
    loaded::begin();
    takeover::begin();
}

/// Every lock, from the highest room to the lowest. A thread that holds one takes only later ones. Walks of loaded
/// objects come last, because a walk takes no lock.
const LOCKS: &[fn() -> &'static dyn ForkLock] = &[
    #[cfg(feature = "caffe2")]
    caffe2::lock::fork_lock,
    object::fork_lock,
    arena::fork_lock,
    blocks::fork_lock,
    cache::host::fork_lock,
    cache::device::idle::fork_lock,
    #[cfg(feature = "blob")]
    cublas::fork_lock,
    trace::mapping::fork_lock,
    call_site::fork_lock,
    loaded::fork_lock,
];

extern "C" fn prepare() {
    forking::begin();
    LOCKS.iter().for_each(|lock| lock().at_fork(ForkStep::Lock));
}

fn release() {
    LOCKS.iter().rev().for_each(|lock| lock().at_fork(ForkStep::Unlock));
}

extern "C" fn parent() {
    forking::end(release);
}

extern "C" fn child() {
    loaded::forget_walks();
    object::begin_child();
    call_counts::forget();
    control::after_fork_in_child();
    recorder::begin_child();
    decay::forget();
    cuda::begin_child();
    if cuda::is_lost_in_child() {
        fast_path::lose_device();
    }
    fork::begin_child(!flags::has(UNSETTLED));
    forking::end(release);
}

#[cfg(test)]
mod tests;
