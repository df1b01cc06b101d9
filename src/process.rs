//! Fork: every lock is taken before and released after, so that a child finds them free.
//!
//! Heads are published last, so in the child an object that another thread was filling is as it was before;
//! only the entry that says so must go.
//!
//! # The order beside other libraries' handlers
//! Handlers of `prepare` run in the reverse order of their registration. Ours are registered when the library is loaded, so
//! they run behind those that the program registers later, in `main` or when it loads more libraries: such a handler
//! may take a lock under which other threads call us. Constructors of libraries that are linked with this one run after
//! its own. The order is the other one for handlers that were registered before: by a library that this one is preloaded
//! beside and that does not depend on it, and by a program that loads this library with `dlopen`. A lock that those
//! handlers take must not be held in calls of this library by other threads.
#![expect(unsafe_code, reason = "pthread_atfork")]

use std::sync::atomic::{AtomicBool, Ordering};

use crate::copy::{staging_buffers, workers};
use crate::cuda;
use crate::memory::cache::decay;
use crate::memory::{host, reclaimed};
use crate::object::{EXPORTS, MARKED, TABLE};
use crate::observe::calls;
use crate::observe::{live, switch};
use crate::platform::loaded;
use crate::platform::sync::forking;
use crate::state::fast_path;

/// Runs when the library is loaded, and does nothing else. `begin` is in this file, too, and every claim refers to it: so
/// a linker takes this from the static library wherever it takes anything that could need it.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = register;

static WATCHED: AtomicBool = AtomicBool::new(false);
/// Whether the library was used while forks were watched.
static USED: AtomicBool = AtomicBool::new(false);

extern "C" fn register() {
    // SAFETY: the handlers stay mapped (the library is linked with -z nodelete).
    let failed = unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    WATCHED.store(failed == 0, Ordering::Relaxed);
    loaded::begin();
}

/// Whether forks are watched. Asked at each claim: where there was no memory for the handlers at load, they are registered
/// then.
#[inline]
pub fn watch() -> bool {
    // Relaxed: handlers that two threads register at once are nested forks to `forking`.
    USED.load(Ordering::Relaxed) || begin()
}

#[cold]
fn begin() -> bool {
    if !WATCHED.load(Ordering::Relaxed) {
        register();
    }
    USED.store(WATCHED.load(Ordering::Relaxed), Ordering::Relaxed);
    USED.load(Ordering::Relaxed)
}

/// Takes every lock, in this order: the table's shards, the marks of what may be evicted, what was exported and lent,
/// what was given back, what is known of host blocks, the rings of copies, what is kept of the driver's, the ledger,
/// and the list of loaded objects, in whose walks nothing is waited for.
extern "C" fn prepare() {
    forking::begin();
    TABLE.acquire();
    MARKED.acquire();
    EXPORTS.acquire();
    reclaimed::acquire();
    host::acquire();
    staging_buffers::acquire();
    cuda::acquire();
    live::acquire();
    loaded::acquire();
}

extern "C" fn parent() {
    forking::end(release);
}

extern "C" fn child() {
    loaded::forget_walks();
    TABLE.forget();
    MARKED.forget_evictions();
    calls::forget();
    switch::after_fork_in_child();
    live::begin_anew();
    decay::forget();
    cuda::begin_child();
    workers::begin_child();
    if cuda::is_lost_in_child() {
        fast_path::lose_device();
    }
    IN_CHILD.store(USED.load(Ordering::Relaxed), Ordering::Relaxed);
    forking::end(release);
}

/// Gives every lock back.
fn release() {
    loaded::release();
    live::release();
    cuda::release();
    staging_buffers::release();
    host::release();
    reclaimed::release();
    EXPORTS.release();
    MARKED.release();
    TABLE.release();
}

static IN_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked from one that used the library.
pub fn in_child() -> bool {
    IN_CHILD.load(Ordering::Relaxed)
}
