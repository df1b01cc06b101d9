//! Sums a trace up from its words alone.

use std::collections::BTreeMap;

use super::figures::*;

/// The value of a key in a record: a word without its quotes, or a number.
fn value<'r>(record: &'r str, key: &str) -> Option<&'r str> {
    let (_, rest) = record.split_once(&format!("\"{key}\":"))?;
    Some(match rest.strip_prefix('"') {
        Some(word) => word.split('"').next()?,
        None => rest.split([',', '}']).next()?,
    })
}

/// Microseconds with three decimals as nanoseconds.
fn nanoseconds(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').unwrap();
    assert_eq!(part.len(), 3, "{text}");
    whole.parse::<u64>().unwrap() * 1000 + part.parse::<u64>().unwrap()
}

/// The figures of each process, from its events in the trace; live bytes as the last counter has them.
pub fn figures_of(trace: &str) -> BTreeMap<u32, syncedmem_stats_t> {
    let mut processes: BTreeMap<u32, syncedmem_stats_t> = BTreeMap::new();
    for record in trace.lines() {
        let Some(process) = value(record, "pid") else { continue };
        let stats = processes.entry(process.parse().unwrap()).or_default();
        if value(record, "ph") == Some("C") {
            let bytes = |kind: &str| value(record, kind).unwrap().parse().unwrap();
            (stats.pageable.live, stats.pinned.live, stats.device.live) =
                (bytes("pageable"), bytes("pinned"), bytes("device"));
        }
        if value(record, "ph") == Some("X") || value(record, "ph") == Some("i") {
            take(stats, record);
        }
    }
    processes
}

fn take(stats: &mut syncedmem_stats_t, record: &str) {
    let is = |key: &str, word: &str| value(record, key) == Some(word);
    // One that took no time is drawn as the shortest that can be seen.
    let took = if is("took", "0") { 0 } else { value(record, "dur").map_or(0, nanoseconds) };
    let bytes = value(record, "bytes").map_or(0, |bytes| bytes.parse::<u64>().unwrap());
    let add = |sum: &mut syncedmem_sum_t| {
        (sum.count, sum.bytes, sum.nanoseconds) = (sum.count + 1, sum.bytes + bytes, sum.nanoseconds + took);
    };
    let memory =
        |stats: &mut syncedmem_stats_t, work: &dyn Fn(&mut syncedmem_memory_stats_t)| match value(record, "kind") {
            Some("pageable") => work(&mut stats.pageable),
            Some("pinned") => work(&mut stats.pinned),
            Some("device") => work(&mut stats.device),
            other => panic!("{other:?}: {record}"),
        };
    match value(record, "what") {
        Some("made") => {
            stats.objects_made += 1;
            stats.objects_unseen += u64::from(is("noticed", "first access"));
        }
        Some("ended") => stats.objects_ended += 1,
        Some("accessed") => {
            let counts = match (is("side", "host"), value(record, "access").unwrap()) {
                (true, "read") => &mut stats.host_reads,
                (true, "write") => &mut stats.host_writes,
                (true, _) => &mut stats.host_overwrites,
                (false, "read") => &mut stats.device_reads,
                (false, "write") => &mut stats.device_writes,
                (false, _) => &mut stats.device_overwrites,
            };
            *counts += 1;
        }
        Some("allocated") if is("origin", "fresh") => memory(stats, &|memory| add(&mut memory.allocations)),
        Some("allocated") => memory(stats, &|memory| add(&mut memory.pool_hits)),
        Some("freed") => memory(stats, &|memory| add(&mut memory.frees)),
        Some("turned away") => memory(stats, &|memory| add(&mut memory.turned_away)),
        Some("filled") => add(if is("side", "host") { &mut stats.host_fills } else { &mut stats.device_fills }),
        Some("copied" | "started") => add(match (is("to", "device"), value(record, "path").unwrap()) {
            (true, "pinned") => &mut stats.to_device_pinned,
            (true, "staged") => &mut stats.to_device_staged,
            (true, _) => &mut stats.to_device_pageable,
            (false, "pinned") => &mut stats.to_host_pinned,
            (false, "staged") => &mut stats.to_host_staged,
            (false, _) => &mut stats.to_host_pageable,
        }),
        Some("completed") => add(&mut stats.waits),
        Some("evicted") if is("side", "host") => add(&mut stats.host_evictions),
        Some("evicted") => add(&mut stats.device_evictions),
        Some("registered") => add(&mut stats.registrations),
        Some("synchronised") => add(&mut stats.synchronises),
        Some("failed") if is("side", "host") => add(&mut stats.host_failures),
        Some("failed") => add(&mut stats.device_failures),
        _ => {}
    }
}
