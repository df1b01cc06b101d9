//! What is behind the first screen.

use std::fmt::{self, Display};

use syncedmem_core::kind::Kind;

use super::about::escaped;
use super::facts::Process;
use super::lists::{Held, holders};
use super::rows::HolderRow;
use super::screen::{wrapped, write_list};
use super::sentences::made_unseen_line;

pub struct Details<'a>(pub &'a Process);

impl Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Process { about, account, .. } = self.0;
        let lines = about.lines();
        if !lines.is_empty() {
            writeln!(f, "\nthe process")?;
        }
        lines.iter().try_for_each(|(name, value)| writeln!(f, "  {name:<10}{}", escaped(value)))?;
        writeln!(f)?;
        account.write_memory(f)?;
        made_unseen_line(self.0).map_or(Ok(()), |line| wrapped(f, "", &line))?;
        for kind in Kind::ALL {
            let held = |row: &HolderRow| Held { bytes: row.live[kind as usize], blocks: row.blocks[kind as usize] };
            let now = holders(self.0, held, usize::MAX);
            if !now.rows.is_empty() {
                write_list(f, &format!("{} memory now", kind.name()), &now, account.memory(kind).live)?;
            }
        }
        writeln!(f)?;
        account.write_work(f)
    }
}
