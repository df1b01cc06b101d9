//! Sums a trace up, event by event.

use std::collections::BTreeMap;
use std::path::Path;

use super::figures::*;
use super::folder::Folder;
use super::gpu::in_a_process_with_a_driver;
use syncedmem_analysis::advice::Advice;
use syncedmem_analysis::evaluation::Evaluation;
use syncedmem_trace::event::{Event, Noticed, Origin, Path as Way, What};
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;
use syncedmem_trace_reader::{Item, Reader};

/// The figures of each process, from its events in the trace; live bytes as the account in its header has them.
pub fn figures_of(trace: &Path) -> BTreeMap<u32, syncedmem_stats_t> {
    let mut processes: BTreeMap<u32, syncedmem_stats_t> = BTreeMap::new();
    for item in Reader::open(trace).unwrap() {
        match item.unwrap() {
            Item::Event { process, event } => take(processes.entry(process).or_default(), &event),
            Item::End(end) => {
                let stats = processes.entry(end.process).or_default();
                let live = end.header.memory.map(|memory| memory.live as u64);
                [stats.pageable.live, stats.pinned.live, stats.device.live] = live;
            }
            _ => {}
        }
    }
    processes
}

/// Runs `body` in a process that traces from the beginning.
pub fn in_a_traced_process(environment: &[(&str, &str)], body: impl FnOnce()) {
    let folder = Folder::new();
    let file = folder.path("trace");
    let environment: Vec<_> =
        environment.iter().copied().chain([("SYNCEDMEM_TRACE", file.to_str().unwrap())]).collect();
    in_a_process_with_a_driver(&environment, body);
}

/// The advice on what this process, which is traced, did so far.
pub fn advice() -> Vec<Advice> {
    let mut all = Evaluation::default();
    for item in Reader::open(Path::new(&std::env::var_os("SYNCEDMEM_TRACE").unwrap())).unwrap() {
        match item.unwrap() {
            Item::Mode { accesses, .. } => all.set_every_access(accesses),
            Item::Event { event, .. } => all.take(&event),
            _ => {}
        }
    }
    all.advice()
}

fn take(stats: &mut syncedmem_stats_t, event: &Event) {
    let add = |sum: &mut syncedmem_sum_t, bytes: u64| {
        (sum.count, sum.bytes, sum.nanoseconds) = (sum.count + 1, sum.bytes + bytes, sum.nanoseconds + event.duration);
    };
    let memory = |stats: &mut syncedmem_stats_t, kind: Kind, work: &dyn Fn(&mut syncedmem_memory_stats_t)| {
        work(match kind {
            Kind::Pageable => &mut stats.pageable,
            Kind::Pinned => &mut stats.pinned,
            Kind::Device => &mut stats.device,
        });
    };
    match event.what {
        What::Made { noticed, .. } => {
            stats.objects_made += 1;
            stats.objects_unseen += u64::from(noticed == Noticed::FirstAccess);
        }
        What::Ended => stats.objects_ended += 1,
        What::Accessed { side, access, .. } => {
            *match (side, access) {
                (Side::Host, Access::Read) => &mut stats.host_reads,
                (Side::Host, Access::Write) => &mut stats.host_writes,
                (Side::Host, Access::Overwrite) => &mut stats.host_overwrites,
                (Side::Device, Access::Read) => &mut stats.device_reads,
                (Side::Device, Access::Write) => &mut stats.device_writes,
                (Side::Device, Access::Overwrite) => &mut stats.device_overwrites,
            } += 1;
        }
        What::Allocated { kind, bytes, origin: Origin::Fresh, .. } => {
            memory(stats, kind, &|memory| add(&mut memory.allocations, bytes));
        }
        What::Allocated { kind, bytes, .. } => memory(stats, kind, &|memory| add(&mut memory.pool_hits, bytes)),
        What::Freed { kind, bytes, .. } => memory(stats, kind, &|memory| add(&mut memory.frees, bytes)),
        What::TurnedAway { kind, bytes } => memory(stats, kind, &|memory| add(&mut memory.turned_away, bytes)),
        What::Filled { side: Side::Host, bytes } => add(&mut stats.host_fills, bytes),
        What::Filled { bytes, .. } => add(&mut stats.device_fills, bytes),
        What::Copied { to, bytes, path, .. } | What::Started { to, bytes, path, .. } => {
            let sum = match (to, path) {
                (Side::Device, Way::Pinned) => &mut stats.to_device_pinned,
                (Side::Device, Way::Staged) => &mut stats.to_device_staged,
                (Side::Device, Way::Pageable) => &mut stats.to_device_pageable,
                (Side::Host, Way::Pinned) => &mut stats.to_host_pinned,
                (Side::Host, Way::Staged) => &mut stats.to_host_staged,
                (Side::Host, Way::Pageable) => &mut stats.to_host_pageable,
            };
            add(sum, bytes);
        }
        What::Completed { .. } => add(&mut stats.waits, 0),
        What::Evicted { side: Side::Host, bytes, .. } => add(&mut stats.host_evictions, bytes),
        What::Evicted { bytes, .. } => add(&mut stats.device_evictions, bytes),
        What::Registered { bytes } => add(&mut stats.registrations, bytes),
        What::Synchronised => add(&mut stats.synchronises, 0),
        What::Failed { side: Side::Host, bytes } => add(&mut stats.host_failures, bytes),
        What::Failed { bytes, .. } => add(&mut stats.device_failures, bytes),
        What::Resized { .. } | What::Compared { .. } | What::Lent { .. } | What::Released { .. } => {}
    }
}
