//! `syncedmem report --json`, which `syncedmem diff` reads. docs/report.schema.json describes each field.

use serde::{Deserialize, Serialize};
use syncedmem_analysis::account::{Account, Sum};
use syncedmem_trace::event::Path;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

use super::batch::{Growth, growth};
use super::facts::{self, How};
use super::frames::Frame;

/// Version of the schema. It rises if a field goes or gets another meaning; fields may be added.
pub const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    pub syncedmem_report: u32,
    pub trace: String,
    pub whole: bool,
    pub notes: Vec<String>,
    pub processes: Vec<Process>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Process {
    pub process: u32,
    pub program: String,
    pub events: u64,
    pub nanoseconds: u64,
    pub ending: Ending,
    pub objects: Objects,
    pub memory: Kinds<Memory>,
    pub roles: Vec<RoleShare>,
    pub holders: Vec<Holder>,
    pub batches: Vec<Batch>,
    pub spent: Spent,
    pub work: Vec<Work>,
    pub sites: Vec<Site>,
    pub advice: Vec<Advice>,
    pub not_recorded: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Ending {
    pub how: String,
    pub reason: Option<String>,
    pub signal: Option<i32>,
    pub growing: Option<String>,
    pub resident_peak_bytes: Option<u64>,
    pub elapsed_nanoseconds: Option<u64>,
    pub processor_nanoseconds: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Objects {
    pub made: u64,
    pub noticed_at_an_access: u64,
    pub ended: u64,
    pub alive: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kinds<T> {
    pub pageable: T,
    pub pinned: T,
    pub device: T,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Memory {
    pub peak_bytes: u64,
    pub peak_at_nanoseconds: u64,
    pub live_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RoleShare {
    pub role: String,
    pub peak_bytes: Kinds<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Holder {
    pub name: String,
    pub peak_bytes: Kinds<u64>,
    pub peak_blocks: Kinds<u64>,
    pub live_bytes: Kinds<u64>,
    pub live_blocks: Kinds<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Batch {
    pub items: u64,
    pub one_more_bytes: u64,
    pub on_device: bool,
    pub fitting: Option<Fitting>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Fitting {
    pub room_bytes: u64,
    pub items: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Spent {
    pub copies: Amount,
    pub fills: Amount,
    pub on_streams: Amount,
    pub threads: u64,
    pub of_nanoseconds: u64,
    pub of_the_run: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Work {
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub side: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub newest: Option<bool>,
    #[serde(flatten)]
    pub amount: Amount,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub count: u64,
    pub bytes: u64,
    /// `None`: not measured.
    pub nanoseconds: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Site {
    pub name: String,
    pub made: u64,
    pub copies_to_host: Amount,
    pub copies_to_device: Amount,
    pub fills: Amount,
    pub fresh: Amount,
    pub waits: Amount,
    pub frames: Vec<Frame>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Advice {
    pub rule: String,
    pub certainty: String,
    pub worth_doing: bool,
    pub change: String,
    pub seen: String,
    pub to_do: String,
    pub not_known: String,
    pub made: String,
    pub at: Option<String>,
    pub objects: u64,
    pub count: u64,
    pub bytes: u64,
    pub saved_nanoseconds: Option<u64>,
}

impl<T> Kinds<T> {
    fn of(value: impl Fn(Kind) -> T) -> Kinds<T> {
        Kinds { pageable: value(Kind::Pageable), pinned: value(Kind::Pinned), device: value(Kind::Device) }
    }

    pub fn each(&self) -> [(&'static str, &T); 3] {
        [("pageable", &self.pageable), ("pinned", &self.pinned), ("device", &self.device)]
    }

    fn of_array(values: [T; 3]) -> Kinds<T> {
        let [pageable, pinned, device] = values;
        Kinds { pageable, pinned, device }
    }
}

impl From<Sum> for Amount {
    fn from(Sum { count, bytes, nanoseconds }: Sum) -> Amount {
        Amount { count, bytes, nanoseconds: Some(nanoseconds).filter(|&time| time > 0 || count == 0) }
    }
}

impl Document {
    /// `room`: bytes that a batch shall fit in.
    pub fn of(trace: &facts::Trace, room: Option<u64>) -> Document {
        Document {
            syncedmem_report: VERSION,
            trace: trace.name.clone(),
            whole: trace.notes.is_empty(),
            notes: trace.notes.clone(),
            processes: trace.processes.iter().map(|process| Process::of(process, room)).collect(),
        }
    }
}

impl Process {
    fn of(process: &facts::Process, room: Option<u64>) -> Process {
        let account = &process.summary.account;
        let pieces = process.pieces();
        let is_worth_doing = |finding: &facts::Finding| {
            let merged = pieces.iter().find(|piece| piece.sum.says_like(finding));
            merged.is_some_and(|piece| process.is_worth_doing(&piece.sum))
        };
        let role = |share: &facts::RoleShare| RoleShare {
            role: share.role.to_string(),
            peak_bytes: Kinds::of_array(share.at_peak),
        };
        Process {
            process: process.id,
            program: process.name.clone(),
            events: process.events,
            nanoseconds: process.timeline.span(),
            ending: Ending::from(&process.ending),
            objects: Objects {
                made: account.made,
                noticed_at_an_access: account.made_unseen,
                ended: account.ended,
                alive: process.summary.objects,
            },
            memory: Kinds::of(|kind| {
                let memory = account.memory(kind);
                Memory {
                    peak_bytes: memory.peak,
                    peak_at_nanoseconds: process.timeline.since_begin(memory.peak_time),
                    live_bytes: memory.live,
                }
            }),
            roles: process.roles.iter().map(role).collect(),
            holders: process.holders.iter().map(Holder::from).collect(),
            batches: growth(process).iter().map(|growth| Batch::of(growth, room)).collect(),
            spent: Spent::of(process),
            work: work(account),
            sites: sites(process),
            advice: process.findings.iter().map(|finding| Advice::of(finding, is_worth_doing(finding))).collect(),
            not_recorded: process.unwatched.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<&facts::Ending> for Ending {
    fn from(ending: &facts::Ending) -> Ending {
        let (how, reason, signal) = match &ending.how {
            How::Unknown => ("unknown", None, None),
            How::Whole => ("whole", None, None),
            How::Cut(reason) => ("cut", Some(reason.clone()), None),
            How::Killed { signal } => ("killed", None, Some(*signal)),
        };
        Ending {
            how: how.to_string(),
            reason,
            signal,
            growing: ending.growing.clone(),
            resident_peak_bytes: ending.resident_peak,
            elapsed_nanoseconds: ending.elapsed,
            processor_nanoseconds: ending.processor_time,
        }
    }
}

impl Batch {
    fn of(growth: &Growth, room: Option<u64>) -> Batch {
        let fitting = |room_bytes| Fitting { room_bytes, items: growth.fitting(room_bytes).unwrap_or(0) };
        Batch {
            items: growth.items,
            one_more_bytes: growth.one_more,
            on_device: growth.is_device,
            fitting: room.map(fitting),
        }
    }
}

impl Spent {
    fn of(process: &facts::Process) -> Spent {
        let facts::Spent { copies, fills, not_measured, threads } = process.spent;
        let (of_nanoseconds, of_the_run) = process.run_time();
        Spent {
            copies: copies.into(),
            fills: fills.into(),
            on_streams: not_measured.into(),
            threads: threads as u64,
            of_nanoseconds,
            of_the_run,
        }
    }
}

/// The sums of the account that are not zero.
fn work(account: &Account) -> Vec<Work> {
    let mut all = Vec::new();
    let mut add = |work: Work, sum: Sum| {
        if sum.count > 0 {
            all.push(Work { amount: sum.into(), ..work });
        }
    };
    let what = |what: &str| Work { what: what.to_string(), ..Work::default() };
    for kind in Kind::ALL {
        let memory = account.memory(kind);
        let of_kind = |name| Work { kind: Some(kind.name().to_string()), ..what(name) };
        add(of_kind("allocation"), memory.fresh);
        add(of_kind("reuse"), memory.pooled);
        add(of_kind("turned away"), memory.turned_away);
    }
    for side in [Side::Host, Side::Device] {
        let of_side = |name| Work { side: Some(side.name().to_string()), ..what(name) };
        add(of_side("fill"), account.fills(side));
        for path in [Path::Pinned, Path::Staged, Path::Pageable] {
            add(Work { path: Some(path.name().to_string()), ..of_side("copy") }, account.copies(side, path));
        }
        for newest in [false, true] {
            add(Work { newest: Some(newest), ..of_side("eviction") }, account.evictions(side, newest));
        }
        add(of_side("failure"), account.failures(side));
    }
    add(what("wait"), account.waits);
    add(what("synchronisation"), account.synchronised);
    add(what("registration"), account.registered);
    all
}

impl From<&facts::Holder> for Holder {
    fn from(holder: &facts::Holder) -> Holder {
        Holder {
            name: holder.who.clone(),
            peak_bytes: Kinds::of_array(holder.at_peak),
            peak_blocks: Kinds::of_array(holder.blocks_at_peak),
            live_bytes: Kinds::of_array(holder.live),
            live_blocks: Kinds::of_array(holder.blocks),
        }
    }
}

fn sites(process: &facts::Process) -> Vec<Site> {
    let resolver = process.stacks.resolver();
    let site = |caller: &facts::Caller| {
        let [copies_to_host, copies_to_device] = caller.copies.map(Amount::from);
        Site {
            name: caller.who.clone(),
            made: caller.made,
            copies_to_host,
            copies_to_device,
            fills: caller.fills.into(),
            fresh: caller.fresh.into(),
            waits: caller.waits.into(),
            frames: process.stacks.frames(&resolver, &caller.who),
        }
    };
    process.callers.iter().map(site).collect()
}

impl Advice {
    fn of(finding: &facts::Finding, worth_doing: bool) -> Advice {
        Advice {
            rule: finding.rule.to_string(),
            certainty: finding.certainty.to_string(),
            worth_doing,
            change: finding.change.to_string(),
            seen: finding.seen.to_string(),
            to_do: finding.to_do.to_string(),
            not_known: finding.not_known.to_string(),
            made: finding.made.clone(),
            at: Some(finding.at.clone()).filter(|at| !at.is_empty()),
            objects: finding.objects,
            count: finding.count,
            bytes: finding.bytes,
            saved_nanoseconds: finding.saved,
        }
    }
}
