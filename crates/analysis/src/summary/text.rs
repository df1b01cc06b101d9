//! A report as text for terminals and log files: at most 110 columns, names apart, and only what was observed.

use std::fmt;

use super::{Entry, Label, Role, Summary};
use crate::account::Sum;
use crate::advice::Advice;
use crate::ledger::Share;
use syncedmem_trace::event::Place;
use syncedmem_trace::event::{Path, Site};
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::{Duration, Escaped, Size, Text};

/// Limits of the lists: holders of each kind, and places of each piece of advice. The number of omitted entries is printed.
const HOLDERS: usize = 10;
const PLACES: usize = 5;

/// Idle memory of one kind, and its budget.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Bytes that lie idle.
    pub bytes: u64,
    /// The most that may lie idle, in bytes.
    pub budget: u64,
}

/// The subject of a report.
pub struct About<'a> {
    pub program: &'a str,
    pub process: u32,
    /// By [`Kind`]. `None` if unknown: only the process itself knows.
    pub idle: Option<[Idle; 3]>,
    /// Memory that each device has in use beyond this library: (ordinal, bytes). Empty if unknown.
    pub not_ours: &'a [(i32, u64)],
}

/// Formats a summary as text.
pub struct Report<'a, P: Fn(Site) -> Place> {
    pub summary: &'a Summary,
    /// Sorted by its savings.
    pub advice: &'a [Advice],
    /// Whether accesses that need nothing were recorded.
    pub every_access: bool,
    pub about: &'a About<'a>,
    /// Returns the text of a site.
    pub place: P,
}

impl<P: Fn(Site) -> Place> fmt::Display for Report<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let About { program, process, .. } = *self.about;
        let program = Escaped(program.as_bytes());
        writeln!(f, "libsyncedmem: memory of {program} (process {process})")?;
        self.objects(f)?;
        self.memory(f)?;
        for kind in Kind::ALL {
            self.holders(f, kind)?;
        }
        self.work(f)?;
        self.advice(f)?;
        match self.summary.dropped {
            0 => Ok(()),
            dropped => writeln!(
                f,
                "Incomplete: {dropped} events were not recorded: out of memory, or inside a signal handler."
            ),
        }
    }
}

impl<P: Fn(Site) -> Place> Report<'_, P> {
    fn objects(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = &self.summary.account;
        write!(f, "objects made: {}, ended: {}, alive: {}", account.made, account.ended, self.summary.objects)?;
        if account.made_unseen > 0 {
            write!(
                f,
                "\n{} of them were noticed at an access (the program has the constructor inlined, or called it before the\n\
                 recording): the place of that access stands for their maker",
                account.made_unseen
            )?;
        }
        writeln!(f)?;
        if self.every_access {
            for side in [Side::Host, Side::Device] {
                let [read, write, overwrite] =
                    [Access::Read, Access::Write, Access::Overwrite].map(|access| account.accesses(side, access));
                if read + write + overwrite > 0 {
                    let side = side.name();
                    writeln!(f, "accesses to the {side}: {read} to read, {write} to write, {overwrite} to overwrite")?;
                }
            }
        }
        Ok(())
    }

    fn memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:<12}{:>12}{:>12}", "memory", "at its peak", "now")?;
        if self.about.idle.is_some() {
            write!(f, "{:>12}{:>12}", "idle", "may be idle")?;
        }
        writeln!(f)?;
        for kind in Kind::ALL {
            let memory = self.summary.account.memory(kind);
            write!(f, "  {:<10}{:>12}{:>12}", kind.name(), size(memory.peak), size(memory.live))?;
            if let Some(idle) = self.about.idle {
                let Idle { bytes, budget } = idle[kind as usize];
                write!(f, "{:>12}{:>12}", size(bytes), size(budget))?;
            }
            writeln!(f)?;
        }
        for (ordinal, bytes) in self.about.not_ours {
            writeln!(f, "  device {ordinal}: {} are in use beyond libsyncedmem", size(*bytes))?;
        }
        Ok(())
    }

    fn holders(&self, f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
        let memory = self.summary.account.memory(kind);
        let place = kind as usize;
        if memory.peak > 0 {
            self.roles(f, kind, memory.peak)?;
            writeln!(f, "\nwho held the {} memory at its peak of {}", kind.name(), size(memory.peak))?;
            let held = |share: &Share| (share.at_peak[place], share.blocks_at_peak[place]);
            self.list(f, &self.summary.at_peak(kind), held)?;
        }
        if memory.live > 0 && memory.live < memory.peak {
            writeln!(f, "\nwho holds {} of it now", size(memory.live))?;
            self.list(f, &self.summary.now(kind), |share| (share.live[place], share.blocks[place]))?;
        }
        Ok(())
    }

    /// Memory by role, if names of layers say roles.
    fn roles(&self, f: &mut fmt::Formatter<'_>, kind: Kind, peak: u64) -> fmt::Result {
        let (roles, others) = self.summary.roles_at_peak(kind);
        if roles.iter().all(|&bytes| bytes == 0) {
            return Ok(());
        }
        writeln!(f, "\n{} memory at its peak of {}, by role", kind.name(), size(peak))?;
        let mut lines: [(u64, &str); Role::ALL.len()] = Role::ALL.map(|role| (roles[role as usize], role.name()));
        lines.sort_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
        for (bytes, name) in
            lines.into_iter().chain([(others, "without a layer's name")]).filter(|&(bytes, _)| bytes > 0)
        {
            writeln!(f, "  {:>10} {:>5.1} %  {name}", size(bytes), bytes as f64 / peak as f64 * 100.0)?;
        }
        Ok(())
    }

    /// The largest holders, and the sum of the others. `held` yields bytes and blocks of a share.
    fn list(&self, f: &mut fmt::Formatter<'_>, holders: &[&Entry], held: impl Fn(&Share) -> (u64, u64)) -> fmt::Result {
        for Entry { label, share } in holders.iter().take(HOLDERS) {
            let (bytes, blocks) = held(share);
            let plural = if blocks == 1 { "block" } else { "blocks" };
            writeln!(f, "  {:>10} in {blocks:>5} {plural:<6}  {}", size(bytes), self.label(label))?;
        }
        let more = &holders[holders.len().min(HOLDERS)..];
        if !more.is_empty() {
            let bytes: u64 = more.iter().map(|entry| held(&entry.share).0).sum();
            writeln!(f, "  {:>10} of {} others", size(bytes), more.len())?;
        }
        Ok(())
    }

    fn work(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = &self.summary.account;
        writeln!(f, "\n{:<44}{:>10}{:>12}{:>12}", "work", "times", "bytes", "time")?;
        for kind in Kind::ALL {
            let memory = account.memory(kind);
            line(f, format_args!("{} memory from the {}", kind.name(), kind.source()), memory.fresh)?;
            line(f, format_args!("{} memory from the pool", kind.name()), memory.pooled)?;
            line(f, format_args!("{} memory turned away by a budget", kind.name()), memory.turned_away)?;
        }
        for side in [Side::Host, Side::Device] {
            line(f, format_args!("fill of the {} with zeros", side.name()), account.fills(side))?;
        }
        for to in [Side::Device, Side::Host] {
            for path in [Path::Pinned, Path::Staged, Path::Pageable] {
                line(f, format_args!("copy to the {}, {}", to.name(), path.name()), account.copies(to, path))?;
            }
        }
        line(f, format_args!("wait for a copy in flight"), account.waits)?;
        line(f, format_args!("wait for all work of a context"), account.synchronised)?;
        line(f, format_args!("memory page-locked where it was"), account.registered)?;
        for side in [Side::Host, Side::Device] {
            for (newest, what) in [(false, "redundant"), (true, "newest")] {
                let sum = account.evictions(side, newest);
                line(f, format_args!("{} side given back for room, {what}", side.name()), sum)?;
            }
            line(f, format_args!("allocation for the {} that failed", side.name()), account.failures(side))?;
        }
        Ok(())
    }

    fn advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = self.advice;
        if advice.is_empty() {
            writeln!(f, "\nadvice: none; no rule found an unnecessary copy, fill or block")?;
            return self.unwatched(f);
        }
        writeln!(f, "\nadvice, the largest saving first (one copy may be in several: the times do not add up)")?;
        let is_first = |&(at, one): &(usize, &Advice)| !advice[..at].iter().any(|earlier| says_alike(one, earlier));
        for (number, (_, first)) in advice.iter().enumerate().filter(is_first).enumerate() {
            self.piece(f, number + 1, first)?;
        }
        self.unwatched(f)
    }

    /// All advice that differs only in place and figures.
    fn piece(&self, f: &mut fmt::Formatter<'_>, number: usize, first: &Advice) -> fmt::Result {
        let alike = || self.advice.iter().filter(|advice| says_alike(first, advice));
        let (count, bytes) = alike().fold((0, 0), |(count, bytes), one| (count + one.count, bytes + one.bytes));
        let (rule, certainty) = (first.rule.name(), first.certainty.name());
        let times = if count == 1 { "time" } else { "times" };
        write!(f, "\n{number:>3}. {rule}, {certainty}: {count} {times}, {}", size(bytes))?;
        match alike().filter_map(|one| one.saved_nanoseconds).reduce(|sum, time| sum.saturating_add(time)) {
            Some(time) => writeln!(f, ", about {} to save", duration(time))?,
            None => writeln!(f)?,
        }
        wrapped(f, first.what_to_do())?;
        wrapped(f, first.not_known())?;
        for one in alike().take(PLACES) {
            self.place_of(f, one)?;
        }
        match alike().count().saturating_sub(PLACES) {
            0 => Ok(()),
            more => writeln!(f, "       and {more} more places"),
        }
    }

    fn place_of(&self, f: &mut fmt::Formatter<'_>, advice: &Advice) -> fmt::Result {
        let Advice { count, bytes, objects, made, at, .. } = *advice;
        let plural = if objects == 1 { "object" } else { "objects" };
        let (made, at) = (self.site(made), Some(at).filter(|&at| at != Site::UNKNOWN && at != made));
        writeln!(f, "     - {count} x, {}: {objects} {plural} made by {made}", size(bytes))?;
        at.map_or(Ok(()), |at| writeln!(f, "       at {}", self.site(at)))
    }

    /// The settings that would show more.
    fn unwatched(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.every_access {
            return Ok(());
        }
        writeln!(
            f,
            "\nAccesses that needed no work were not recorded; SYNCEDMEM_ACCOUNT=accesses records them. The library does\n\
             not see whether a caller reads or writes through a pointer; SYNCEDMEM_COMPARE=on compares the host's\n\
             contents."
        )
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

/// Prints a sentence in lines of at most 110 columns, with the indentation of advice.
fn wrapped(f: &mut fmt::Formatter<'_>, sentence: &str) -> fmt::Result {
    let mut column = 0;
    for word in sentence.split(' ') {
        if column > 0 && column + 1 + word.len() <= 110 {
            write!(f, " {word}")?;
            column += 1 + word.len();
        } else {
            write!(f, "{}     {word}", if column > 0 { "\n" } else { "" })?;
            column = 5 + word.len();
        }
    }
    writeln!(f)
}

/// Whether they differ only in place and figures.
fn says_alike(one: &Advice, other: &Advice) -> bool {
    (one.rule, one.certainty, one.subject) == (other.rule, other.certainty, other.subject)
}

fn line(f: &mut fmt::Formatter<'_>, what: fmt::Arguments<'_>, sum: Sum) -> fmt::Result {
    if sum.count == 0 {
        return Ok(());
    }
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
