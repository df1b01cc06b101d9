//! Pairs the processes of two reports, and their figures.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use syncedmem_trace::kind::Kind;

use crate::pairs::{self, Pairs};
use crate::report::batch::growth;
use crate::report::facts::{Process, Trace};

/// Of A and B, in this order.
pub struct Differences<'t> {
    pub files: [&'t str; 2],
    pub notes: Vec<String>,
    /// Programs without a counterpart.
    pub only_in: [Vec<&'t str>; 2],
    pub processes: Vec<Pair<'t>>,
}

pub struct Pair<'t> {
    pub processes: [&'t Process; 2],
    pub sections: Vec<Section>,
}

/// The largest change first.
pub struct Section {
    pub of: Of,
    pub unit: Unit,
    pub figures: Vec<Figure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    Peak,
    Role,
    Holder,
    Batch,
    Objects,
    Work,
    /// These figures differ from run to run.
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Bytes,
    Count,
    Nanoseconds,
}

pub struct Figure {
    pub name: String,
    pub kind: Option<&'static str>,
    pub a: u64,
    pub b: u64,
}

impl Figure {
    pub fn change(&self) -> u64 {
        self.a.abs_diff(self.b)
    }
}

impl<'t> Differences<'t> {
    pub fn between(a: &'t Trace, b: &'t Trace) -> Differences<'t> {
        let note = |trace: &'t Trace| trace.notes.iter().map(|note| format!("{}: {note}", trace.name));
        let (files, notes) = ([&*a.name, &*b.name], note(a).chain(note(b)).collect());
        // A program and its successor may have different names.
        if let ([a], [b]) = (&a.processes[..], &b.processes[..]) {
            return Differences { files, notes, only_in: Default::default(), processes: vec![Pair::of(a, b)] };
        }
        let [names_a, names_b] = [a, b].map(|trace| trace.processes.iter().map(|process| process.name.as_str()));
        let Pairs { both, only_in } = pairs::by_name(names_a, names_b);
        let processes = both.into_iter().map(|(one, other)| Pair::of(&a.processes[one], &b.processes[other])).collect();
        Differences { files, notes, only_in, processes }
    }

    /// Whether nothing differs but times and the system's figures.
    pub fn is_same(&self) -> bool {
        let mut sections = self.processes.iter().flat_map(|pair| &pair.sections);
        self.only_in.iter().all(Vec::is_empty)
            && sections.all(|section| {
                section.unit == Unit::Nanoseconds
                    || section.of == Of::System
                    || section.figures.iter().all(|figure| figure.change() == 0)
            })
    }
}

impl<'t> Pair<'t> {
    fn of(a: &'t Process, b: &'t Process) -> Pair<'t> {
        let mut both: BTreeMap<Key, [u64; 2]> = BTreeMap::new();
        for (side, process) in [a, b].into_iter().enumerate() {
            figures(process, &mut |key, amount| both.entry(key).or_default()[side] += amount);
        }
        let mut sections: Vec<Section> = Vec::new();
        for (Key { of, unit, kind, name }, [a, b]) in both.into_iter().filter(is_shown) {
            let figure = Figure { name, kind, a, b };
            match sections.last_mut() {
                Some(last) if (last.of, last.unit) == (of, unit) => last.figures.push(figure),
                _ => sections.push(Section { of, unit, figures: vec![figure] }),
            }
        }
        for section in &mut sections {
            section.figures.sort_by_key(|figure| Reverse(figure.change()));
        }
        Pair { processes: [a, b], sections }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    of: Of,
    unit: Unit,
    name: String,
    kind: Option<&'static str>,
}

/// Figures of the system are shown if both runs have them.
fn is_shown((key, amounts): &(Key, [u64; 2])) -> bool {
    if key.of == Of::System { !amounts.contains(&0) } else { *amounts != [0; 2] }
}

fn figures(process: &Process, add: &mut impl FnMut(Key, u64)) {
    let key = |of, unit, name: &str| Key { of, unit, name: name.to_string(), kind: None };
    let mut by_kind = |of, name: &str, bytes: [u64; 3]| {
        for kind in Kind::ALL {
            add(Key { kind: Some(kind.name()), ..key(of, Unit::Bytes, name) }, bytes[kind as usize]);
        }
    };
    by_kind(Of::Peak, "peak", Kind::ALL.map(|kind| process.account.memory(kind).peak));
    process.roles.iter().for_each(|&(role, at_peak)| by_kind(Of::Role, role, at_peak));
    process.holders.iter().for_each(|holder| by_kind(Of::Holder, &holder.who, holder.at_peak));
    // Of several nets, the one that holds most.
    for batch in growth(process).iter().take(1) {
        add(key(Of::Batch, Unit::Count, "items of the batch"), batch.items);
        add(key(Of::Batch, Unit::Bytes, "one more item"), batch.one_more);
    }
    add(key(Of::Objects, Unit::Count, "objects made"), process.account.made());
    add(key(Of::Work, Unit::Nanoseconds, "from the first event to the last"), process.timeline.span());
    for (work, sum) in process.account.work() {
        let name = work.to_string();
        add(key(Of::Work, Unit::Bytes, &name), sum.bytes);
        add(key(Of::Work, Unit::Count, &name), sum.count);
        add(key(Of::Work, Unit::Nanoseconds, &name), sum.nanoseconds);
    }
    let ending = &process.ending;
    for (unit, name, amount) in [
        (Unit::Bytes, "resident at its peak", ending.resident_peak),
        (Unit::Nanoseconds, "from its start to its end", ending.elapsed),
        (Unit::Nanoseconds, "on a processor", ending.processor_time),
    ] {
        add(key(Of::System, unit, name), amount.unwrap_or(0));
    }
}
