//! The advice on random calls: what it counts is recomputed from the calls, and from the driver's own log of copies, by the
//! naive rules.

use std::collections::BTreeMap;

use crate::advice::naive::{self, Act, Counts, Life};
use crate::support::random::Random;
use crate::support::traced::{self, in_a_traced_process};
use crate::support::*;
use syncedmem_analysis::advice::{Certainty::Certain, Rule};
use syncedmem_trace::event::{Cause, Event, What};
use syncedmem_trace::head::Access::{self, Overwrite, Read, Write};
use syncedmem_trace::head::Side::{self, Device, Host};

/// An object, and what is known of it from the calls alone.
struct Watched<'g> {
    gpu: &'g Gpu,
    object: Object,
    life: Life,
    every_access: bool,
    in_flight: Option<Side>,
    call: u32,
}

impl Watched<'_> {
    fn act(&mut self, act: Act) {
        self.life.acts.push((self.call, act));
    }

    fn current(&self) -> [bool; 2] {
        let head = self.object.head();
        // A pull in flight has not made the host current yet.
        [head & 1 == 1, head & 2 == 2]
    }

    /// Does an operation, and writes down what became of it.
    fn run(&mut self, operation: Operation, with: &With) {
        self.call += 1;
        let (before, in_flight) = (self.current(), self.in_flight);
        let (outcome, calls) = self.gpu.watch(|| self.object.run(operation, with));
        if outcome.is_err() {
            return;
        }
        let after = self.current();
        match access(operation) {
            Some((side, access)) => self.accessed(side, access, before, &calls),
            None => {
                if !matches!(operation, Operation::Push | Operation::Pull) || self.copy_of(&calls).is_some() {
                    self.landed();
                }
                self.done(operation, &calls);
            }
        }
        if in_flight == Some(Host) && !before[0] && after[0] {
            assert_eq!(self.in_flight, None, "{operation:?} made the host current, so the pull has landed");
        }
    }

    fn accessed(&mut self, side: Side, access: Access, before: [bool; 2], calls: &[Call]) {
        let (is_current, is_other) = (before[side as usize], before[side.other() as usize]);
        let waits = self.in_flight == Some(Host) && !(side == Device && access == Read);
        let is_ready = is_current && (access == Read || !is_other) && !waits;
        if is_ready && !self.every_access {
            return;
        }
        self.act(Act::Asked(side, access));
        if waits || !is_ready {
            self.landed();
        }
        if let Some(to) = self.copy_of(calls) {
            self.act(Act::Copied(to, Some(Cause::Access(access))));
        } else if before == [false; 2] && access != Overwrite {
            self.act(Act::Filled(side, access));
        }
        if access != Read {
            self.act(Act::Wrote(side, access));
        }
    }

    fn done(&mut self, operation: Operation, calls: &[Call]) {
        match operation {
            Operation::SetCpuData => self.act(Act::Lent(Host)),
            Operation::SetGpuData => self.act(Act::Lent(Device)),
            Operation::ReleaseCpu => self.act(Act::Released(Host)),
            Operation::ReleaseGpu => self.act(Act::Released(Device)),
            Operation::Push | Operation::Pull => {
                let Some(to) = self.copy_of(calls) else { return };
                // Without an event there is nothing to wait for: it was waited for at once.
                let goes_on = calls.iter().any(|call| call.function.starts_with("cuEventRecord"));
                self.act(Act::Copied(to, (!goes_on).then_some(Cause::Stream)));
                self.in_flight = goes_on.then_some(to);
            }
            _ => {}
        }
    }

    /// Nothing is in flight any more.
    fn landed(&mut self) {
        if self.in_flight.take() == Some(Host) {
            self.act(Act::Landed);
        }
    }

    /// The side that was copied to, by the driver's log.
    fn copy_of(&self, calls: &[Call]) -> Option<Side> {
        let copies: Vec<_> =
            calls.iter().filter_map(|call| Some((call.field("kind")?, call.field("bytes")?))).collect();
        assert!(copies.len() <= 1, "{calls:?}");
        let (kind, bytes) = copies.first()?;
        assert_eq!(bytes.parse(), Ok(self.life.size));
        Some(if *kind == "HtoD" { Device } else { Host })
    }

    fn end(mut self) -> Life {
        self.call += 1;
        self.landed();
        self.life.current = self.current();
        let has = [self.object.owns_cpu(), self.object.owns_gpu()];
        let at = [self.object.host_address(), self.object.device_address()];
        self.life.held = [0, 1].map(|side| has[side] && at[side] != 0);
        self.act(Act::Ended);
        self.life
    }
}

fn access(operation: Operation) -> Option<(Side, Access)> {
    match operation {
        Operation::CpuData => Some((Host, Read)),
        Operation::MutableCpuData => Some((Host, Write)),
        Operation::OverwriteCpuData => Some((Host, Overwrite)),
        Operation::GpuData => Some((Device, Read)),
        Operation::MutableGpuData => Some((Device, Write)),
        Operation::OverwriteGpuData => Some((Device, Overwrite)),
        _ => None,
    }
}

/// One object's life, at random. What is lent to it is page-locked if its own memory is.
fn life(gpu: &Gpu, seed: u64, pinned: bool, every_access: bool) -> Life {
    let mut random = Random::new(seed, 0);
    let size = random.of(&[4096, 64 << 10]);
    let stream = gpu.stream();
    let (device, locked, mut pageable) = (gpu.block(size), gpu.pinned(size), vec![0; size]);
    let host = if pinned { locked.pointer() } else { pageable.as_mut_ptr() };
    let with = With { host, device: device.pointer(), stream: stream.handle() };
    let life = Life { size: size as u64, pinned, acts: Vec::new(), held: [false; 2], current: [false; 2] };
    let object = Object::new(size);
    let mut watched = Watched { gpu, object, life, every_access, in_flight: None, call: 0 };
    for _ in 0..4 + random.below(24) {
        let operation = random.of(&OPERATIONS);
        watched.run(operation, &with);
        stream.synchronize();
    }
    watched.end()
}

fn check(gpu: &Gpu, pinned: bool, every_access: bool) {
    let _pinning = pinned.then(Pinning::always);
    let mut lives = Vec::new();
    let mut spoken = Counts::new();
    for seed in 0..300 {
        lives.push(life(gpu, seed, pinned, every_access));
        // The whole trace is read each time.
        if seed % 30 != 29 {
            continue;
        }
        let mut found = Counts::new();
        for advice in traced::advice() {
            let key = (advice.rule.name(), advice.certainty.name(), format!("{:?}", advice.subject));
            let sum = found.entry(key).or_default();
            *sum = (sum.0 + advice.count, sum.1 + advice.bytes);
        }
        let expected = naive::advice(&lives, every_access);
        assert_eq!(found, expected, "seeds up to {seed}: {:#?}", &lives[lives.len() - 30..]);
        spoken = found;
    }
    let rules: Vec<_> = spoken.keys().map(|key| key.0).collect();
    let mut always = vec!["overwritten-copy", "ping-pong", "unread-copy", "unused-side"];
    always.extend(every_access.then_some("overwritten-fill"));
    always.extend((!pinned).then_some("pageable-copy"));
    assert!(always.iter().all(|rule| rules.contains(rule)), "{rules:?}");
}

fn observed<F: FnOnce(&Gpu)>(account: &str, body: F) {
    in_a_traced_process(&[("SYNCEDMEM_ACCOUNT", account)], || body(&simulated_gpu()));
}

fn the_advice_on_random_calls_is_that_of_the_naive_rules() {
    observed("on", |gpu| check(gpu, false, false));
}

fn so_it_is_where_host_memory_is_page_locked() {
    observed("on", |gpu| check(gpu, true, false));
}

fn so_it_is_where_every_access_is_recorded() {
    observed("accesses", |gpu| check(gpu, false, true));
}

fn so_it_is_where_every_access_is_recorded_and_host_memory_is_page_locked() {
    observed("accesses", |gpu| check(gpu, true, true));
}

/// Of each object, how many copies are called unread by call site and certainty, as if fewer accesses had been recorded and as they were.
fn unread(events: &[Event]) -> [BTreeMap<String, u64>; 2] {
    [false, true].map(|every_access| {
        let is_told = |event: &&Event| every_access || !matches!(event.what, What::Accessed { ready: true, .. });
        let mut counts = BTreeMap::new();
        for found in traced::advice_on(every_access, events.iter().filter(is_told)) {
            for certain in [false, true] {
                if found.rule == Rule::UnreadCopy && (!certain || found.certainty == Certain) {
                    *counts.entry(format!("{:?} {:?} {certain}", found.subject, found.at)).or_default() += found.count;
                }
            }
        }
        counts
    })
}

fn where_fewer_accesses_are_told_nothing_more_is_claimed() {
    observed("accesses", |gpu| {
        (0..300).for_each(|seed| _ = life(gpu, seed, false, true));
        let events = traced::events();
        let lives = events.chunk_by(|_, next| !matches!(next.what, What::Made { .. })).map(unread);
        let lives: Vec<_> = lives.collect();
        assert!(lives.iter().any(|[few, _]| !few.is_empty()));
        for (seed, [few, all]) in lives.iter().enumerate() {
            assert!(few.iter().all(|(claim, count)| Some(count) <= all.get(claim)), "life {seed}: {few:?} {all:?}");
        }
    });
}

crate::support::harness::tests![
    the_advice_on_random_calls_is_that_of_the_naive_rules,
    so_it_is_where_host_memory_is_page_locked,
    so_it_is_where_every_access_is_recorded,
    so_it_is_where_every_access_is_recorded_and_host_memory_is_page_locked,
    where_fewer_accesses_are_told_nothing_more_is_claimed,
];
