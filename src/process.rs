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
#![expect(unsafe_code, reason = "a function that runs at load")]

use crate::copy::{staging_buffers, workers};
use crate::cuda::{self, events, streams};
use crate::memory::cache::{self, decay};
use crate::memory::driver::{blocks, deferred};
use crate::memory::{host, reclaimed};
use crate::object;
use crate::observe::{calls, contents, live, switch};
use crate::platform::fork::{self, Handlers};
use crate::platform::loaded;
use crate::platform::sync::forking;
use crate::state::fast_path;

/// Runs when the library is loaded, and does nothing else.
#[used]
#[unsafe(link_section = ".init_array")]
pub static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    fork::register(&Handlers { prepare, parent, child });
    loaded::begin();
}

/// Takes every lock, from the highest room to the lowest; in the walks of loaded objects, last, nothing is waited for.
extern "C" fn prepare() {
    forking::begin();
    object::lock_for_fork();
    reclaimed::acquire();
    host::acquire();
    staging_buffers::acquire();
    blocks::acquire();
    streams::acquire();
    cache::device::acquire();
    deferred::acquire();
    events::acquire();
    contents::acquire();
    live::acquire();
    loaded::acquire();
}

extern "C" fn parent() {
    forking::end(release);
}

extern "C" fn child() {
    loaded::forget_walks();
    object::begin_child();
    calls::forget();
    switch::after_fork_in_child();
    live::begin_anew();
    decay::forget();
    cuda::begin_child();
    workers::begin_child();
    if cuda::is_lost_in_child() {
        fast_path::lose_device();
    }
    fork::begin_child();
    forking::end(release);
}

/// Gives every lock back.
fn release() {
    loaded::release();
    live::release();
    contents::release();
    events::release();
    deferred::release();
    cache::device::release();
    streams::release();
    blocks::release();
    staging_buffers::release();
    host::release();
    reclaimed::release();
    object::unlock_after_fork();
}
