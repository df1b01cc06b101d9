//! Random walks of three tensors, longer than the sequences and over more sizes, against the naive model.
//! `scripts/hostile` runs them under AddressSanitizer.

use std::time::{Duration, Instant};

use crate::model::Kind;
use crate::support::Random;
use crate::world::Move::{self, *};
use crate::world::{World, nothing_is_left};

/// The last sizes are of mappings and of blocks that the library keeps.
const DIMS: [&[i64]; 14] =
    [&[], &[0], &[1], &[2], &[3, 2], &[6], &[0, 3], &[4, 0], &[4, 3], &[12], &[5, 3, 1], &[100], &[1500], &[20000]];
const KINDS: [Kind; 3] = [Kind::Float, Kind::Double, Kind::Object];
const KEEPS: [(bool, i64); 4] = [(true, i64::MAX), (true, i64::MAX), (false, i64::MAX), (true, 24)];

fn any_move(random: &mut Random) -> Move {
    match random.below(32) {
        0..5 => Resize(random.of(&DIMS)),
        5..7 => Reshape(random.of(&DIMS)),
        7..9 => Shrink(random.below(4) as i64),
        9..12 => Extend(random.below(6) as i64, random.of(&[0, 50, 400])),
        12..15 => Reserve(random.of(&DIMS)),
        15..20 => Mutable(random.of(&KINDS)),
        20..22 => Free,
        22 => ShareOther,
        23..25 => OtherShares,
        25..27 => CopyOther,
        27..29 => External(random.of(&[0, 1, 64])),
        29 => random.of(&[CopySelf, ShareSelf, SwapSelf]),
        30 => Swap,
        _ => End,
    }
}

fn walk(seed: u64) {
    let mut random = Random::new(seed, 0);
    let mut world = World::new(3, random.of(&KEEPS));
    for number in 0..100 {
        let (one, other) = (random.below(3), random.below(2) + 1);
        world.turn_to(one, other);
        world.step(number, any_move(&mut random));
        world.look();
    }
    drop(world);
    nothing_is_left();
}

/// `SYNCEDMEM_TEST_SEED` is the first walk's seed, and each one's is the next number. There are 200, or as many as
/// `SYNCEDMEM_TEST_SECONDS` allow.
fn tensors_agree_with_the_model_wherever_they_are_led() {
    let number = |name| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let first = number("SYNCEDMEM_TEST_SEED").unwrap_or(1);
    let end = number("SYNCEDMEM_TEST_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let goes_on = |seed: &u64| end.map_or(*seed < first + 200, |end| Instant::now() < end);
    let walks = (first..).take_while(goes_on).map(walk).count();
    println!("{walks} walks");
    assert!(walks > 0);
}

crate::support::harness::tests![alone(&[]): tensors_agree_with_the_model_wherever_they_are_led];
