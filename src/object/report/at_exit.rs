//! The report of `SYNCEDMEM_REPORT`, written when the process exits or before the library ends it. It shows what lies idle, so
//! idle mappings are unmapped after it.

use std::sync::atomic::{AtomicU32, Ordering};

use super::process;
use crate::memory::cache::host;
use crate::observe::{recorder, report_file};
use crate::platform::text::to_stderr;
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

/// Runs after `main` and the destructors of the program's own static objects.
#[used]
#[expect(unsafe_code, reason = "a function that runs at exit")]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

extern "C" fn at_exit() {
    // Despite a panic the process must reach its end.
    let _ = std::panic::catch_unwind(|| {
        write();
        host::leave();
    });
}

/// The process whose report was written: a forked child writes its own.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

/// Writes once, if an object was made.
pub fn write() {
    if flags::off() || !flags::has(ACCOUNT) || settings::environment(c"SYNCEDMEM_REPORT").is_none() {
        return;
    }
    if !recorder::can_be_had() {
        to_stderr(b"libsyncedmem: SYNCEDMEM_REPORT: no report, since the process ends in the middle of an entry\n");
        return;
    }
    let has_happened = recorder::with_ledger(|ledger| ledger.account().made > 0);
    if !has_happened || WRITTEN.swap(std::process::id(), Ordering::Relaxed) == std::process::id() {
        return;
    }
    let Some(text) = process::text() else {
        to_stderr(b"libsyncedmem: SYNCEDMEM_REPORT: there is no memory to make the report\n");
        return;
    };
    report_file::write(text.as_bytes());
}
