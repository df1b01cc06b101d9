//! The rules about copies.

use syncedmem_analysis::advice::{Certainty::*, Rule::*, Subject};
use syncedmem_trace::event::Path::*;
use syncedmem_trace::kind::Kind;

use super::found::*;
use super::story::*;

const SIZE: u64 = 4096;
const LARGE: u64 = 64 << 10;

/// An object whose data is on the host, and was on the device never.
fn on_host(bytes: u64) -> Vec<Told> {
    vec![made(bytes), asked(Host, Overwrite), fresh(Kind::Pageable, bytes)]
}

/// An object whose data is on the device alone.
fn on_device(bytes: u64) -> Vec<Told> {
    vec![made(bytes), asked(Device, Overwrite), fresh(Kind::Device, bytes)]
}

fn a_push_is_unread_whatever_makes_it_void_before_the_device_is_asked_for() {
    let voids: [&[Told]; 9] = [
        &[asked(Host, Write)],
        &[asked(Host, Overwrite)],
        &[asked(Device, Overwrite)],
        &[lent(Host)],
        &[lent(Device)],
        &[released(Device)],
        &[evicted(SIZE)],
        &[resized(2 * SIZE)],
        &[completed(Device), ended()],
    ];
    for void in voids {
        let story = [on_host(SIZE), vec![started(Device, SIZE, Pinned).at(3)], void.to_vec()].concat();
        let expected = advice(UnreadCopy, Certain, Subject::CopyTo(Device), 3).sums(1, SIZE, None);
        assert_eq!(with_every_access(UnreadCopy, &story), [expected], "{void:?}");
        assert_eq!(without(UnreadCopy, &story), [], "the device may have been read unseen: {void:?}");
    }
}

fn a_copy_may_be_read_through_an_address_that_was_asked_for_before() {
    let push = vec![started(Device, SIZE, Pinned).at(3), ready(Host, Write)];
    let certainty = |before: &[Told]| {
        let story = [on_host(SIZE), before.to_vec(), push.clone()].concat();
        with_every_access(UnreadCopy, &story)[0].certainty
    };
    let asked_for = [asked(Device, Read), copied(Device, Read, SIZE, Pageable), ready(Host, Write)];
    assert_eq!(certainty(&asked_for), Possible);
    assert_eq!(certainty(&[lent(Device), asked(Host, Overwrite)]), Possible, "it is the caller's own");
    assert_eq!(certainty(&[&asked_for[..], &[released(Device)]].concat()), Certain, "that memory is gone");
    let story = [vec![first_seen(SIZE), asked(Host, Write)], push].concat();
    assert_eq!(with_every_access(UnreadCopy, &story)[0].certainty, Possible, "it was in use before");
}

fn an_access_that_failed_makes_nothing_void() {
    let push = [on_host(SIZE), vec![started(Device, SIZE, Pinned), released(Host)]].concat();
    let fails = vec![asked(Host, Overwrite), failed(Host, SIZE)];
    let read = vec![ready(Device, Read), ended()];
    assert_eq!(with_every_access(UnreadCopy, &[push.clone(), fails, read.clone()].concat()), []);
    let says_nothing = vec![asked(Host, Overwrite)];
    assert_eq!(with_every_access(UnreadCopy, &[push.clone(), says_nothing, read.clone()].concat()), []);
    let succeeds = vec![asked(Host, Overwrite), fresh(Kind::Pageable, SIZE)];
    assert_eq!(with_every_access(UnreadCopy, &[push, succeeds, read].concat()).len(), 1);
}

fn a_pull_is_judged_until_it_is_known_to_be_complete_where_few_accesses_are_told() {
    let pull = [on_device(SIZE), vec![started(Host, SIZE, Pinned).at(3)]].concat();
    let expected = advice(UnreadCopy, Certain, Subject::CopyTo(Host), 3).sums(1, SIZE, None);
    assert_eq!(both(UnreadCopy, &[pull.clone(), vec![lent(Host)]].concat()), [expected]);
    let landed = [pull, vec![completed(Host), asked(Device, Write)]].concat();
    assert_eq!(with_every_access(UnreadCopy, &landed), [expected]);
    assert_eq!(without(UnreadCopy, &landed), [], "the host may have been read unseen");
}

fn a_writer_that_could_not_wait_for_a_pull_makes_nothing_void() {
    let waits = vec![started(Host, SIZE, Pinned), asked(Device, Write)];
    let reads = vec![asked(Host, Read), completed(Host), ended()];
    assert_eq!(both(UnreadCopy, &[on_device(SIZE), waits, reads].concat()), []);
}

fn a_copy_in_flight_costs_what_others_of_its_direction_and_path_did() {
    let measured = vec![asked(Device, Read), copied(Device, Read, 1000, Pinned).taking(500)];
    let others = vec![started(Host, 1000, Pinned), copied(Device, Read, 1000, Pageable).taking(9)];
    let story = [on_host(SIZE), vec![started(Device, SIZE, Pinned), asked(Host, Write)]].concat();
    let saved = |story: &[Told]| with_every_access(UnreadCopy, story)[0].saved_nanoseconds;
    let other = |told: &[Told]| [vec![made(1000)], told.to_vec()].concat().into_iter().map(|told| told.of(0x20));
    assert_eq!(saved(&[story.clone(), other(&others).collect()].concat()), None);
    assert_eq!(saved(&[story, other(&measured).collect()].concat()), Some(SIZE / 2));
}

fn a_push_that_was_waited_for_is_a_push() {
    let story = [on_host(SIZE), vec![pushed_at_once(SIZE).at(3).taking(50), asked(Host, Write)]].concat();
    let expected = advice(UnreadCopy, Certain, Subject::CopyTo(Device), 3).sums(1, SIZE, 50);
    assert_eq!(with_every_access(UnreadCopy, &story), [expected]);
    assert_eq!(without(UnreadCopy, &story), []);
}

/// A copy by a writer at a site that is the side's number.
fn to_and_fro(side: syncedmem_trace::head::Side, took: u64) -> [Told; 2] {
    [asked(side, Write), copied(side, Write, SIZE, Pageable).at(20 + side as u32).taking(took)]
}

fn four_copies_to_and_fro_are_a_ping_pong_and_three_are_not() {
    let copies = [to_and_fro(Device, 1), to_and_fro(Host, 2), to_and_fro(Device, 4), to_and_fro(Host, 8)];
    let story = [on_host(SIZE), copies.concat()].concat();
    let expected = advice(PingPong, Certain, Subject::Object, 20);
    assert_eq!(both(PingPong, &story), [expected.sums(4, 4 * SIZE, 15)]);
    assert_eq!(both(PingPong, &story[..story.len() - 2]), []);
    let story = [story, to_and_fro(Device, 16).to_vec()].concat();
    assert_eq!(both(PingPong, &story), [expected.sums(5, 5 * SIZE, 31)]);
}

fn a_row_ends_with_a_second_copy_in_the_same_direction_or_another_size() {
    let three = [to_and_fro(Device, 1), to_and_fro(Host, 2), to_and_fro(Device, 4)].concat();
    let breaks: [&[Told]; 2] = [
        &[asked(Host, Overwrite), asked(Device, Write), copied(Device, Write, SIZE, Pageable)],
        &[resized(2 * SIZE), asked(Device, Write), filled(Device, 2 * SIZE)],
    ];
    for broken in breaks {
        let more = [to_and_fro(Host, 8), to_and_fro(Device, 16)].concat();
        let story = [on_host(SIZE), three.clone(), broken.to_vec(), more].concat();
        assert_eq!(both(PingPong, &story), [], "{broken:?}");
    }
    let again = [to_and_fro(Host, 8), to_and_fro(Device, 16), to_and_fro(Host, 32)].concat();
    let story = [on_host(SIZE), three, breaks[0].to_vec(), again].concat();
    let expected = advice(PingPong, Certain, Subject::Object, 20).sums(4, 4 * SIZE, 56);
    assert_eq!(both(PingPong, &story), [expected], "a new row");
}

fn two_copies_of_64_kib_from_pageable_memory_are_slow_if_pinned_ones_were_faster() {
    let copy = |bytes, path, took| {
        vec![asked(Host, Overwrite), asked(Device, Read), copied(Device, Read, bytes, path).at(5).taking(took)]
    };
    let pinned = |took| {
        let told = [made(LARGE), asked(Host, Overwrite), copied(Device, Read, LARGE, Pinned).taking(took)];
        told.map(|told| told.of(0x20)).to_vec()
    };
    let slow = [on_host(LARGE), copy(LARGE, Pageable, 900), copy(LARGE, Pageable, 500)].concat();
    let expected = advice(PageableCopy, Certain, Subject::CopyTo(Device), 5);
    assert_eq!(both(PageableCopy, &slow), [expected.sums(2, 2 * LARGE, None)], "no pinned copy to compare with");
    let with = |story: &[Told], took| both(PageableCopy, &[story.to_vec(), pinned(took)].concat());
    assert_eq!(with(&slow, 300), [expected.sums(2, 2 * LARGE, 800)]);
    assert_eq!(with(&slow, 700), [], "pinned copies were no faster");
    assert_eq!(with(&[on_host(LARGE), copy(LARGE, Pageable, 900)].concat(), 300), [], "but one");
    let small = [on_host(LARGE - 1), copy(LARGE - 1, Pageable, 900), copy(LARGE - 1, Pageable, 900)].concat();
    assert_eq!(with(&small, 300), []);
    let already = [on_host(LARGE), copy(LARGE, Pinned, 900), copy(LARGE, Pinned, 900)].concat();
    assert_eq!(with(&already, 300), []);
}

fn how_fast_pinned_copies_are_is_not_learnt_from_small_ones() {
    let copy = vec![asked(Host, Overwrite), copied(Device, Read, LARGE, Pageable).at(5).taking(900)];
    let small = [made(8), copied(Device, Read, 8, Pinned).taking(800)].map(|told| told.of(0x20)).to_vec();
    let story = [on_host(LARGE), copy.clone(), copy, small].concat();
    let expected = advice(PageableCopy, Certain, Subject::CopyTo(Device), 5).sums(2, 2 * LARGE, None);
    assert_eq!(both(PageableCopy, &story), [expected]);
}

crate::support::harness::tests![
    a_push_is_unread_whatever_makes_it_void_before_the_device_is_asked_for,
    a_copy_may_be_read_through_an_address_that_was_asked_for_before,
    an_access_that_failed_makes_nothing_void,
    a_pull_is_judged_until_it_is_known_to_be_complete_where_few_accesses_are_told,
    a_writer_that_could_not_wait_for_a_pull_makes_nothing_void,
    a_copy_in_flight_costs_what_others_of_its_direction_and_path_did,
    a_push_that_was_waited_for_is_a_push,
    four_copies_to_and_fro_are_a_ping_pong_and_three_are_not,
    a_row_ends_with_a_second_copy_in_the_same_direction_or_another_size,
    two_copies_of_64_kib_from_pageable_memory_are_slow_if_pinned_ones_were_faster,
    how_fast_pinned_copies_are_is_not_learnt_from_small_ones,
];
