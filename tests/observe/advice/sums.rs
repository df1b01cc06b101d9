//! How findings are summed up, and that each can be explained.

use syncedmem_analysis::advice::{Certainty::*, Rule, Rule::*, Subject};
use syncedmem_analysis::evaluation::Evaluation;
use syncedmem_trace::event::Path::*;
use syncedmem_trace::kind::Kind;

use super::found::*;
use super::story::*;

/// A push that no access asks for: one finding each.
fn push(object: u64, at: u32, bytes: u64, took: u64) -> [Told; 3] {
    let told = [asked(Host, Overwrite), pushed_at_once(bytes).at(at).taking(took), ready(Host, Overwrite)];
    told.map(|told| told.of(object))
}

fn findings_are_summed_up_by_the_site_that_made_and_the_site_that_asked() {
    let objects = [made(8).of(0x10), made(8).of(0x20), made(8).of(0x30).at(99)].to_vec();
    let pushes =
        [push(0x10, 1, 8, 5), push(0x20, 1, 8, 5), push(0x10, 1, 8, 5), push(0x10, 2, 8, 40), push(0x30, 1, 8, 1)];
    let story = [objects, pushes.concat()].concat();
    let expected = advice(UnreadCopy, Certain, Subject::CopyTo(Device), 1);
    let other_site = advice(UnreadCopy, Certain, Subject::CopyTo(Device), 2).sums(1, 8, 40);
    let other_maker =
        syncedmem_analysis::advice::Advice { made: syncedmem_trace::event::Site(99), ..expected.sums(1, 8, 1) };
    let all = [other_site, expected.sums(3, 24, 15).objects(2), other_maker];
    assert_eq!(with_every_access(UnreadCopy, &story), all, "what saves most comes first");
}

fn what_saves_the_same_is_in_the_order_of_its_sites() {
    for sites in [[1, 2], [2, 1]] {
        let pushes = sites.map(|at| push(0x10, at, 8, 5)).concat();
        let found = with_every_access(UnreadCopy, &[vec![made(8)], pushes].concat());
        assert_eq!(found.iter().map(|advice| advice.at.0).collect::<Vec<_>>(), [1, 2]);
    }
}

fn another_object_at_the_same_address_is_another_object() {
    let life = [vec![made(8)], push(0x10, 1, 8, 5).to_vec(), vec![ended()]].concat();
    let found = with_every_access(UnreadCopy, &[life.clone(), life].concat());
    assert_eq!((found[0].count, found[0].objects), (2, 2));
}

fn what_saves_no_time_is_in_the_order_of_its_bytes() {
    let copied_once = |object, at, bytes| {
        let host = [made(bytes), asked(Host, Overwrite), fresh(Kind::Pinned, bytes)];
        let device = [fresh(Kind::Device, bytes), copied(Device, Read, bytes, Pinned).at(at)];
        [&host[..], &device].concat().into_iter().map(move |told| told.of(object))
    };
    let story: Vec<_> = copied_once(0x10, 1, 100).chain(copied_once(0x20, 2, 900)).collect();
    let bytes: Vec<_> = with_every_access(UnusedSide, &story).iter().map(|advice| advice.bytes).collect();
    assert_eq!(bytes, [900, 100]);
}

fn a_report_does_not_change_what_a_later_report_says() {
    let host = [made(8), asked(Host, Overwrite), fresh(Kind::Pinned, 8)];
    let story = [host.to_vec(), vec![fresh(Kind::Device, 8), copied(Device, Read, 8, Pinned)]].concat();
    let mut all = Evaluation::default();
    all.set_every_access(true);
    events(&story).iter().for_each(|event| all.take(event));
    let first = all.advice();
    assert_eq!(first.len(), 1, "the host side is not used after the copy");
    assert_eq!(all.advice(), first);
}

fn what_may_have_happened_unseen_for_a_while_is_taken_to_have_happened() {
    let push = [made(8), asked(Host, Overwrite), fresh(Kind::Pinned, 8), started(Device, 8, Pinned)];
    let found = |breaks: &[bool]| {
        let mut ledger = Evaluation::default();
        ledger.set_every_access(true);
        events(&push).iter().for_each(|event| ledger.take(event));
        breaks.iter().for_each(|&every_access| ledger.set_every_access(every_access));
        let again = [asked(Host, Write), started(Device, 8, Pinned), asked(Host, Write)];
        events(&again).iter().for_each(|event| ledger.take(event));
        let unread = ledger.advice().into_iter().filter(|advice| advice.rule == UnreadCopy);
        unread.map(|advice| (advice.certainty, advice.count)).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), [(Certain, 2)]);
    assert_eq!(found(&[true]), [(Certain, 2)]);
    assert_eq!(found(&[false, true]), [(Possible, 1)], "the device may have been read meanwhile, and be used since");
}

fn sides_of_an_object_that_was_in_use_before_anything_was_observed_are_not_judged() {
    let story = vec![first_seen(8), asked(Device, Write), asked(Host, Write), copied(Host, Write, 8, Pinned)];
    assert_eq!(both(UnusedSide, &story), [], "which blocks it holds is not known");
}

fn each_rule_has_a_name_of_its_own_and_says_what_to_change_and_what_it_cannot_know() {
    let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
    let subjects = [Host, Device].map(|side| [Subject::Object, Subject::CopyTo(side), Subject::Memory(side)]).concat();
    for rule in Rule::ALL {
        let sentences = subjects.iter().map(|&subject| rule.what_to_do(subject));
        let unknown = [Certain, Possible].map(|certainty| rule.not_known(certainty));
        for sentence in sentences.chain(unknown).chain([rule.what_was_seen()]) {
            assert!(sentence.ends_with('.') && !sentence.contains("  "), "{sentence}");
            assert_eq!(sentence.matches(". ").count(), 0, "one sentence: {sentence}");
        }
    }
}

crate::support::harness::tests![
    findings_are_summed_up_by_the_site_that_made_and_the_site_that_asked,
    what_saves_the_same_is_in_the_order_of_its_sites,
    another_object_at_the_same_address_is_another_object,
    what_saves_no_time_is_in_the_order_of_its_bytes,
    a_report_does_not_change_what_a_later_report_says,
    what_may_have_happened_unseen_for_a_while_is_taken_to_have_happened,
    sides_of_an_object_that_was_in_use_before_anything_was_observed_are_not_judged,
    each_rule_has_a_name_of_its_own_and_says_what_to_change_and_what_it_cannot_know,
];
