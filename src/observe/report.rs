//! The report: the counters as text, for `syncedmem_report`, and for the file of `SYNCEDMEM_REPORT` when the process
//! exits or before the library ends it.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncedmem_trace::account::Sum;
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::{Duration, Escaped, Size, Text};

use super::call_counts::{self, Calls};
use super::{recorder, report_file};
use crate::platform::program;
use crate::settings;
use crate::state::flags::{self, ACCESSES, ACCOUNT};

/// In a buffer of its own: memory may have run out.
pub type Report = Text<4096>;

#[inline(never)]
pub fn text() -> Report {
    let mut text = Report::new();
    // A report that does not fit is cut off.
    let _ = write(&mut text);
    text
}

fn write(text: &mut Report) -> fmt::Result {
    let account = recorder::account();
    let program = program::name();
    writeln!(text, "libsyncedmem: memory of {} (process {})", Escaped(program.as_bytes()), std::process::id())?;
    match call_counts::are_any() {
        false => writeln!(text, "calls of Caffe: none")?,
        true if flags::has(ACCESSES) => writeln!(text, "calls of Caffe:{Calls}")?,
        true => writeln!(text, "calls of Caffe (accesses: those that needed work):{Calls}")?,
    }
    writeln!(text, "objects made: {}, ended: {}", account.made(), account.ended())?;
    for kind in Kind::ALL {
        let memory = account.memory(kind);
        if memory.peak > 0 {
            let (name, peak, live) = (kind.name(), Size(memory.peak), Size(memory.live));
            writeln!(text, "{name} memory: {peak} at its peak, {live} now")?;
        }
    }
    writeln!(text, "\n{:<44}{:>10}{:>12}{:>12}", "work", "times", "bytes", "time")?;
    account.work(|what, sum| line(text, what, sum))?;
    if flags::has(ACCOUNT) {
        writeln!(text, "\n`syncedmem run` shows who held the memory, what a batch costs, and advice.")
    } else {
        writeln!(text, "\nNothing is being counted: syncedmem_set_accounting or SYNCEDMEM_ACCOUNT=on begins it.")
    }
}

fn line(text: &mut Report, what: fmt::Arguments<'_>, sum: Sum) -> fmt::Result {
    let what = Text::<80>::of(what);
    let bytes = if sum.bytes == 0 { Text::new() } else { Text::<24>::of(format_args!("{}", Size(sum.bytes))) };
    let time = Text::<24>::of(format_args!("{}", Duration(sum.nanoseconds)));
    writeln!(text, "  {what:<42}{:>10}{bytes:>12}{time:>12}", sum.count)
}

/// Writes once, if anything happened. A forked child writes its own.
pub fn write_to_file() {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let Some(name) = settings::environment(c"SYNCEDMEM_REPORT").filter(|_| flags::has(ACCOUNT)) else { return };
    let has_happened = recorder::account().made() > 0 || call_counts::are_any();
    if !has_happened || WRITTEN.swap(std::process::id(), Relaxed) == std::process::id() {
        return;
    }
    report_file::append(name, text().as_bytes());
}
