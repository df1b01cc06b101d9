//! Everything about a process behind the first screen.

use std::fmt::{self, Display};

use syncedmem_trace::account::Sum;
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::{Duration, Escaped, Text};

use super::facts::Process;
use super::layers::Group;
use super::rows::Holder;
use super::screen::{size, wrapped, write_piece};

pub struct Details<'a>(pub &'a Process);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.about(f)?;
        self.objects(f)?;
        self.memory(f)?;
        for kind in Kind::ALL {
            self.groups(f, kind, "type", &self.0.by_type)?;
            self.groups(f, kind, "the beginning of their names", &self.0.by_name)?;
            self.holders(f, kind)?;
        }
        self.work(f)?;
        let pieces = self.0.pieces();
        if !pieces.is_empty() {
            writeln!(f, "\nall advice (one copy may be in several: the times do not add up)")?;
        }
        for (number, piece) in pieces.iter().enumerate() {
            write_piece(f, self.0, number + 1, piece, usize::MAX)?;
        }
        if !self.0.unwatched.is_empty() {
            writeln!(f)?;
        }
        self.0.unwatched.iter().try_for_each(|sentence| wrapped(f, "", sentence))
    }
}

impl Details<'_> {
    fn about(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.0.about.lines();
        if !lines.is_empty() {
            writeln!(f, "\nthe process")?;
        }
        lines.iter().try_for_each(|(name, value)| writeln!(f, "  {name:<10}{}", Escaped(value.as_bytes())))
    }

    fn objects(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Process { account, alive, every_access, .. } = self.0;
        writeln!(f, "\nobjects made: {}, ended: {}, alive: {}", account.made(), account.ended(), alive)?;
        if account.made_unseen() > 0 {
            let noticed = format!(
                "{} of them were noticed at an access (the program has the constructor inlined, or called it before the \
                 recording): the place of that access stands for their maker",
                account.made_unseen()
            );
            wrapped(f, "", &noticed)?;
        }
        for side in [Side::Host, Side::Device].into_iter().filter(|_| *every_access) {
            let [read, write, overwrite] =
                [Access::Read, Access::Write, Access::Overwrite].map(|access| account.accesses(side, access));
            if read + write + overwrite > 0 {
                let side = side.name();
                writeln!(f, "accesses to the {side}: {read} to read, {write} to write, {overwrite} to overwrite")?;
            }
        }
        Ok(())
    }

    fn memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<12}{:>12}{:>12}", "memory", "at its peak", "now")?;
        for kind in Kind::ALL {
            let memory = self.0.account.memory(kind);
            if memory.peak > 0 {
                writeln!(f, "  {:<10}{:>12}{:>12}", kind.name(), size(memory.peak), size(memory.live))?;
            }
        }
        Ok(())
    }

    fn groups(&self, f: &mut fmt::Formatter<'_>, kind: Kind, by: &str, groups: &[Group]) -> fmt::Result {
        let place = kind as usize;
        let mut groups: Vec<_> = groups.iter().filter(|group| group.at_peak[place] > 0).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.at_peak[place]));
        if !groups.is_empty() {
            writeln!(f, "\nall layers with {} memory at its peak, by {by}", kind.name())?;
        }
        for group in groups {
            writeln!(f, "  {:>10}  {}", size(group.at_peak[place]), Escaped(group.words().as_bytes()))?;
        }
        Ok(())
    }

    fn holders(&self, f: &mut fmt::Formatter<'_>, kind: Kind) -> fmt::Result {
        let memory = self.0.account.memory(kind);
        let place = kind as usize;
        if memory.peak > 0 {
            writeln!(f, "\nall holders of {} memory at its peak of {}", kind.name(), size(memory.peak))?;
            self.list(f, |holder| (holder.at_peak[place], holder.blocks_at_peak[place]))?;
        }
        if memory.live > 0 && memory.live < memory.peak {
            writeln!(f, "\nholders of {} of it now", size(memory.live))?;
            self.list(f, |holder| (holder.live[place], holder.blocks[place]))?;
        }
        Ok(())
    }

    /// `held`: bytes and blocks.
    fn list(&self, f: &mut fmt::Formatter<'_>, held: impl Fn(&Holder) -> (u64, u64)) -> fmt::Result {
        for holder in self.0.holders_by(|holder| held(holder).0) {
            let (bytes, blocks) = held(holder);
            let plural = if blocks == 1 { "block" } else { "blocks" };
            writeln!(f, "  {:>10} in {blocks:>5} {plural:<6}  {}", size(bytes), Escaped(holder.who.as_bytes()))?;
        }
        Ok(())
    }

    fn work(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = &self.0.account;
        writeln!(f, "\n{:<44}{:>10}{:>12}{:>14}", "work, summed over threads", "times", "bytes", "time")?;
        account.work(|what, sum| line(f, what, sum))
    }
}

fn line(f: &mut fmt::Formatter<'_>, what: fmt::Arguments<'_>, sum: Sum) -> fmt::Result {
    let what = Text::<80>::of(what);
    let bytes = if sum.bytes == 0 { Text::new() } else { size(sum.bytes) };
    let time = match sum.nanoseconds {
        0 => Text::<24>::of(format_args!("not measured")),
        time => Text::of(format_args!("{}", Duration(time))),
    };
    writeln!(f, "  {:<42}{:>10}{:>12}{:>14}", what.as_ref(), sum.count, bytes, time)
}
