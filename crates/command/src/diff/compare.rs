//! Pairs the processes of two reports, and their figures.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use syncedmem_trace::kind::Kind;

use crate::pairs::{self, Pairs};
use crate::report::batch::growth;
use crate::report::facts::{Process, Trace};

#[derive(Debug)]
pub struct Differences {
    pub a: String,
    pub b: String,
    pub notes: Vec<String>,
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
    pub processes: Vec<Pair>,
}

#[derive(Debug)]
pub struct Pair {
    pub a: Named,
    pub b: Named,
    pub sections: Vec<Section>,
}

#[derive(Debug)]
pub struct Named {
    pub process: u32,
    pub program: String,
}

/// The largest change first.
#[derive(Debug)]
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

#[derive(Debug, PartialEq, Eq)]
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

impl Differences {
    pub fn between(a: &Trace, b: &Trace) -> Differences {
        let mut found = Differences {
            a: a.name.clone(),
            b: b.name.clone(),
            notes: Vec::new(),
            only_in_a: Vec::new(),
            only_in_b: Vec::new(),
            processes: Vec::new(),
        };
        for trace in [a, b] {
            found.notes.extend(trace.notes.iter().map(|note| format!("{}: {note}", trace.name)));
        }
        // A program and its successor may have different names.
        if let ([a], [b]) = (&a.processes[..], &b.processes[..]) {
            found.processes.push(Pair::of(a, b));
            return found;
        }
        let [names_a, names_b] = [a, b].map(|trace| trace.processes.iter().map(|process| process.name.as_str()));
        let Pairs { both, only_in_a, only_in_b } = pairs::by_name(names_a, names_b);
        let program = |trace: &Trace, place: usize| trace.processes[place].name.clone();
        found.processes =
            both.into_iter().map(|(one, other)| Pair::of(&a.processes[one], &b.processes[other])).collect();
        found.only_in_a = only_in_a.into_iter().map(|place| program(a, place)).collect();
        found.only_in_b = only_in_b.into_iter().map(|place| program(b, place)).collect();
        found
    }

    /// Whether nothing differs but times and the system's figures.
    pub fn is_same(&self) -> bool {
        let mut sections = self.processes.iter().flat_map(|pair| &pair.sections);
        self.only_in_a.is_empty()
            && self.only_in_b.is_empty()
            && sections.all(|section| {
                section.unit == Unit::Nanoseconds
                    || section.of == Of::System
                    || section.figures.iter().all(|figure| figure.change() == 0)
            })
    }
}

impl Pair {
    fn of(a: &Process, b: &Process) -> Pair {
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
        let named = |process: &Process| Named { process: process.id, program: process.name.clone() };
        Pair { a: named(a), b: named(b), sections }
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
