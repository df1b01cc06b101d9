//! Messages for users: the errors of reads of discarded contents, and a summary at the end of the process.
#![expect(unsafe_code, reason = "atexit")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use syncedmem_core::text::Escaped;

use super::settings::{self, Keep};
use crate::library::Figures;
use crate::{guarded, library};

#[derive(Default)]
pub struct Messages {
    /// Names of blobs that are not shared, by the reason.
    excluded: BTreeMap<&'static str, BTreeSet<Vec<u8>>>,
    /// The errors of objects, by their keys. They are never freed, because blobs may outlive their net.
    sentences: BTreeMap<Vec<u8>, &'static CStr>,
    /// Names of blobs by the address of their error.
    names: BTreeMap<usize, Vec<u8>>,
    /// Names in `SYNCEDMEM_KEEP` that a net has.
    kept: BTreeSet<Vec<u8>>,
}

static MESSAGES: Mutex<Messages> = Mutex::new(Messages {
    excluded: BTreeMap::new(),
    sentences: BTreeMap::new(),
    names: BTreeMap::new(),
    kept: BTreeSet::new(),
});

/// A forking thread holds this lock during the fork. A panic does not poison it.
pub fn lock() -> MutexGuard<'static, Messages> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most errors that are kept: a program may make nets with ever new names.
const MOST: usize = 2_000;
/// The most names for each reason.
const MOST_NAMES: usize = 256;
const OTHER: &CStr = c"the contents of this blob are gone: its memory is shared (SYNCEDMEM_SHARE), and the last layer that needs them has run. To \
    read them after a pass, use --keep BLOB (SYNCEDMEM_KEEP=BLOB). Too many blobs were made to give its name";

/// The error of a read of discarded contents. Equal keys have equal texts; `keep` is the name for `SYNCEDMEM_KEEP`.
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

/// Adds the blobs of a net that are not shared, with the reasons.
pub fn excluded<'n>(blobs: impl Iterator<Item = (&'static str, &'n [u8])>) {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function is never unloaded, because this library is not.
        unsafe { libc::atexit(at_exit) };
    }
    let mut messages = lock();
    for (why, name) in blobs {
        let names = messages.excluded.entry(why).or_default();
        if names.len() < MOST_NAMES && !names.contains(name) {
            names.insert(name.to_owned());
        }
    }
}

/// Adds a name of `SYNCEDMEM_KEEP` that a net has.
pub fn has(name: &[u8]) {
    let mut messages = lock();
    if !messages.kept.contains(name) {
        messages.kept.insert(name.to_owned());
    }
}

extern "C" fn at_exit() {
    guarded(|| {
        eprint!("{}", text()?);
        Some(())
    });
}

fn text() -> Option<String> {
    // A signal handler that exits may have interrupted the thread that holds the lock.
    let messages = (0..100).find_map(|_| match MESSAGES.try_lock() {
        Ok(mut messages) => Some(std::mem::take(&mut *messages)),
        Err(TryLockError::Poisoned(mut messages)) => Some(std::mem::take(&mut **messages.get_mut())),
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(Duration::from_millis(1));
            None
        }
    })?;
    let (Figures { sides: [host, device], parked }, touched) = library::figures();
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    let mut text = String::new();
    for (side, [needed, most, would_be]) in [("", host), ("device ", device)] {
        if needed > 0 || side.is_empty() && device[0] == 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "libsyncedmem: shared {side}memory needed {:.1} MiB, of which {:.1} MiB were in use at once, for blobs of {:.1} MiB",
                mib(needed),
                mib(most),
                mib(would_be)
            );
        }
    }
    if parked.bytes() > 0 {
        let _ = writeln!(text, "  {:.1} MiB waited as {:.1} MiB: {parked}", mib(parked.bytes()), mib(parked.taken()));
    }
    let touched: BTreeSet<Vec<u8>> =
        touched.iter().filter_map(|sentence| messages.names.get(sentence).cloned()).collect();
    for (why, blobs) in messages.excluded.iter().chain([(&"touched outside of layers", &touched)]) {
        if !blobs.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  not shared ({why}): {}", list(blobs));
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
