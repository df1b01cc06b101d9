//! Every sequence of operations on both sides of a real object, from every start, against the naive model: status,
//! head, ownership, addresses, contents of both sides, copies and silence of the driver after every step.
//!
//! - Every operation from every state that any number of steps reaches.
//! - Every sequence of three operations from every start, and of four without a driver, where the model refuses what needs one
//!   (`SYNCEDMEM_TEST_DEPTH=5`: of five, which takes minutes).
//!
//! The simulated driver holds copies in flight: an operation that must not wait for them would hang, and one that must wait
//! is seen to have waited. On a real driver nothing is held, and calls are not counted.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::support::driver::loaded;
use crate::support::sequences::every_sequence;
use crate::support::world::*;
use crate::support::*;

/// Does a sequence and looks at everything after its last step, those before having been looked at already.
fn replay<'g>(ground: &'g Ground<'g>, start: Start, sequence: &[Move]) -> World<'g> {
    let mut world = World::new(ground, start);
    for (number, &step) in sequence.iter().enumerate() {
        world.step(step, number + 1 == sequence.len()).unwrap_or_else(|why| {
            panic!("{start:?}, {:?}: {why}", &sequence[..=number]);
        });
    }
    world
}

/// Every operation from every state, each reached by a shortest way. Returns the number of states.
fn every_state<'g>(ground: &'g Ground<'g>, start: Start) -> usize {
    let mut seen = HashSet::from([World::new(ground, start).model.shape()]);
    let mut next = VecDeque::from([Vec::new()]);
    while let Some(mut sequence) = next.pop_front() {
        for step in moves() {
            sequence.push(step);
            let mut world = replay(ground, start, &sequence);
            world.ask().unwrap_or_else(|why| panic!("{start:?}, {sequence:?}: {why}"));
            if seen.insert(world.model.shape()) {
                next.push_back(sequence.clone());
            }
            world.finish().unwrap_or_else(|why| panic!("{start:?}, {sequence:?}: {why}"));
            sequence.pop();
        }
    }
    seen.len()
}

fn with_ground(pins: bool, work: impl FnOnce(&Ground)) {
    // Whether host blocks are pinned is the process's choice.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Without a driver the model is another one, and the same sequences are run.
    let gpu = loaded().is_some().then(gpu);
    work(&Ground::new(gpu.as_ref(), pins));
}

fn depth(usual: usize) -> usize {
    std::env::var("SYNCEDMEM_TEST_DEPTH").map_or(usual, |depth| depth.parse().unwrap())
}

fn every_sequence_of(depth: usize, ground: &Ground, start: Start) {
    let count = every_sequence(&moves(), depth, |sequence| {
        ground.gpu.iter().for_each(|gpu| gpu.goes_on());
        replay(ground, start, sequence).finish().unwrap_or_else(|why| panic!("{start:?}, {sequence:?}: {why}"));
    });
    println!("{count} sequences of up to {depth} from {start:?}");
}

fn every_state_of(starts: &[(Start, bool)]) {
    for &(start, pins) in starts {
        with_ground(pins, |ground| {
            let states = every_state(ground, start);
            println!("{states} states from {start:?}");
            assert!(states >= if ground.gpu.is_some() { 20 } else { 3 }, "{states} states");
        });
    }
}

#[test]
fn every_operation_from_every_state_agrees_with_the_model() {
    every_state_of(&STARTS.map(|start| (start, false)));
    every_state_of(&STARTS.map(|start| (start, true)));
}

#[test]
fn every_sequence_of_operations_from_every_start_agrees_with_the_model() {
    in_a_process_with_a_driver(&[], || {
        for (start, pins) in STARTS.map(|start| (start, true)).into_iter().chain([(Start::Untouched, false)]) {
            with_ground(pins, |ground| every_sequence_of(depth(3), ground, start));
        }
    });
}

#[test]
fn without_a_driver_every_sequence_of_operations_agrees_with_the_model() {
    alone(&[("SYNCEDMEM_TEST_DRIVER", "none")], || {
        for start in STARTS {
            with_ground(false, |ground| {
                assert!(ground.gpu.is_none());
                every_sequence_of(depth(4), ground, start);
            });
        }
        every_state_of(&STARTS.map(|start| (start, false)));
    });
}
