//! A trace as text for terminals.

use std::fmt::{self, Display};

use syncedmem_core::text::Escaped;

use super::details::Details;
use super::facts::Trace;
use super::screen::Screen;
use super::shown::Shown;

pub struct Text<'a> {
    pub trace: &'a Trace,
    pub shown: Shown,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trace { name, processes, notes } = self.trace;
        let name = Escaped(name.as_bytes());
        if processes.is_empty() {
            writeln!(f, "{name}: the trace holds no events of libsyncedmem.")?;
        }
        for (number, process) in processes.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            Screen { process, shown: self.shown }.write(f)?;
            if self.shown.details {
                write!(f, "{}", Details(process))?;
            }
        }
        notes.iter().try_for_each(|note| writeln!(f, "\n{name}: {}", Escaped(note.as_bytes())))
    }
}
