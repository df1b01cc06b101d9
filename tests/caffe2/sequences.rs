//! Every sequence of operations on a tensor, beside another that it shares and copies with, against the naive model: status,
//! dimensions, type, capacity, contents of both, living objects and the caller's memory after every step.

use crate::model::Kind;
use crate::support::alone;
use crate::support::sequences::every_sequence;
use crate::world::Move::{self, *};
use crate::world::{World, nothing_is_left};

const MOVES: [Move; 14] = [
    Resize(&[2, 3]),
    Resize(&[4, 3]),
    Resize(&[0, 3]),
    Reshape(&[3, 2]),
    Shrink(1),
    Extend(2, 50),
    Reserve(&[5, 3]),
    Mutable(Kind::Float),
    Mutable(Kind::Double),
    Mutable(Kind::Object),
    Free,
    OtherShares,
    CopyOther,
    External(0),
];

fn every_sequence_agrees(moves: &[Move], depth: usize, keep: (bool, i64)) {
    let run = |sequence: &[Move]| {
        let done = std::panic::catch_unwind(|| {
            let mut world = World::new(2, keep);
            for (number, &step) in sequence.iter().enumerate() {
                world.step(number, step);
            }
            world.look();
        });
        assert!(done.is_ok(), "after {sequence:?} the tensor and its model differ");
        nothing_is_left();
    };
    let count = every_sequence(moves, depth, run);
    println!("{count} sequences of up to {depth}");
}

#[test]
fn every_sequence_of_four_operations_agrees_with_the_model_whatever_memory_is_kept() {
    alone(&[], || {
        for keep in [(true, i64::MAX), (false, i64::MAX), (true, 24)] {
            every_sequence_agrees(&MOVES, 4, keep);
        }
    });
}

#[test]
fn every_sequence_of_four_operations_around_sharing_agrees_with_the_model() {
    let moves =
        [ShareOther, OtherShares, CopyOther, Extend(1, 0), Shrink(1), Reserve(&[1]), Resize(&[4]), Resize(&[2, 3])];
    let types = [Mutable(Kind::Object), Mutable(Kind::Float), Mutable(Kind::Double), External(0), Free];
    alone(&[], || every_sequence_agrees(&[&moves[..], &types].concat(), 4, (true, i64::MAX)));
}

#[test]
fn every_sequence_of_four_operations_of_a_tensor_with_itself_and_of_exchanges_agrees_with_the_model() {
    let moves = [Resize(&[2, 3]), Resize(&[20000]), Mutable(Kind::Object), Mutable(Kind::Float), External(64)];
    let exchanges = [OtherShares, CopySelf, ShareSelf, SwapSelf, Swap];
    alone(&[], || every_sequence_agrees(&[&moves[..], &exchanges].concat(), 4, (true, i64::MAX)));
}
