//! The library's report as text: at most 110 columns, names apart.

use std::fmt;

use super::{Entry, Label, Summary};
use crate::account::Sum;
use syncedmem_trace::event::{Place, Site};
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::{Duration, Escaped, Size, Text};

/// Holders of each kind that are listed.
const HOLDERS: usize = 10;

pub struct Report<'a, P: Fn(Site) -> Place> {
    pub summary: &'a Summary,
    pub program: &'a str,
    pub process: u32,
    pub place: P,
}

impl<P: Fn(Site) -> Place> fmt::Display for Report<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = Escaped(self.program.as_bytes());
        writeln!(f, "libsyncedmem: memory of {program} (process {})", self.process)?;
        let account = &self.summary.account;
        write!(f, "objects made: {}", account.made)?;
        if account.made_unseen > 0 {
            write!(f, " ({} were first seen at an access, whose place stands for their maker)", account.made_unseen)?;
        }
        writeln!(f, ", ended: {}, alive: {}", account.ended, self.summary.objects)?;
        for kind in Kind::ALL {
            self.holders(f, kind)?;
        }
        self.work(f)?;
        if self.summary.dropped > 0 {
            let dropped = self.summary.dropped;
            writeln!(f, "Incomplete: {dropped} events were not counted: out of memory, or inside a signal handler.")?;
        }
        writeln!(f, "\n`syncedmem run` shows roles, times, what a batch costs, and advice.")
    }
}

impl<P: Fn(Site) -> Place> Report<'_, P> {
    fn holders(&self, f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
        let memory = self.summary.account.memory(kind);
        if memory.peak == 0 {
            return Ok(());
        }
        writeln!(f, "\n{} memory: {} at its peak, {} now", kind.name(), size(memory.peak), size(memory.live))?;
        let holders = self.summary.at_peak(kind);
        for Entry { label, share } in holders.iter().take(HOLDERS) {
            let (bytes, blocks) = (share.at_peak[kind as usize], share.blocks_at_peak[kind as usize]);
            let plural = if blocks == 1 { "block" } else { "blocks" };
            writeln!(f, "  {:>10} in {blocks:>5} {plural:<6}  {}", size(bytes), self.label(label))?;
        }
        let more = &holders[holders.len().min(HOLDERS)..];
        if !more.is_empty() {
            let bytes: u64 = more.iter().map(|entry| entry.share.at_peak[kind as usize]).sum();
            writeln!(f, "  {:>10} of {} others", size(bytes), more.len())?;
        }
        Ok(())
    }

    fn work(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = &self.summary.account;
        writeln!(f, "\n{:<44}{:>10}{:>12}{:>12}", "work", "times", "bytes", "time")?;
        account.work(|what, sum| line(f, what, sum))
    }

    fn label(&self, label: &Label) -> Place {
        match label {
            Label::Name(name) => Place::of(format_args!("{}", Escaped(name.as_bytes()))),
            Label::Site(site) => self.site(*site),
        }
    }

    fn site(&self, site: Site) -> Place {
        if site == Site::UNKNOWN {
            return Place::of(format_args!("an unknown place"));
        }
        Place::of(format_args!("{}", Escaped((self.place)(site).as_ref().as_bytes())))
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: fmt::Arguments<'_>, sum: Sum) -> fmt::Result {
    let what = Text::<80>::of(what);
    let bytes = if sum.bytes == 0 { Text::new() } else { size(sum.bytes) };
    writeln!(f, "  {:<42}{:>10}{:>12}{:>12}", what.as_ref(), sum.count, bytes, duration(sum.nanoseconds))
}

fn size(bytes: u64) -> Text<24> {
    Text::of(format_args!("{}", Size(bytes)))
}

fn duration(nanoseconds: u64) -> Text<24> {
    Text::of(format_args!("{}", Duration(nanoseconds)))
}
