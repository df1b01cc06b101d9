//! Messages for users: the errors of given up contents, and what was shared, at the end of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use syncedmem_core::text::Escaped;

use super::library;
use super::settings::{self, Keep};

#[derive(Default)]
pub struct Messages {
    /// Names of blobs, by the reason why they are kept apart.
    apart: BTreeMap<&'static str, BTreeSet<Vec<u8>>>,
    /// The sentences that objects have, by their keys. They stay, because blobs may outlive their net.
    sentences: BTreeMap<Vec<u8>, &'static CStr>,
    /// Names of blobs, by the address of their sentence.
    names: BTreeMap<usize, Vec<u8>>,
    /// Names in `SYNCEDMEM_KEEP` that a net has.
    kept: BTreeSet<Vec<u8>>,
}

static MESSAGES: Mutex<Messages> = Mutex::new(Messages {
    apart: BTreeMap::new(),
    sentences: BTreeMap::new(),
    names: BTreeMap::new(),
    kept: BTreeSet::new(),
});

/// A fork takes this lock before it begins. A panic in the midst of a change does not keep others out.
pub fn lock() -> MutexGuard<'static, Messages> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many sentences are kept, and how many names for each reason: a program may make nets of ever new names.
const MOST: usize = 2_000;
const MOST_NAMES: usize = 256;
const OTHER: &CStr = c"contents that are shared (SYNCEDMEM_SHARE) are gone: the last layer that needs them has run. To use them after a \
    pass, keep the blob apart: --keep BLOB (SYNCEDMEM_KEEP=BLOB). Nets of too many names were made to say which blob it is";

/// What a read of given up contents says. `key` is of equal sentences alone; `keep` names the blob or the layer that can be kept apart.
pub fn sentence(key: Vec<u8>, keep: &[u8], blob: Option<&[u8]>, text: impl FnOnce() -> String) -> &'static CStr {
    let mut messages = lock();
    if let Some(known) = messages.sentences.get(&key) {
        return known;
    }
    if messages.sentences.len() >= MOST {
        return OTHER;
    }
    let text = [text().into_bytes(), Keep::option(keep)].concat();
    let kept: &'static CStr = Box::leak(CString::new(text).unwrap_or_default().into_boxed_c_str());
    messages.sentences.insert(key, kept);
    if let Some(blob) = blob {
        messages.names.insert(kept.as_ptr().addr(), blob.to_owned());
    }
    kept
}

/// Notes the blobs of a net that are kept apart, and why.
pub fn planned<'n>(apart: impl Iterator<Item = (&'static str, &'n [u8])>) {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function stays: this library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    }
    let mut messages = lock();
    for (why, name) in apart {
        let names = messages.apart.entry(why).or_default();
        if names.len() < MOST_NAMES && !names.contains(name) {
            names.insert(name.to_owned());
        }
    }
}

/// Notes that a net has what `SYNCEDMEM_KEEP` names so.
pub fn has(name: &[u8]) {
    let mut messages = lock();
    if !messages.kept.contains(name) {
        messages.kept.insert(name.to_owned());
    }
}

extern "C" fn at_exit() {
    crate::naming::naming(|| {
        eprint!("{}", text()?);
        Some(())
    });
}

fn text() -> Option<String> {
    // The exiting thread may hold the lock, in a signal's handler.
    let messages = (0..100).find_map(|_| match MESSAGES.try_lock() {
        Ok(mut messages) => Some(std::mem::take(&mut *messages)),
        Err(TryLockError::Poisoned(mut messages)) => Some(std::mem::take(&mut **messages.get_mut())),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(1));
            None
        }
    })?;
    let ([host, device], touched) = library::figures();
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    let mut text = String::new();
    for (side, [needed, most_lent, would_be]) in [("", host), ("device ", device)] {
        if needed > 0 || side.is_empty() && device[0] == 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "libsyncedmem: shared {side}memory needed {:.1} MiB, of which {:.1} MiB were alive at once, for blobs of {:.1} MiB",
                mib(needed),
                mib(most_lent),
                mib(would_be)
            );
        }
    }
    let touched: BTreeSet<Vec<u8>> =
        touched.iter().filter_map(|sentence| messages.names.get(sentence).cloned()).collect();
    for (why, blobs) in messages.apart.iter().chain([(&"touched from outside of layers", &touched)]) {
        if !blobs.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  kept apart ({why}): {}", list(blobs));
        }
    }
    for name in settings::get().keep.without(&messages.kept) {
        let _ =
            writeln!(text, "  SYNCEDMEM_KEEP names \"{}\": no net had a blob or a layer of that name", Escaped(name));
    }
    Some(text)
}

fn list(names: &BTreeSet<Vec<u8>>) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| Escaped(name).to_string()).collect();
    let rest = names.len().saturating_sub(SHOWN);
    let more = if names.len() < MOST_NAMES { "more" } else { "more at least" };
    shown.join(", ") + &if rest > 0 { format!(" and {rest} {more}") } else { String::new() }
}
