//! The facts of a report about one process: all that a page shows, without its looks.

use std::cmp::Reverse;
use std::collections::HashMap;

use syncedmem_analysis::account::Sum;
use syncedmem_analysis::advice::Rule;
use syncedmem_analysis::summary::Summary;
use syncedmem_trace::event::Site;
use syncedmem_trace::kind::Kind;
use syncedmem_trace::text::Size;

use super::frames::Stacks;
use super::held::Steps;
use super::timeline::Timeline;

/// The text of a call site that was not recorded.
pub const NO_PLACE: &str = "an unknown place";

#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub name: String,
    /// The processes with events, in the order of their starts.
    pub processes: Vec<Process>,
    /// Faults of the trace, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Process {
    /// The kernel's process id.
    pub id: u32,
    /// The process's name; empty if the trace has none.
    pub name: String,
    /// Events that were read.
    pub events: u64,
    /// Sums, holders and advice, from the library's own code.
    pub summary: Summary,
    /// Whether accesses that need nothing were recorded in the end.
    pub every_access: bool,
    pub timeline: Timeline,
    /// Who held memory over time.
    pub parts: Vec<Part>,
    /// The advice, sorted by its savings.
    pub findings: Vec<Finding>,
    pub holders: Vec<Holder>,
    /// Memory at the peaks by role; the last one without a role. Empty if no name of a layer says a role.
    pub roles: Vec<RoleShare>,
    /// The memory that grows with a batch, by the items of the batch.
    pub batches: Vec<Batch>,
    pub spent: Spent,
    /// Call sites that caused copies, fills or fresh memory.
    pub callers: Vec<Caller>,
    /// The return addresses of call sites.
    pub stacks: Stacks,
    /// Limits of the recording, one sentence each.
    pub unwatched: Vec<&'static str>,
    pub ending: Ending,
}

/// The end of a process, and what the system says of its whole life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    pub how: How,
    /// The most memory of the process that was resident, in bytes.
    pub resident_peak: Option<u64>,
    /// Nanoseconds from its start to its end.
    pub elapsed: Option<u64>,
    /// Nanoseconds of processor time, the system's part included.
    pub processor_time: Option<u64>,
    /// The name of the object that allocated last, or the place that made it.
    pub growing: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// The recording has no end mark: the process was killed, ended by `_exit` or `exec`, or still runs.
    Unknown,
    /// The recording has its end mark.
    #[default]
    Whole,
    /// The recording ends before the process did: the reason.
    Cut(String),
    Killed {
        signal: i32,
    },
}

impl Process {
    /// [`Ending::first_line`] of this process.
    pub fn first_line(&self) -> Option<String> {
        let program = if self.name.is_empty() { "an unnamed program" } else { &self.name };
        self.ending.first_line(program, Kind::ALL.map(|kind| self.summary.account.memory(kind).live))
    }
}

impl Ending {
    /// The first line of a report of an incomplete recording: how the process ended, how much it held, and what was growing. `None` for
    /// a whole one.
    fn first_line(&self, program: &str, live: [u64; 3]) -> Option<String> {
        let how = match &self.how {
            How::Whole => return None,
            How::Killed { signal } => format!("{program} was killed by signal {signal}"),
            How::Cut(why) => format!("the recording of {program} ends early ({why})"),
            How::Unknown => format!("{program} did not end its recording (killed, _exit, exec, or it still runs)"),
        };
        let [pageable, pinned, device] = live;
        let host = Size(pageable.saturating_add(pinned));
        let at = if device == 0 { host.to_string() } else { format!("{host}, and {} on the device", Size(device)) };
        let growing = self.growing.iter().map(|who| format!(", growing: {who}")).collect::<String>();
        Some(format!("{how} at {at}{growing}"))
    }
}

/// Memory of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleShare {
    /// Its words: `weights`, `gradients of activations`.
    pub role: &'static str,
    /// Bytes held at the process's peak of that kind, by kind.
    pub at_peak: [u64; 3],
}

/// Memory that grows with a batch of so many items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub items: u64,
    /// Bytes held at the process's peak of that kind, by kind.
    pub at_peak: [u64; 3],
}

/// The time that copies and fills took, summed over the threads.
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
    /// The time that shares are of: that of the run, in nanoseconds, else that between the first event and the last. Whether it is the
    /// run's.
    pub fn run_time(&self) -> (u64, bool) {
        self.ending.elapsed.map_or((self.timeline.span(), false), |elapsed| (elapsed, true))
    }

    /// The advice, merged where only places and figures differ, the largest saving first.
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
        pieces.sort_by_key(|piece| Reverse((piece.sum.saved, piece.sum.bytes)));
        pieces
    }

    /// Whether a piece of advice may save a thousandth of the run's time, or of the memory at the peak.
    pub fn is_worth_doing(&self, finding: &Finding) -> bool {
        let part = |part: u64, whole: u64| u128::from(part) * 1000 > u128::from(whole);
        let peak = Kind::ALL.map(|kind| self.summary.account.memory(kind).peak).into_iter().max().unwrap_or(0);
        let (time, _) = self.run_time();
        match finding.saved {
            Some(saved) => part(saved, time),
            None if finding.rule == Rule::UnusedSide.name() => part(finding.bytes, peak),
            // Unknown, and at most the time of all copies.
            None => self.spent.not_measured.count > 0 || part(self.spent.copies.nanoseconds, time),
        }
    }
}

/// Findings that differ only in places and figures.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// Their words and the sums of their figures.
    pub sum: Finding,
    /// The largest saving first.
    pub places: Vec<&'a Finding>,
}

/// The text of a call site.
pub fn place(places: &HashMap<Site, String>, site: Site) -> &str {
    places.get(&site).map_or(NO_PLACE, String::as_str)
}

#[derive(Clone, Debug, Default)]
pub struct Finding {
    pub rule: &'static str,
    pub certainty: &'static str,
    /// The word for what has to be changed: prototxt, setting or source.
    pub change: &'static str,
    /// The observation, in one sentence.
    pub seen: &'static str,
    /// The change to make, in one sentence.
    pub to_do: &'static str,
    /// The limits of what the library can know, in one sentence.
    pub not_known: &'static str,
    /// The objects' name, or the place that made them.
    pub made: String,
    /// The place of the calls; empty if unknown.
    pub at: String,
    pub objects: u64,
    /// Number of copies, fills or blocks.
    pub count: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Nanoseconds that would be saved; `None` if they cannot be estimated.
    pub saved: Option<u64>,
}

impl Finding {
    /// Whether only the figures differ.
    pub fn is_like(&self, other: &Finding) -> bool {
        self.says_like(other) && self.made == other.made && self.at == other.at
    }

    /// Whether only places and figures differ.
    pub fn says_like(&self, other: &Finding) -> bool {
        let words = |finding: &Finding| (finding.rule, finding.certainty, finding.to_do, finding.not_known);
        words(self) == words(other)
    }

    /// Adds the figures of another finding.
    pub fn join(&mut self, other: &Finding) {
        self.objects += other.objects;
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        // A known saving is a lower bound of both.
        self.saved = match (self.saved, other.saved) {
            (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// Objects of one name, if they have one, that one place made.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: Option<String>,
    pub place: String,
    /// By kind.
    pub held: [Steps; 3],
}

impl Part {
    pub fn who(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.place)
    }
}

/// Objects of one name, or made at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The name, or the place.
    pub who: String,
    /// Bytes held at the end of the trace, by kind.
    pub live: [u64; 3],
    /// Blocks held at the end of the trace.
    pub blocks: [u64; 3],
    /// Bytes held at the process's peak of that kind, by kind.
    pub at_peak: [u64; 3],
    /// Blocks held at that peak.
    pub blocks_at_peak: [u64; 3],
}

impl Holder {
    /// Adds the figures of another holder.
    pub fn join(&mut self, other: &Holder) {
        for kind in 0..3 {
            self.live[kind] += other.live[kind];
            self.blocks[kind] += other.blocks[kind];
            self.at_peak[kind] += other.at_peak[kind];
            self.blocks_at_peak[kind] += other.blocks_at_peak[kind];
        }
    }
}

/// A place in the program, and the work that its calls caused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub who: String,
    pub made: u64,
    /// Copies to the host and to the device.
    pub copies: [Sum; 2],
    /// Fills with zeros, of both sides.
    pub fills: Sum,
    /// Blocks from the system or the driver.
    pub fresh: Sum,
    pub waits: Sum,
}

impl Caller {
    /// The time of all its calls.
    pub fn nanoseconds(&self) -> u64 {
        let sums = [self.copies[0], self.copies[1], self.fills, self.fresh, self.waits];
        sums.iter().fold(0, |all, sum| all.saturating_add(sum.nanoseconds))
    }

    /// Adds the figures of another caller.
    pub fn join(&mut self, other: &Caller) {
        self.made += other.made;
        for (mine, theirs) in self.copies.iter_mut().zip(other.copies) {
            *mine = mine.plus(theirs);
        }
        self.fills = self.fills.plus(other.fills);
        self.fresh = self.fresh.plus(other.fresh);
        self.waits = self.waits.plus(other.waits);
    }
}
