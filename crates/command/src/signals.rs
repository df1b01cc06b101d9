//! Signals that this command must survive, or after which it must clean up.
#![expect(unsafe_code, reason = "signal(2), sigaction(2), pthread_sigmask(3), sigwait(3), kill(2)")]

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr::null;
use std::sync::{Mutex, PoisonError};
use std::thread;

use libc::{sighandler_t, sigset_t};
use syncedmem_core::new_file::NewFile;

/// Sets the action of a signal. Returns the earlier one.
pub fn set(signal: c_int, action: sighandler_t) -> sighandler_t {
    // SAFETY: the actions of this crate are SIG_IGN, SIG_DFL and those that this function returned.
    unsafe { libc::signal(signal, action) }
}

/// Makes a write beyond the limit of a file's length (ulimit -f) an error, as on a full disk.
pub fn ignore_size_limit() {
    set(libc::SIGXFSZ, libc::SIG_IGN);
}

/// Signals by which a user or the system ends a process.
const ENDING: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Folders with new files.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// From now on, a signal that ends this process first removes its new files in the folder of `path`.
pub fn remove_new_files_of(path: &Path) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = folders.is_empty();
    folders.insert(path.with_file_name("."));
    drop(folders);
    if is_first {
        remove_new_files();
    }
}

/// Starts a thread that waits for the signals, which all others block.
fn remove_new_files() {
    let Some(awaited) = set_of(ENDING.into_iter().filter(|&signal| has_default_action(signal))) else { return };
    let before = mask(libc::SIG_BLOCK, &awaited);
    let wait = move || {
        let mut signal = 0;
        // SAFETY: both pointers are to local variables.
        if unsafe { libc::sigwait(&awaited, &mut signal) } == 0 {
            let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
            folders.iter().for_each(|folder| NewFile::remove_all(folder));
            end_by(signal);
        }
    };
    if thread::Builder::new().spawn(wait).is_err() {
        mask(libc::SIG_SETMASK, &before);
    }
}

/// Ends this process by a signal, if that is the default action of the signal.
pub fn end_by(signal: c_int) {
    set(signal, libc::SIG_DFL);
    if let Some(awaited) = set_of(std::iter::once(signal)) {
        mask(libc::SIG_UNBLOCK, &awaited);
    }
    // SAFETY: kill takes plain numbers.
    unsafe { libc::kill(std::process::id() as i32, signal) };
}

fn has_default_action(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only writes the present one.
    let failed = unsafe { libc::sigaction(signal, null(), action.as_mut_ptr()) } != 0;
    // SAFETY: zeros are a valid action.
    !failed && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

/// `None` if there is no signal.
fn set_of(mut signals: impl Iterator<Item = c_int>) -> Option<sigset_t> {
    let first = signals.next()?;
    let mut set = MaybeUninit::<sigset_t>::zeroed();
    for signal in std::iter::once(first).chain(signals) {
        // SAFETY: zeros are an empty set, which is writable.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: zeros are an empty set, and sigaddset changed it as one.
    Some(unsafe { set.assume_init() })
}

/// Changes the mask of this thread and of those that it starts. Returns the earlier mask.
pub fn mask(how: c_int, set: &sigset_t) -> sigset_t {
    let mut before = MaybeUninit::<sigset_t>::zeroed();
    // SAFETY: `set` is borrowed, and `before` is a local variable.
    unsafe { libc::pthread_sigmask(how, set, before.as_mut_ptr()) };
    // SAFETY: zeros are a valid set.
    unsafe { before.assume_init() }
}
