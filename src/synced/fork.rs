//! Fork: every lock is taken before and released after, so that a child finds them free.
//!
//! Heads are published last, so in the child an object that another thread was filling is as it was before;
//! only the entry that says so must go.
#![expect(unsafe_code, reason = "pthread_atfork, and guards kept from one handler to the next")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::table::{self, Held, NoClaim};
use super::{TABLE, this_thread};
use crate::host::records;

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

/// The thread that is forking and holds every lock; 0 if none does.
static FORKING: AtomicUsize = AtomicUsize::new(0);
static LOCKS: Locks = Locks(UnsafeCell::new(None));

/// The locks held across a fork. Only the thread in [`FORKING`] may look inside.
struct Locks(UnsafeCell<Option<(table::Stillness<'static>, records::Stillness)>>);

// SAFETY: the content is touched only by the one thread that holds every lock of it.
unsafe impl Sync for Locks {}

/// Takes every lock, in this order: the table's shards, the records of mappings.
///
/// Two threads may have registered the handlers at once; the second call in the same fork does nothing.
extern "C" fn prepare() {
    if FORKING.load(Ordering::Relaxed) == this_thread() {
        return;
    }
    let held = (TABLE.hold(), records::hold());
    FORKING.store(this_thread(), Ordering::Relaxed);
    // SAFETY: this thread holds every lock, so no other thread is between `prepare` and `release`.
    unsafe { *LOCKS.0.get() = Some(held) };
}

extern "C" fn parent() {
    release(|_| ());
}

extern "C" fn child() {
    release(|table| table.iter_mut().for_each(Held::forget));
}

fn release(last: impl FnOnce(&mut table::Stillness<'static>)) {
    if FORKING.load(Ordering::Relaxed) != this_thread() {
        return;
    }
    // SAFETY: this thread holds every lock, since `prepare`.
    let held = unsafe { (*LOCKS.0.get()).take() };
    FORKING.store(0, Ordering::Relaxed);
    if let Some((mut table, records)) = held {
        last(&mut table);
        drop((table, records));
    }
}
