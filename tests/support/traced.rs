//! The trace of this process, and what it sums up to.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::gpu::in_a_process_with_a_driver;
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::{Account, Counters};
use syncedmem_trace::event::Event;
use syncedmem_trace_reader::ledger::{Holder, Ledger, Share};
use syncedmem_trace_reader::{Item, Reader};

/// Runs `body` in a process that traces from the beginning.
pub fn in_a_traced_process(environment: &[(&str, &str)], body: impl FnOnce()) {
    let folder = Folder::new();
    let file = folder.path("trace");
    let environment: Vec<_> =
        environment.iter().copied().chain([("SYNCEDMEM_TRACE", file.to_str().unwrap())]).collect();
    in_a_process_with_a_driver(&environment, body);
}

fn read(trace: &Path) -> impl Iterator<Item = Item> + use<> {
    Reader::open(trace).unwrap().map(Result::unwrap)
}

/// What this process, which is traced, has recorded so far.
pub fn items() -> impl Iterator<Item = Item> {
    read(&file())
}

/// The trace of this process.
pub fn file() -> PathBuf {
    std::env::var_os("SYNCEDMEM_TRACE").unwrap().into()
}

pub fn events() -> Vec<Event> {
    items().filter_map(|item| if let Item::Event(event) = item { Some(event) } else { None }).collect()
}

/// Those of this process and its children so far.
pub fn accounts() -> BTreeMap<u32, Account> {
    sums(items())
}

fn sums(items: impl Iterator<Item = Item>) -> BTreeMap<u32, Account> {
    let (mut accounts, mut counters) = (BTreeMap::new(), Counters::new());
    for item in items {
        match item {
            Item::Event(event) => _ = counters.take(&event),
            Item::End(end) => {
                let account = std::mem::replace(&mut counters, Counters::new()).account();
                let is_held = |kind: Kind| end.header.peaks[kind as usize].0 as i64 >= account.live(kind);
                assert!(Kind::ALL.into_iter().all(is_held), "a peak in the header is below what is held");
                accounts.insert(end.process, account);
            }
            _ => {}
        }
    }
    accounts
}

/// Bytes and blocks of pageable memory at its peak, by the name of their holder or the place that made it.
pub fn at_peak(trace: &Path) -> BTreeMap<String, (u64, u64)> {
    let (mut ledger, mut places) = (Ledger::default(), HashMap::new());
    for item in read(trace) {
        match item {
            Item::Event(event) => ledger.take(&event),
            Item::Name { object, name, .. } => ledger.name(object, &name),
            Item::Site { site, place } => _ = places.insert(site, place),
            _ => {}
        }
    }
    let who = |holder| match holder {
        Holder::Site(site) => places.get(&site).cloned().unwrap_or_default(),
        named => ledger.name_of(named).unwrap().to_owned(),
    };
    let held = |share: Share| (share.at_peak[0], share.blocks_at_peak[0]);
    let shares = ledger.holders().map(|(holder, share)| (who(holder), held(share)));
    shares.filter(|&(_, (bytes, _))| bytes > 0).collect()
}
