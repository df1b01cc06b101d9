//! Every sequence of operations on both sides of a real object, from every start, against the naive model: status,
//! head, ownership, addresses, contents of both sides, copies and silence of the driver after every step.
//!
//! - Every operation from every state that any number of steps reaches.
//! - Every sequence of five operations on a new object, and of four from the other starts (`SYNCEDMEM_TEST_DEPTH=5`: of five,
//!   which takes minutes).
//! - Every sequence of five from the other starts in which each step but the last does something.
//! - Without a driver, where the model refuses what needs one: every sequence of five, from every start.
//!
//! The simulated driver holds copies in flight: an operation that must not wait for them would hang, and one that must wait
//! is seen to have waited. On a real driver sequences are of three, nothing is held, and calls are not counted.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::support::driver::loaded;
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

/// Which sequences are run.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    All,
    /// Without those in which a step before the last changes no byte of the object and makes no driver call: the same
    /// sequence without that step is run.
    Effective,
}

/// Goes through the sequences of `depth` more steps, and counts them. A step that changed nothing leaves the object to
/// the next one.
fn every_sequence<'g>(ground: &'g Ground<'g>, start: Start, run: Run, sequence: &mut Vec<Move>, depth: usize) -> usize {
    let mut count = 0;
    let mut world: Option<World> = None;
    if depth == 2 {
        ground.gpu.iter().for_each(|gpu| gpu.goes_on());
    }
    for step in moves() {
        let mut here = world.take().unwrap_or_else(|| replay(ground, start, sequence));
        // In no other case does it differ from being asked at once.
        if step.lands_first && !here.model.is_flying() {
            world = Some(here);
            continue;
        }
        sequence.push(step);
        let before = (here.model, here.object.0);
        here.step(step, true).unwrap_or_else(|why| panic!("{start:?}, {sequence:?}: {why}"));
        let unchanged = before == (here.model, here.object.0);
        count += 1;
        let follow = depth > 1 && (run == Run::All || !unchanged);
        if unchanged && !follow {
            world = Some(here);
        } else {
            here.finish().unwrap_or_else(|why| panic!("{start:?}, {sequence:?}: {why}"));
        }
        if follow {
            count += every_sequence(ground, start, run, sequence, depth - 1);
        }
        sequence.pop();
    }
    count
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

/// Runs sequences in a process of its own, so that several of these tests run side by side.
fn sequences(run: Run, depth: usize, starts: &[(Start, bool)], at_least: usize) {
    in_a_process_with_a_driver(&[], || {
        // A real device takes many times longer to make and free blocks.
        let is_real = loaded().is_some_and(|loaded| loaded.control.is_none());
        let (depth, at_least) = if is_real { (3, OPERATIONS.len()) } else { (depth, at_least) };
        for &(start, pins) in starts {
            with_ground(pins, |ground| {
                let count = every_sequence(ground, start, run, &mut Vec::new(), depth);
                println!("{count} sequences of up to {depth} from {start:?}, pinned {pins}");
                assert!(count >= at_least, "only {count}");
            });
        }
    });
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

fn every_operation_from_every_state_agrees_with_the_model() {
    every_state_of(&STARTS.map(|start| (start, false)));
    every_state_of(&STARTS.map(|start| (start, true)));
}

fn every_sequence_of_five_operations_on_a_new_object_agrees_with_the_model() {
    sequences(Run::All, 5, &[(Start::Untouched, true)], OPERATIONS.len().pow(5));
}

fn every_sequence_of_four_operations_from_the_other_starts_agrees_with_the_model() {
    let starts = [(Start::Untouched, false), (Start::AtGpu, true), (Start::Synced, true)];
    let depth = std::env::var("SYNCEDMEM_TEST_DEPTH").map_or(4, |depth| depth.parse().unwrap());
    sequences(Run::All, depth, &starts, OPERATIONS.len().pow(depth as u32));
}

fn every_sequence_of_five_effective_operations_from_the_other_starts_agrees_with_the_model() {
    let starts = [(Start::Untouched, false), (Start::AtGpu, true), (Start::Synced, true)];
    sequences(Run::Effective, 5, &starts, 1000);
}

/// Runs every sequence of five operations in a process without a driver.
fn without_a_driver(start: Start) {
    alone(&[("SYNCEDMEM_TEST_DRIVER", "none")], || {
        with_ground(false, |ground| {
            assert!(ground.gpu.is_none());
            let count = every_sequence(ground, start, Run::All, &mut Vec::new(), 5);
            assert!(count >= OPERATIONS.len().pow(5), "only {count}");
        });
        every_state_of(&[(start, false)]);
    });
}

fn without_a_driver_every_sequence_of_five_operations_on_a_new_object_agrees_with_the_model() {
    without_a_driver(Start::Untouched);
}

fn without_a_driver_every_sequence_of_five_operations_on_an_object_at_the_device_agrees_with_the_model() {
    without_a_driver(Start::AtGpu);
}

fn without_a_driver_every_sequence_of_five_operations_on_a_synced_object_agrees_with_the_model() {
    without_a_driver(Start::Synced);
}

crate::support::harness::tests![
    every_operation_from_every_state_agrees_with_the_model,
    every_sequence_of_five_operations_on_a_new_object_agrees_with_the_model,
    every_sequence_of_four_operations_from_the_other_starts_agrees_with_the_model,
    every_sequence_of_five_effective_operations_from_the_other_starts_agrees_with_the_model,
    without_a_driver_every_sequence_of_five_operations_on_a_new_object_agrees_with_the_model,
    without_a_driver_every_sequence_of_five_operations_on_an_object_at_the_device_agrees_with_the_model,
    without_a_driver_every_sequence_of_five_operations_on_a_synced_object_agrees_with_the_model,
];
