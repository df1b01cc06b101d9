//! The facts of a report, and the lines that it begins with: nothing was seen, memory ran out, or the process was cut off.

use std::collections::HashMap;

use syncedmem_core::kind::Kind;
use syncedmem_core::text::Size;
use syncedmem_trace::account::{Account, Sum};
use syncedmem_trace::event::{Refusal, Site};

use super::about::About;
use super::arena::Step;
use super::layers::{Group, Layers};
use super::rows::{Caller, HolderRow, InPlace};
use super::timeline::{Steps, Timeline};
use crate::doctor::examine::{Bound, Verdict};

/// The text of a call site that was not recorded.
pub const NO_PLACE: &str = "an unknown place";

#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub name: String,
    /// The processes that have events, in the order of their starts.
    pub processes: Vec<Process>,
    /// Faults of the trace: a sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Process {
    pub id: u32,
    /// Empty if the trace has no name.
    pub name: String,
    pub events: u64,
    pub account: Account,
    /// Number of objects that exist at the end.
    pub alive: u64,
    pub timeline: Timeline,
    pub parts: Vec<Holding>,
    /// The largest saving first.
    pub in_place: Vec<InPlace>,
    pub holders: Vec<HolderRow>,
    /// Roles and their bytes at the peak of each kind. The last row may be memory without a role. Empty if no name contains a role.
    pub roles: Vec<(&'static str, [u64; 3])>,
    pub layers: Layers,
    /// Empty unless memory was shared.
    pub arena: Vec<Step>,
    /// The last group of each may be memory that belongs to no layer.
    pub by_type: Vec<Group>,
    pub by_name: Vec<Group>,
    pub batches: Vec<Batch>,
    pub spent: Spent,
    pub callers: Vec<Caller>,
    pub ending: Ending,
    pub failure: Option<Failure>,
    pub about: About,
}

/// The end of a process, in bytes and nanoseconds. `None`: not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    pub how: How,
    pub resident_peak: Option<u64>,
    pub address_space_peak: Option<u64>,
    pub elapsed: Option<u64>,
    /// Time on a processor, in the program and in the kernel.
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
    /// The recording ends before the process, for this reason.
    Cut(String),
    Killed {
        signal: i32,
    },
}

/// Memory that grows with a batch of this many items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub items: u64,
    /// Bytes at the peak of each kind.
    pub at_peak: [u64; 3],
}

/// Time of copies and fills, summed over the threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Copies that their callers waited for, and waits for others.
    pub copies: Sum,
    pub fills: Sum,
    /// Copies on streams, whose time only the driver knows.
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
    /// Returns the nanoseconds of the run and `true`, or those from the first event to the last and `false`.
    pub fn run_time(&self) -> (u64, bool) {
        self.ending.elapsed.map_or((self.timeline.span(), false), |elapsed| (elapsed, true))
    }

    /// The number of layers that could be in place, and the bytes that this saves.
    pub fn to_save(&self) -> (u64, u64) {
        self.in_place.iter().fold((0, 0), |(count, bytes), place| (count + place.count, bytes + place.bytes))
    }

    /// The part of the memory at the peak that the advice may save.
    pub fn saving(&self) -> f64 {
        let peak = Kind::ALL.map(|kind| self.account.memory(kind).peak).into_iter().max().unwrap_or(0);
        self.to_save().1 as f64 / peak.max(1) as f64
    }

    /// Whether the advice may save more than a thousandth.
    pub fn is_worth_doing(&self) -> bool {
        self.saving() > 0.001
    }

    pub fn program(&self) -> &str {
        if self.name.is_empty() { "an unnamed program" } else { &self.name }
    }
}

pub fn place(places: &HashMap<Site, String>, site: Site) -> &str {
    places.get(&site).map_or(NO_PLACE, String::as_str)
}

/// Objects of one name, or without a name, that one place made.
#[derive(Clone, Debug)]
pub struct Holding {
    pub name: Option<String>,
    pub place: String,
    /// What they held over time, by kind.
    pub held: [Steps; 3],
}

impl Holding {
    pub fn who(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.place)
    }
}

/// The last allocation that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Number of failures.
    pub count: u64,
    /// The object's name, or the place that made it.
    pub who: String,
    pub on_device: bool,
    /// Bytes that were requested.
    pub bytes: u64,
    pub refusal: Refusal,
    /// Bytes; 0: not known.
    pub limit: u64,
    /// Who held how many bytes on this side at that moment, the largest first.
    pub holders: Vec<(String, u64)>,
    /// The thread requested no memory after this failure.
    pub is_last: bool,
}

/// Number of holders that a line names.
const HOLDERS: usize = 4;

impl Failure {
    /// `fc6 weights asked for 144.0 MiB, which the limit on the address space (ulimit -v, 400.0 MiB) does not allow`
    pub fn sentence(&self) -> String {
        let (who, bytes, bound) = (&self.who, Size(self.bytes), self.bound());
        let asked = format!("{who} asked for {bytes}");
        match self.refusal {
            Refusal::System => format!("{asked}, which the system did not have"),
            Refusal::Size => {
                format!("{asked}, which no address space holds: a negative number may have been taken for a size")
            }
            Refusal::Device => format!("{asked}, which {bound} did not have left"),
            _ => format!("{asked}, which {bound} does not allow"),
        }
    }

    /// The limit in words, with its bytes if they are known.
    pub fn bound(&self) -> String {
        let (words, how) = match self.refusal {
            Refusal::AddressSpace => ("the limit on the address space", "ulimit -v"),
            Refusal::Data => ("the limit on data", "ulimit -d"),
            Refusal::Mappings => ("the limit on the number of mappings", "sysctl vm.max_map_count"),
            Refusal::Commit => ("the commit limit", "sysctl vm.overcommit_memory is 2"),
            Refusal::HostLimit => ("the library's limit", "SYNCEDMEM_HOST_LIMIT"),
            Refusal::Device => ("the device", ""),
            Refusal::System | Refusal::Size => ("the system's memory", ""),
        };
        let bytes = (self.limit > 0).then(|| Size(self.limit).to_string());
        let more: Vec<String> = [how.to_string()].into_iter().filter(|how| !how.is_empty()).chain(bytes).collect();
        if more.is_empty() { words.to_string() } else { format!("{words} ({})", more.join(", ")) }
    }

    /// `at that moment blobs held 27.0 MiB: conv1 output 9.0 MiB, …`
    pub fn held(&self) -> String {
        let all: u64 = self.holders.iter().map(|(_, bytes)| bytes).sum();
        let on_device = if self.on_device { " on the device" } else { "" };
        let held = format!("at that moment blobs held {}{on_device}", Size(all));
        let (named, others) = self.holders.split_at(self.holders.len().min(HOLDERS));
        let mut parts: Vec<String> = named.iter().map(|(who, bytes)| format!("{who} {}", Size(*bytes))).collect();
        if !others.is_empty() {
            let bytes = others.iter().map(|(_, bytes)| bytes).sum();
            parts.push(format!("{} others {}", others.len(), Size(bytes)));
        }
        if parts.is_empty() { held } else { format!("{held}: {}", parts.join(", ")) }
    }
}

impl Process {
    /// Returns no lines for a whole recording without failures.
    pub fn first_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.unreached().into_iter().collect();
        if let Some(failure) = self.failure_that_ended() {
            lines.push(format!("{} ran out of memory and {}: {}", self.program(), self.end(), failure.sentence()));
            lines.push(failure.held());
            return lines;
        }
        lines.extend(self.unfinished());
        if let Some(failure) = &self.failure {
            let goes_on = if failure.is_last { "" } else { ", and the program went on" };
            lines.push(match failure.count {
                1 => format!("an allocation failed{goes_on}: {}", failure.sentence()),
                count => format!("{count} allocations failed{goes_on}; the last: {}", failure.sentence()),
            });
            lines.push(failure.held());
        }
        lines
    }

    /// A failure that probably ended the process.
    pub fn failure_that_ended(&self) -> Option<&Failure> {
        let is_ended = match self.ending.how {
            How::Killed { .. } | How::Unknown => true,
            How::Whole => self.ending.status.is_some_and(|status| status != 0),
            How::Cut(_) => false,
        };
        self.failure.as_ref().filter(|failure| failure.is_last && is_ended)
    }

    /// The limit that probably ended the process.
    pub fn bound_that_ended(&self) -> Option<String> {
        let kill = || self.control_group_at_kill().map(|limit| format!("the control group's limit ({})", Size(limit)));
        self.failure_that_ended().map(Failure::bound).or_else(kill)
    }

    /// The limit in bytes of a control group, if SIGKILL came when the process had nearly reached it.
    fn control_group_at_kill(&self) -> Option<u64> {
        let is_kill = self.ending.how == How::Killed { signal: libc::SIGKILL };
        let limit = self.about.limit("control group").filter(|_| is_kill)?;
        self.ending.resident_peak.filter(|&peak| peak >= limit - limit / 10).map(|_| limit)
    }

    /// Whether no memory was seen, because the Caffe in the process calls its own functions.
    pub fn is_unseen(&self) -> bool {
        let has_memory = Kind::ALL.iter().any(|&kind| self.account.memory(kind).peak > 0);
        !has_memory && self.about.bound_caffe().is_some()
    }

    fn unreached(&self) -> Option<String> {
        let object = self.about.bound_caffe()?.to_path_buf();
        let verdict = Verdict::Bound { object, how: Bound::Symbolic, mixed: None, limit: None };
        let called = if self.is_unseen() { "never called the library" } else { "called the library only in part" };
        let was_tried = self.about.settings.iter().any(|setting| setting == "SYNCEDMEM_TAKE_OVER=1");
        let more = if was_tried { "" } else { " Or let the library take it over: syncedmem run --take-over." };
        let advice = verdict.advice().unwrap_or_default();
        Some(format!("{} {called}: {}. {advice}{more}", self.program(), verdict.reason()))
    }

    fn unfinished(&self) -> Option<String> {
        if self.ending.how == How::Whole {
            return None;
        }
        let [pageable, pinned, device] = Kind::ALL.map(|kind| self.account.memory(kind).live);
        let host = Size(pageable.saturating_add(pinned));
        let at = if device == 0 { host.to_string() } else { format!("{host}, and {} on the device", Size(device)) };
        let growing = self.ending.growing.iter().map(|who| format!(", growing: {who}")).collect::<String>();
        Some(match &self.ending.how {
            How::Cut(why) => format!("the recording of {} ends early ({why}) at {at}{growing}", self.program()),
            _ => format!("{} {} at {at}{growing}", self.program(), self.end()),
        })
    }

    fn end(&self) -> String {
        if let Some(limit) = self.control_group_at_kill() {
            return format!(
                "was killed by signal 9, as the kernel does beyond the control group's limit ({}),",
                Size(limit)
            );
        }
        match (&self.ending.how, self.ending.status) {
            (How::Killed { signal }, _) => format!("was killed by signal {signal}"),
            (How::Whole, Some(status)) => format!("ended with status {status}"),
            _ => "did not end its recording (killed, _exit, exec, or it still runs)".to_string(),
        }
    }
}
