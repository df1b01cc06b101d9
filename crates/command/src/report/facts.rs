//! The facts of a report.

use std::cmp::Reverse;
use std::collections::HashMap;

use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Account, Sum};
use syncedmem_trace::event::Site;

use super::about::About;
use super::arena::Step;
use super::failure::Failure;
use super::held::Steps;
use super::layers::{Group, Layers};
use super::rows::{Caller, Finding, HolderRow};
use super::timeline::Timeline;

/// A call site that was not recorded.
pub const NO_PLACE: &str = "an unknown place";

#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub name: String,
    /// With events, in the order of their starts.
    pub processes: Vec<Process>,
    /// Faults of the trace, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Process {
    pub id: u32,
    /// Empty if the trace has none.
    pub name: String,
    pub events: u64,
    pub account: Account,
    /// Objects that live.
    pub alive: u64,
    pub timeline: Timeline,
    pub parts: Vec<Holding>,
    /// Sorted by savings.
    pub findings: Vec<Finding>,
    pub holders: Vec<HolderRow>,
    /// With bytes at the peak of each kind. The last one may be without a role. Empty if no name says a role.
    pub roles: Vec<(&'static str, [u64; 3])>,
    pub layers: Layers,
    /// Empty without shared memory.
    pub arena: Vec<Step>,
    /// The last group of each may be without a layer.
    pub by_type: Vec<Group>,
    pub by_name: Vec<Group>,
    pub batches: Vec<Batch>,
    pub spent: Spent,
    pub callers: Vec<Caller>,
    pub ending: Ending,
    pub failure: Option<Failure>,
    pub about: About,
}

/// In bytes and nanoseconds; `None`: not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    pub how: How,
    pub resident_peak: Option<u64>,
    pub address_space_peak: Option<u64>,
    pub elapsed: Option<u64>,
    /// With the system's part.
    pub processor_time: Option<u64>,
    /// The object that allocated last: its name, or the place that made it.
    pub growing: Option<String>,
    /// The exit status, if the process exited.
    pub status: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// The recording has no end mark: the process was killed, ended by `_exit` or `exec`, or still runs.
    Unknown,
    #[default]
    Whole,
    /// The recording ends before the process did: the reason.
    Cut(String),
    Killed {
        signal: i32,
    },
}

/// Memory that grows with a batch of so many items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub items: u64,
    /// Bytes at the peak of each kind.
    pub at_peak: [u64; 3],
}

/// Summed over the threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Copies that their callers waited for, and waits for others.
    pub copies: Sum,
    pub fills: Sum,
    /// Copies on streams: only the driver knows their time.
    pub not_measured: Sum,
    /// Threads that copied, filled or waited.
    pub threads: usize,
}

impl Spent {
    pub fn nanoseconds(&self) -> u64 {
        self.copies.nanoseconds.saturating_add(self.fills.nanoseconds)
    }
}

impl Process {
    /// Nanoseconds of the run and `true`, or from the first event to the last and `false`.
    pub fn run_time(&self) -> (u64, bool) {
        self.ending.elapsed.map_or((self.timeline.span(), false), |elapsed| (elapsed, true))
    }

    /// The largest saving first.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        for finding in &self.findings {
            match pieces.iter_mut().find(|piece| piece.sum.says_like(finding)) {
                Some(piece) => {
                    piece.sum.join(finding);
                    piece.places.push(finding);
                }
                None => pieces.push(Piece { sum: finding.clone(), places: vec![finding] }),
            }
        }
        pieces.sort_by_key(|piece| Reverse(piece.sum.bytes));
        pieces
    }

    pub fn largest_peak(&self) -> u64 {
        Kind::ALL.map(|kind| self.account.memory(kind).peak).into_iter().max().unwrap_or(0)
    }

    /// The part of the memory at the peak that advice may save.
    pub fn saving(&self, finding: &Finding) -> f64 {
        finding.bytes as f64 / self.largest_peak().max(1) as f64
    }

    /// Whether advice may save a thousandth.
    pub fn is_worth_doing(&self, finding: &Finding) -> bool {
        self.saving(finding) > 0.001
    }
}

/// Findings that differ only in places and figures.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    pub sum: Finding,
    /// The largest saving first.
    pub places: Vec<&'a Finding>,
}

pub fn place(places: &HashMap<Site, String>, site: Site) -> &str {
    places.get(&site).map_or(NO_PLACE, String::as_str)
}

/// Objects of one name, if they have one, that one place made.
#[derive(Clone, Debug)]
pub struct Holding {
    pub name: Option<String>,
    pub place: String,
    /// By kind.
    pub held: [Steps; 3],
}

impl Holding {
    pub fn who(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.place)
    }
}
