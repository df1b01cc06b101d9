//! The trace of this process, and what it sums up to.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder::Folder;
use super::gpu::in_a_process_with_a_driver;
use syncedmem_analysis::account::Account;
use syncedmem_analysis::advice::Advice;
use syncedmem_analysis::evaluation::Evaluation;
use syncedmem_trace::event::Event;
use syncedmem_trace::kind::Kind;
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
    read(Path::new(&std::env::var_os("SYNCEDMEM_TRACE").unwrap()))
}

pub fn events() -> Vec<Event> {
    items().filter_map(|item| if let Item::Event { event, .. } = item { Some(event) } else { None }).collect()
}

/// The sums of the events of each process, without peaks.
pub fn accounts_of(trace: &Path) -> BTreeMap<u32, Account> {
    sums(read(trace))
}

/// Those of this process and its children so far.
pub fn accounts() -> BTreeMap<u32, Account> {
    sums(items())
}

fn sums(items: impl Iterator<Item = Item>) -> BTreeMap<u32, Account> {
    let mut accounts = BTreeMap::new();
    for item in items {
        match item {
            Item::Event { process, event } => accounts.entry(process).or_insert(Account::NEW).take(&event),
            Item::End(end) => {
                let account = accounts.entry(end.process).or_insert(Account::NEW);
                account.reset_peaks(0);
                let live = Kind::ALL.map(|kind| account.memory(kind).live as i64);
                assert_eq!(end.header.memory.map(|memory| memory.live), live, "the account in the header");
            }
            _ => {}
        }
    }
    accounts
}

pub fn advice_on<'e>(every_access: bool, events: impl IntoIterator<Item = &'e Event>) -> Vec<Advice> {
    let mut all = Evaluation::default();
    all.set_every_access(every_access);
    events.into_iter().for_each(|event| all.take(event));
    all.advice()
}

/// The advice on what this process did so far.
pub fn advice() -> Vec<Advice> {
    advice_on(items().any(|item| matches!(item, Item::Mode { accesses: true, .. })), &events())
}
