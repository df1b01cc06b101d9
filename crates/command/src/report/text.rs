//! A trace as text for terminals: for each process the report that the library prints at exit.

use std::fmt::{self, Display};

use syncedmem_analysis::summary::{About, Report};
use syncedmem_trace::event::Place;

use super::facts::{Process, Trace, place};

pub struct Text<'a>(pub &'a Trace);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trace { name, processes, notes } = self.0;
        if processes.is_empty() {
            writeln!(f, "{name}: the trace holds no events of libsyncedmem.")?;
        }
        for (number, process) in processes.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            one(f, process)?;
        }
        notes.iter().try_for_each(|note| writeln!(f, "\n{name}: {note}"))
    }
}

fn one(f: &mut fmt::Formatter<'_>, process: &Process) -> fmt::Result {
    let program = if process.name.is_empty() { "an unnamed program" } else { &process.name };
    if let Some(line) = process.first_line() {
        writeln!(f, "{line}\n")?;
    }
    let about = About { program, process: process.id, idle: None, not_ours: &[] };
    let told = Report {
        summary: &process.summary,
        advice: &process.advice,
        every_access: process.every_access,
        about: &about,
        place: |site| Place::of(format_args!("{}", place(&process.places, site))),
    };
    write!(f, "{told}")
}
