//! What was shared, for the end of the process: a paragraph on standard error.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::Once;
use std::time::Duration;

use super::{STATE, library, with};
use crate::net::Structure;

#[derive(Default)]
pub struct Kept {
    /// Names of blobs, by the reason.
    apart: BTreeMap<&'static str, BTreeSet<String>>,
    /// Names of blobs, by the address of their sentence.
    pub names: BTreeMap<usize, String>,
}

pub fn planned(structure: &Structure, apart: &[(usize, &'static str)]) {
    let names: &HashMap<usize, &str> = &structure.blob_names;
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the function stays: this library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    });
    let named = apart.iter().filter_map(|(blob, why)| Some((why, names.get(blob)?)));
    with(|state| {
        for (why, name) in named {
            state.kept.apart.entry(why).or_default().insert((*name).to_owned());
        }
    });
}

extern "C" fn at_exit() {
    crate::naming(|| {
        eprint!("{}", text()?);
        Some(())
    });
}

fn text() -> Option<String> {
    // The exiting thread may hold the lock, in a signal's handler.
    let kept = (0..100).find_map(|_| {
        let state = STATE.try_lock().ok();
        let kept = state.map(|mut state| std::mem::take(&mut state.get_or_insert_default().kept));
        kept.or_else(|| {
            std::thread::sleep(Duration::from_millis(1));
            None
        })
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
    let touched: BTreeSet<String> = touched.iter().filter_map(|sentence| kept.names.get(sentence).cloned()).collect();
    for (why, blobs) in kept.apart.iter().chain([(&"touched from outside of layers", &touched)]) {
        if !blobs.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  kept apart ({why}): {}", list(blobs));
        }
    }
    Some(text)
}

fn list(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = names.iter().take(SHOWN).map(String::as_str).collect();
    let rest = names.len().saturating_sub(SHOWN);
    shown.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
}
