use std::fmt::{self, Write};

use syncedmem_analysis::summary::{Report, Summary};
use syncedmem_trace::event::{Place, Site};

use crate::observe::call_counts;
use crate::observe::{call_site, recorder};
use crate::state::flags::{self, ACCOUNT};

/// `None` if there is no memory for it.
pub fn text() -> Option<String> {
    let summary = recorder::with_ledger(|ledger| Summary::of(ledger));
    let program = call_counts::program();
    let mut paper = Paper(String::new());
    let report = Report { summary: &summary, program: program.as_ref(), process: std::process::id(), place };
    write!(paper, "{report}").ok()?;
    if !flags::has(ACCOUNT) {
        let how = "syncedmem_set_accounting or SYNCEDMEM_ACCOUNT=on keeps it";
        writeln!(paper, "The account is not being kept: {how}.").ok()?;
    }
    Some(paper.0)
}

fn place(site: Site) -> Place {
    call_site::with_text(site, |text| Place::of(format_args!("{}", text.unwrap_or_default())))
}

/// A string that fails where std's aborts: if there is no memory to grow.
struct Paper(String);

impl Write for Paper {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.0.try_reserve(more.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(more);
        Ok(())
    }
}
