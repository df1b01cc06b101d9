//! The table alone, with numbers for copies in flight.

use super::*;
use std::sync::atomic::Ordering::Relaxed;

const FIRST: Identity = Identity { object: 0x1000, host: 0, device: 0, size: 8, is_slow: true };
const SECOND: Identity = Identity { size: 16, ..FIRST };

type Table = super::Table<u32>;

fn claim(table: &Table, owner: usize, identity: Identity) -> Claim<'_, u32> {
    table.claim(identity.object, owner, Blocking::Yes, || identity).unwrap_or_else(|why| panic!("{why:?}"))
}

/// Leaves a copy in flight, 7, of the object `after`.
fn park(table: &Table, after: Identity) {
    let mut first = claim(table, 1, FIRST);
    first.in_flight = Some(7);
    first.publish(|_| (), || after);
}

fn entries(table: &Table) -> usize {
    table.shards.iter().map(|shard| shard.entries.with(|entries| entries.len())).sum()
}

#[test]
fn a_claim_lasts_until_it_is_published_or_dropped() {
    let table = Table::new();
    let first = claim(&table, 1, FIRST);
    assert_eq!(entries(&table), 1);
    first.publish(|entry| assert!(entry.is_claimed() && !entry.keeps()), || FIRST);
    assert_eq!(entries(&table), 0);
    drop(claim(&table, 1, FIRST));
    assert_eq!(entries(&table), 0);
}

#[test]
fn brief_work_is_not_done_while_a_thread_has_claimed_the_object() {
    let table = Table::new();
    let first = claim(&table, 1, FIRST);
    assert_eq!(table.unless_known(FIRST.object, || 42), Ok(None));
    drop(first);
    assert_eq!(table.unless_known(FIRST.object, || 42), Ok(Some(42)));
}

#[test]
fn a_thread_that_claims_twice_gets_an_error_instead_of_waiting_for_itself() {
    let table = Table::new();
    let _first = claim(&table, 1, FIRST);
    assert!(matches!(table.claim(FIRST.object, 1, Blocking::Yes, || FIRST), Err(NoClaim::Reentered)));
}

#[test]
fn an_entry_that_does_not_match_the_object_is_dropped_never_applied() {
    let table = Table::new();
    std::mem::forget(claim(&table, 1, FIRST));
    let second = claim(&table, 2, SECOND);
    assert_eq!(entries(&table), 1);
    drop(second);
    assert_eq!(entries(&table), 0);
}

#[test]
fn an_entry_that_keeps_something_is_not_of_an_object_without_the_slow_bit() {
    let table = Table::new();
    park(&table, FIRST);
    let second = claim(&table, 2, Identity { is_slow: false, ..FIRST });
    assert_eq!((second.in_flight, second.stale), (None, Some(7)));
}

#[test]
fn a_removal_drops_the_entry_of_that_address_alone() {
    let table = Table::new();
    let elsewhere = Identity { object: FIRST.object + 32, ..FIRST };
    std::mem::forget(claim(&table, 1, FIRST));
    std::mem::forget(claim(&table, 1, elsewhere));
    assert!(table.remove(FIRST.object).is_some());
    assert_eq!(entries(&table), 1);
    assert!(matches!(table.claim(elsewhere.object, 1, Blocking::Yes, || elsewhere), Err(NoClaim::Reentered)));
}

#[test]
fn a_copy_in_flight_stays_parked_until_a_claim_ends_without_it() {
    let table = Table::new();
    park(&table, FIRST);
    let second = claim(&table, 2, FIRST);
    assert_eq!(second.in_flight, Some(7));
    drop(second);
    let mut third = claim(&table, 3, FIRST);
    assert_eq!(third.in_flight.take(), Some(7));
    drop(third);
    assert_eq!(entries(&table), 0);
}

#[test]
fn a_parked_entry_is_the_objects_as_its_outcome_left_it() {
    let table = Table::new();
    park(&table, SECOND);
    assert_eq!(claim(&table, 2, SECOND).in_flight, Some(7));
}

#[test]
fn a_copy_of_an_earlier_object_is_handed_out_as_stale_and_never_as_the_objects_own() {
    let table = Table::new();
    park(&table, FIRST);
    let second = claim(&table, 2, SECOND);
    assert_eq!((second.in_flight, second.stale), (None, Some(7)));
    drop(second);
    assert_eq!(entries(&table), 0);
}

#[test]
fn a_removal_returns_the_copy_in_flight_and_whose_it_was() {
    let table = Table::new();
    park(&table, FIRST);
    let removed = table.remove(FIRST.object).map(|entry| (entry.in_flight, entry.identity));
    assert_eq!(removed, Some((Some(7), FIRST)));
    assert!(table.remove(FIRST.object).is_none());
}

#[test]
fn a_claim_that_does_not_block_is_refused_while_another_thread_has_one() {
    let table = Table::new();
    let _first = claim(&table, 1, FIRST);
    let second = table.claim(FIRST.object, 2, Blocking::No, || FIRST);
    assert!(matches!(second, Err(NoClaim::Busy)));
}

#[test]
fn a_forked_child_forgets_what_its_parents_threads_were_doing() {
    let table = Table::new();
    std::mem::forget(claim(&table, 1, FIRST));
    table.at_fork(ForkStep::Lock);
    table.at_fork(ForkStep::Unlock);
    assert_eq!(entries(&table), 1);
    table.forget_work(2);
    assert_eq!(entries(&table), 0);
    drop(claim(&table, 2, FIRST));
}

#[test]
fn the_second_comer_waits_and_finds_the_work_done() {
    let table = Table::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    let first = claim(&table, 1, FIRST);
    std::thread::scope(|threads| {
        let done = &done;
        let answer = move |_: Option<&mut Entry<u32>>| done.load(Relaxed).then_some(42);
        let table = &table;
        let second = threads.spawn(move || table.claim_unless(FIRST.object, 2, Blocking::Yes, || FIRST, answer).ok());
        while !table.shard(FIRST.object).entries.with(|entries| entries[&FIRST.object].has_waiters) {
            std::thread::yield_now();
        }
        first.publish(|_| done.store(true, Relaxed), || FIRST);
        assert!(matches!(second.join(), Ok(Some(Claimed::Ready(42)))));
    });
}
