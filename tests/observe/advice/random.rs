//! Random lives of objects, told as the library tells them, against the naive rules.

use syncedmem_analysis::advice::{Advice, Certainty::Certain, Rule};

use super::naive::{self, Line};
use super::story::{Advisor, events};
use super::world::World;

/// A piece of advice in the terms of the naive rules.
fn line(advice: &Advice) -> Line {
    let Advice { rule, certainty, subject, made, at, .. } = *advice;
    let key = (rule.name(), certainty.name(), format!("{subject:?}"), made, at);
    (key, advice.objects, advice.count, advice.bytes, advice.saved_nanoseconds)
}

fn check(seed: u64, every_access: bool, steps: usize) -> Vec<Line> {
    let mut world = World::new(seed, every_access);
    (0..steps).for_each(|_| world.step());
    let (told, lives) = world.report();
    let events = events(&told);
    let mut advisor = Advisor::new(every_access);
    events.iter().for_each(|event| advisor.take(event));
    let mut found: Vec<_> = advisor.report().iter().map(line).collect();
    let expected = naive::advice(&lives, &events, every_access);
    found.sort();
    if found != expected {
        for (number, told) in told.iter().enumerate() {
            println!("{number:4} {:x} {:?} took {} {:?}", told.object, told.site, told.duration, told.what);
        }
    }
    assert_eq!(found, expected, "seed {seed}, every access: {every_access}, {steps} steps");
    found
}

fn the_advice_on_random_lives_is_that_of_the_naive_rules() {
    let mut rules = std::collections::BTreeMap::new();
    for every_access in [false, true] {
        for seed in 0..1500 {
            // Short ones first: they are easier to read.
            let steps = 4 + seed as usize / 10;
            for found in check(seed, every_access, steps) {
                *rules.entry((every_access, found.0.0, found.0.1)).or_insert(0) += found.2;
            }
        }
    }
    // Each rule has spoken, with each certainty it has.
    let spoken: Vec<_> = rules.keys().map(|&(every, rule, certainty)| (every, rule, certainty)).collect();
    let always = [
        ("overwritten-copy", "compared"),
        ("overwritten-copy", "possible"),
        ("overwritten-fill", "possible"),
        ("pageable-copy", "certain"),
        ("ping-pong", "certain"),
        ("turned-away", "certain"),
        ("unchanged-copy", "compared"),
        ("unread-copy", "certain"),
        ("unread-copy", "possible"),
        ("unused-side", "certain"),
    ];
    for every in [false, true] {
        for (rule, certainty) in always {
            assert!(spoken.contains(&(every, rule, certainty)), "{every} {rule} {certainty}: {rules:?}");
        }
        assert_eq!(spoken.contains(&(every, "overwritten-fill", "compared")), every);
    }
}

fn where_fewer_accesses_are_told_nothing_more_is_claimed() {
    // The same lives twice: what is certain without every access is certain with it.
    for seed in 0..1500 {
        let [few, all] = [false, true].map(|every_access| {
            let mut world = World::new(seed, true);
            (0..4 + seed as usize / 10).for_each(|_| world.step());
            let (told, _) = world.report();
            let mut advisor = Advisor::new(every_access);
            let is_told = |event: &syncedmem_trace::event::Event| every_access || !is_ready(&event.what);
            events(&told).iter().filter(|event| is_told(event)).for_each(|event| advisor.take(event));
            advisor.report()
        });
        let count = |list: &[Advice], like: &Advice, certain: bool| {
            let is_like = |other: &&Advice| (other.subject, other.made, other.at) == (like.subject, like.made, like.at);
            let counts = |other: &&Advice| other.rule == Rule::UnreadCopy && (!certain || other.certainty == Certain);
            list.iter().filter(counts).filter(is_like).map(|other| other.count).sum::<u64>()
        };
        for claim in &few {
            for certain in [false, true] {
                let (claimed, true_ones) = (count(&few, claim, certain), count(&all, claim, certain));
                assert!(claimed <= true_ones, "seed {seed}: {claim:?}, of which there are {true_ones}");
            }
        }
    }
}

fn is_ready(what: &syncedmem_trace::event::What) -> bool {
    matches!(what, syncedmem_trace::event::What::Accessed { ready: true, .. })
}

crate::support::harness::tests![
    the_advice_on_random_lives_is_that_of_the_naive_rules,
    where_fewer_accesses_are_told_nothing_more_is_claimed,
];
