//! Fork: every lock is taken before and released after, so that a child finds them free.
//!
//! Heads are published last, so in the child an object that another thread was filling is as it was before;
//! only the entry that says so must go.
#![expect(unsafe_code, reason = "pthread_atfork")]

use std::sync::atomic::{AtomicBool, Ordering};

use super::table::NoClaim;
use super::{EXPORTS, MARKED, TABLE, fast_path};
use crate::device::ring;
use crate::observe::live;
use crate::sync::forking;
use crate::{ageing, calls, cuda, given_back, host};

/// Sees to it that forks are watched. Done at the first claim: nothing happens at load.
pub fn watch<T>() -> Result<(), NoClaim<T>> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Relaxed: to register twice does no harm, see `prepare`.
    if !WATCHED.load(Ordering::Relaxed) {
        // SAFETY: the handlers stay mapped (the library is linked with -z nodelete).
        let failed = unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
        if failed != 0 {
            return Err(NoClaim::NoRoom);
        }
        WATCHED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Takes every lock, in this order: the table's shards, the marks of what may be evicted, what was
/// exported and lent, what was given back, what is
/// known of host blocks, the rings of copies, what is kept of the driver's, who keeps idle blocks, and the ledger.
///
/// Two threads may have registered the handlers at once; the second call in the same fork does nothing.
extern "C" fn prepare() {
    if !forking::is_this_thread() {
        TABLE.acquire();
        MARKED.acquire();
        EXPORTS.acquire();
        given_back::acquire();
        host::acquire();
        ring::acquire();
        cuda::acquire();
        ageing::acquire();
        live::acquire();
        forking::begin();
    }
}

extern "C" fn parent() {
    release();
}

extern "C" fn child() {
    if release() {
        TABLE.forget();
        MARKED.forget_evictions();
        calls::forget();
        live::begin_anew();
        ageing::forget();
        if cuda::is_lost_in_child() {
            fast_path::lose_device();
        }
        IN_CHILD.store(true, Ordering::Relaxed);
    }
}

/// Gives every lock back, and says whether this call did.
fn release() -> bool {
    let held = forking::is_this_thread();
    if held {
        forking::end();
        live::release();
        ageing::release();
        cuda::release();
        ring::release();
        host::release();
        given_back::release();
        EXPORTS.release();
        MARKED.release();
        TABLE.release();
    }
    held
}

static IN_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked from one that used the library.
pub fn in_child() -> bool {
    IN_CHILD.load(Ordering::Relaxed)
}
