//! The report: the counters as text. `syncedmem_report` returns it; it is written to the file of `SYNCEDMEM_REPORT` when the
//! process exits, or before the library ends the process.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncedmem_core::settings as table;
use syncedmem_core::text::{Escaped, Text};
use syncedmem_trace::account::Account;

use super::call_counts::{self, Calls};
use super::{recorder, report_file};
use crate::platform::program;
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

/// The text has a fixed buffer: memory may have run out.
pub type Report = Text<4096>;

#[inline(never)]
pub fn text(account: &Account) -> Report {
    let mut text = Report::new();
    // A report that does not fit is cut off.
    let _ = write(&mut text, account);
    text
}

fn write(text: &mut Report, account: &Account) -> fmt::Result {
    let program = program::name();
    writeln!(text, "libsyncedmem: memory of {} (process {})", Escaped(program.as_bytes()), std::process::id())?;
    match call_counts::are_any() {
        false => writeln!(text, "calls of Caffe: none")?,
        true => writeln!(text, "calls of Caffe (accesses: those that needed work):{Calls}")?,
    }
    account.write_memory(text)?;
    writeln!(text)?;
    account.write_work(text)?;
    if flags::has(ACCOUNT) {
        writeln!(text, "\n`syncedmem run` shows who held the memory, what a batch costs, and advice.")
    } else {
        writeln!(text, "\nNothing is being counted: syncedmem_set_accounting or SYNCEDMEM_ACCOUNT=on begins it.")
    }
}

/// Writes the report once, unless nothing happened. A forked child writes another one.
pub fn write_to_file(account: impl FnOnce() -> Account) {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let Some(name) = settings::given(&table::REPORT).filter(|_| flags::has(ACCOUNT)) else { return };
    let has_happened = recorder::account().made() > 0 || call_counts::are_any();
    if !has_happened || WRITTEN.swap(std::process::id(), Relaxed) == std::process::id() {
        return;
    }
    report_file::append(name, text(&account()).as_bytes());
}
