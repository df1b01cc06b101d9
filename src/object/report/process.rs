//! The report of this process: its ledger, its idle memory, and other programs' use of its devices.

use std::fmt::{self, Write};

use syncedmem_analysis::summary::{About, Idle, Report, Summary};
use syncedmem_trace::event::{Place, Site};
use syncedmem_trace::kind::Kind;

use crate::memory::driver::usage;
use crate::object::trim;
use crate::observe::call_counts;
use crate::observe::{call_site, recorder};
use crate::state::flags::{self, ACCOUNT};

/// The most devices in a report. Few, because the array is on the stack of a thread that may have little of it.
const DEVICES: usize = 16;

/// The report as text; `None` if there is no memory for it.
pub fn text() -> Option<String> {
    let (summary, advice, every_access) =
        recorder::with_evaluation(|all| (Summary::of(all.ledger()), all.advice(), all.has_every_access()));
    let mut not_ours = [(0, 0); DEVICES];
    let devices = usage::not_ours(&mut not_ours);
    let program = call_counts::program();
    let about = About {
        program: program.as_ref(),
        process: std::process::id(),
        idle: Some(Kind::ALL.map(|kind| Idle { bytes: trim::idle(kind), budget: trim::budget(kind) })),
        not_ours: &not_ours[..devices],
    };
    let mut paper = Paper(String::new());
    write!(paper, "{}", Report { summary: &summary, advice: &advice, every_access, about: &about, place }).ok()?;
    if !flags::has(ACCOUNT) {
        let how = "syncedmem_set_accounting or SYNCEDMEM_ACCOUNT=on keeps it";
        writeln!(paper, "\nThe account is not being kept: {how}.").ok()?;
    }
    Some(paper.0)
}

fn place(site: Site) -> Place {
    call_site::with_text(site, |text| Place::of(format_args!("{}", text.unwrap_or_default())))
}

/// A string that grows fallibly.
struct Paper(String);

impl Write for Paper {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.0.try_reserve(more.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(more);
        Ok(())
    }
}
