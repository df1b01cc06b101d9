//! `syncedmem report --json`, which docs/report.md describes.

use serde::Serialize;
use serde_json::{Map, Value, json};
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Sum, Work};
use syncedmem_trace::event::PassKind;
use syncedmem_trace_reader::Caffe;

use super::about::About;
use super::batch::{Growth, Limit, growth};
use super::facts::{Ending, Failure, How, Process, Trace};
use super::layers::Group;
use super::rows::{CERTAINTY, Caller, HolderRow, IN_PLACE, InPlace, Rule, SHARE};
use super::sentences::share;

/// The version rises if a field is removed or its meaning changes. Fields may be added.
pub const VERSION: u32 = 1;

/// `fit` is the number of bytes that a batch shall fit in.
pub fn of(trace: &Trace, fit: Option<u64>) -> Value {
    json!({
        "syncedmem_report": VERSION,
        "trace": trace.name,
        "whole": trace.notes.is_empty(),
        "notes": trace.notes,
        "processes": trace.processes.iter().map(|one| process(one, fit)).collect::<Value>(),
    })
}

fn process(process: &Process, fit: Option<u64>) -> Value {
    let account = &process.account;
    let memory = |kind| {
        let memory = account.memory(kind);
        json!({
            "peak_bytes": memory.peak,
            "peak_at_nanoseconds": process.timeline.since_begin(memory.peak_time),
            "live_bytes": memory.live,
        })
    };
    let role = |(role, at_peak): &(&str, _)| json!({ "role": role, "peak_bytes": kinds(*at_peak) });
    let group =
        |group: &Group| json!({ "name": group.name, "layers": group.layers, "peak_bytes": kinds(group.at_peak) });
    let batch = |growth: &Growth| {
        let fitting = |bytes| {
            let limit = Limit { bytes, whose: "", in_use: None };
            json!({ "room_bytes": bytes, "items": growth.fitting(limit).unwrap_or(0) })
        };
        json!({
            "items": growth.items,
            "one_more_bytes": growth.one_more,
            "on_device": growth.is_device,
            "fitting": fit.map(fitting),
        })
    };
    let pass = |kind: PassKind| {
        let sum = process.timeline.passes(kind);
        (sum.count > 0).then(|| json!({ "what": kind.name(), "count": sum.count, "nanoseconds": sum.nanoseconds }))
    };
    let (of_nanoseconds, of_the_run) = process.run_time();
    json!({
        "process": process.id,
        "program": process.name,
        "events": process.events,
        "nanoseconds": process.timeline.span(),
        "about": about(&process.about),
        "ending": ending(&process.ending),
        "failure": process.failure.as_ref().map(|last| failure(last, process.failure_that_ended().is_some())),
        "objects": {
            "made": account.made(),
            "noticed_at_an_access": account.made_unseen(),
            "ended": account.ended(),
            "alive": process.alive,
        },
        "memory": kinds(Kind::ALL.map(memory)),
        "roles": process.roles.iter().map(role).collect::<Value>(),
        "types": process.by_type.iter().map(group).collect::<Value>(),
        "beginnings": process.by_name.iter().map(group).collect::<Value>(),
        "holders": process.holders.iter().map(holder).collect::<Value>(),
        "batches": growth(process).iter().map(batch).collect::<Value>(),
        "spent": {
            "copies": amount(process.spent.copies),
            "fills": amount(process.spent.fills),
            "on_streams": amount(process.spent.not_measured),
            "threads": process.spent.threads,
            "of_nanoseconds": of_nanoseconds,
            "of_the_run": of_the_run,
        },
        "work": account.work().map(work).collect::<Value>(),
        "passes": PassKind::ALL.into_iter().filter_map(pass).collect::<Value>(),
        "sites": sites(process),
        "advice": advice(process),
    })
}

/// Values that were not recorded are empty or null.
fn about(about: &About) -> Value {
    let About { command, host, started, library, caffes, settings, limits } = about;
    let caffe = |caffe: &Caffe| {
        let Caffe { file, reaches, taken_over, for_names: _ } = caffe;
        json!({ "file": file, "reaches_the_library": reaches, "functions_taken_over": taken_over })
    };
    let limit = |(name, bytes): &(String, u64)| json!({ "name": name, "bytes": bytes });
    json!({
        "command": command,
        "host": Some(host).filter(|host| !host.is_empty()),
        "started": Some(about.date()).filter(|date| !date.is_empty()),
        "started_nanoseconds": Some(started).filter(|&&started| started > 0),
        "library": Some(library).filter(|library| !library.is_empty()),
        "caffes": caffes.iter().map(caffe).collect::<Value>(),
        "limits": limits.iter().map(limit).collect::<Value>(),
        "settings": settings,
    })
}

fn failure(failure: &Failure, ended: bool) -> Value {
    let holder = |(name, bytes): &(String, u64)| json!({ "name": name, "bytes": bytes });
    json!({
        "count": failure.count,
        "ended_the_process": ended,
        "name": failure.who,
        "side": if failure.on_device { "device" } else { "host" },
        "bytes": failure.bytes,
        "refused_by": failure.refusal.name(),
        "limit_bytes": Some(failure.limit).filter(|&limit| limit > 0),
        "holders": failure.holders.iter().map(holder).collect::<Value>(),
    })
}

fn ending(ending: &Ending) -> Value {
    let (how, reason, signal) = match &ending.how {
        How::Unknown => ("unknown", None, None),
        How::Whole => ("whole", None, None),
        How::Cut(reason) => ("cut", Some(reason), None),
        How::Killed { signal } => ("killed", None, Some(signal)),
    };
    json!({
        "how": how,
        "reason": reason,
        "signal": signal,
        "status": ending.status,
        "growing": ending.growing,
        "resident_peak_bytes": ending.resident_peak,
        "elapsed_nanoseconds": ending.elapsed,
        "processor_nanoseconds": ending.processor_time,
    })
}

fn kinds(values: [impl Serialize; 3]) -> Value {
    let [pageable, pinned, device] = values;
    json!({ "pageable": pageable, "pinned": pinned, "device": device })
}

fn holder(holder: &HolderRow) -> Value {
    json!({
        "name": holder.who,
        "peak_bytes": kinds(holder.at_peak),
        "peak_blocks": kinds(holder.blocks_at_peak),
        "live_bytes": kinds(holder.live),
        "live_blocks": kinds(holder.blocks),
    })
}

fn amount(Sum { count, bytes, nanoseconds }: Sum) -> Map<String, Value> {
    // A sum without a time was not measured.
    let nanoseconds = Some(nanoseconds).filter(|&time| time > 0 || count == 0);
    let fields = [("count", count.into()), ("bytes", bytes.into()), ("nanoseconds", nanoseconds.into())];
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn work((work, sum): (Work, Sum)) -> Value {
    let mut all = match work {
        Work::Fresh(kind) => json!({ "what": "allocation", "kind": kind.name() }),
        Work::Pooled(kind) => json!({ "what": "reuse", "kind": kind.name() }),
        Work::Fill(side) => json!({ "what": "fill", "side": side.name() }),
        Work::Copy(side, path) => json!({ "what": "copy", "side": side.name(), "path": path.name() }),
        Work::Wait => json!({ "what": "wait" }),
        Work::Synchronisation => json!({ "what": "synchronisation" }),
        Work::Failure(side) => json!({ "what": "failure", "side": side.name() }),
    };
    if let Value::Object(fields) = &mut all {
        fields.extend(amount(sum));
    }
    all
}

fn sites(process: &Process) -> Value {
    let site = |caller: &Caller| {
        json!({
            "name": caller.who,
            "made": caller.made,
            "copies_to_host": amount(caller.copies[0]),
            "copies_to_device": amount(caller.copies[1]),
            "fills": amount(caller.fills),
            "fresh": amount(caller.fresh),
            "waits": amount(caller.waits),
        })
    };
    process.callers.iter().map(site).collect()
}

fn advice(process: &Process) -> Value {
    let advice = |rule: &Rule, is_worth: bool, made: &str, at: &str, count: u64, bytes: u64| {
        json!({
            "rule": rule.name,
            "certainty": CERTAINTY,
            "worth_doing": is_worth,
            "change": rule.change,
            "seen": rule.seen,
            "to_do": rule.to_do,
            "not_known": rule.not_known,
            "made": made,
            "at": at,
            "count": count,
            "bytes": bytes,
        })
    };
    let share = share(process).map(|share| advice(&SHARE, true, "", &share.option, 0, share.bytes));
    let is_worth = process.is_worth_doing();
    let in_place =
        |place: &InPlace| advice(&IN_PLACE, is_worth, &place.layers, &place.change, place.count, place.bytes);
    share.into_iter().chain(process.in_place.iter().map(in_place)).collect()
}
