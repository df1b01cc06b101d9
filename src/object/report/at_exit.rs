//! Work when the process exits: the report of `SYNCEDMEM_REPORT`, then the idle mappings.

use super::account;
use crate::memory::cache::host;
use crate::observe::report;

/// Runs after `main` and the destructors of the program's own static objects.
#[used]
#[expect(unsafe_code, reason = "a function that runs at exit")]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

extern "C" fn at_exit() {
    // Despite a panic the process must reach its end.
    let _ = std::panic::catch_unwind(|| {
        report::write_to_file(account);
        host::leave();
    });
}
