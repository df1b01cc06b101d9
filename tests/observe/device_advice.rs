//! The advice, from real calls: one for each rule. The copies that it speaks of are counted in the driver's own log.

use crate::support::pools::*;
use crate::support::traced::{self, in_a_traced_process};
use crate::support::*;
use syncedmem_analysis::advice::{Advice, Rule, Subject};
use syncedmem_trace::head::Side::{self, Device, Host};

const BYTES: usize = 4096;

/// What is asked to be observed.
const ACCESSES: (&str, &str) = ("SYNCEDMEM_ACCOUNT", "accesses");

/// Runs `body` in a process where that is observed from the beginning.
fn observed<F: FnOnce(&Gpu)>(environment: &[(&str, &str)], body: F) {
    in_a_traced_process(environment, || body(&simulated_gpu()));
}

/// The advice of one rule by now.
fn advice(rule: Rule) -> Vec<Advice> {
    traced::advice().into_iter().filter(|advice| advice.rule == rule).collect()
}

/// The one piece of advice that there is by that rule.
#[track_caller]
fn one(rule: Rule) -> Advice {
    let advice = advice(rule);
    assert_eq!(advice.len(), 1, "{advice:?}");
    advice[0]
}

/// That advice is about all copies to that side in the log, and no other.
#[track_caller]
fn assert_counts(advice: Advice, calls: &[Call], to: Side) {
    let kind = if to == Device { "HtoD" } else { "DtoH" };
    let copies: Vec<_> = calls.iter().filter(|call| call.field("kind") == Some(kind)).collect();
    let bytes: u64 = copies.iter().map(|call| call.field("bytes").unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!((advice.count, advice.bytes), (copies.len() as u64, bytes), "{advice:?} {calls:?}");
    assert_ne!(advice.count, 0);
}

/// An object whose data is on the host, without a fill.
fn on_host(bytes: usize) -> Object {
    filled(bytes, 3)
}

fn each_rule_about_copies_and_sides_finds_what_real_calls_did() {
    observed(&[ACCESSES], |gpu| {
        let stream = gpu.stream();
        let mut pushed = on_host(BYTES);
        let (_, calls) = gpu.watch(|| assert_eq!(pushed.push(stream.handle()), SYNCEDMEM_SUCCESS));
        pushed.mutable_cpu_data().unwrap();
        assert_counts(one(Rule::UnreadCopy), &calls, Device);
        assert_eq!(one(Rule::UnusedSide).subject, Subject::Memory(Device), "and nothing has used the device's block");
        let mut object = Object::touched(Storage::mutable_cpu_data, 64 << 10);
        let (_, calls) = gpu.watch(|| {
            for _ in 0..2 {
                object.mutable_gpu_data().unwrap();
                object.mutable_cpu_data().unwrap();
            }
        });
        assert_eq!((one(Rule::PingPong).count, one(Rule::PingPong).bytes), (4, 4 * (64 << 10)));
        let pageable = advice(Rule::PageableCopy);
        for to in [Device, Host] {
            let of_side = pageable.iter().find(|found| found.subject == Subject::CopyTo(to));
            assert_counts(*of_side.unwrap(), &calls, to);
        }
    });
}

crate::support::harness::tests![each_rule_about_copies_and_sides_finds_what_real_calls_did,];
