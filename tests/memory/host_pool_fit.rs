//! Mapped blocks that no request fits any more: they are made to fit, and keep their pages.

use std::sync::atomic::Ordering::Relaxed;

use crate::mappings::{MAY_MOVE, mappings};
use crate::support::object::*;
use crate::support::pools::*;
use crate::support::random::Random;
use crate::support::*;

/// Gives back a block of 0xAB of the first size, and makes a block of the second, beside which the first may not lie idle.
fn instead(first: usize, second: usize) -> Object {
    give_back(first, 0xAB);
    mappings();
    let mut object = Object::new(second);
    assert!(all_zero(object.cpu_data().unwrap(), second), "{second} instead of {first}");
    assert_eq!(idle(PAGEABLE), 0);
    object
}

/// Larger, smaller, and more than half as large again; at the end of a page and behind it.
const PAIRS: [(usize, usize); 6] = [
    (10 * MIB, 12 * MIB),
    (20 * MIB, 16 * MIB),
    (40 * MIB, 9 * MIB),
    (7 * MIB, 60 * MIB),
    (10 * MIB, 12 * MIB + 1),
    (20 * MIB + 4095, 16 * MIB + 4097),
];

#[test]
fn a_block_of_another_size_reads_zeros_and_no_mapping_is_made_for_it() {
    for (first, second) in PAIRS {
        alone(&[("FIRST", &first.to_string()), ("SECOND", &second.to_string())], || {
            let number = |name| std::env::var(name).unwrap().parse().unwrap();
            let object = instead(number("FIRST"), number("SECOND"));
            assert_eq!(mappings(), (0, 0));
            drop(object);
            trim(PAGEABLE);
            assert_eq!((idle(ALL), mappings().1), (0, 1), "it is unmapped as one");
        });
    }
}

#[test(alone)]
fn where_the_kernel_moves_no_mapping_a_new_one_serves() {
    MAY_MOVE.store(false, Relaxed);
    let object = instead(10 * MIB, 12 * MIB);
    assert_eq!(mappings(), (1, 1));
    drop(object);
    assert_eq!(idle(PAGEABLE), 12 * MIB);
}

#[test(alone)]
fn a_very_large_block_of_zeros_is_new() {
    drop(instead(20 * MIB, 256 * MIB));
    assert_eq!(mappings().0, 1);
}

#[test(alone)]
fn blocks_that_are_larger_than_their_objects_count_beside_what_is_idle() {
    let mut random = Random::new(2, 0);
    let before = resident();
    let mut objects: Vec<Object> = Vec::new();
    let (mut held, mut peak) = (0, 0);
    for step in 0..600 {
        if objects.len() < 12 && random.below(2) == 0 {
            let most = random.of(&[4, 8, 32]) * MIB;
            let bytes = 2 * MIB + random.below(most);
            objects.push(filled(bytes, 1));
            held += bytes;
            peak = peak.max(held);
        } else if !objects.is_empty() {
            held -= objects.swap_remove(random.below(objects.len())).word(16);
        }
        let all = resident() - before;
        // The library's own memory, and what the kernel has not counted yet, are less than 3 MiB.
        let most = peak + peak / 8 + 5 * MIB;
        assert!(all <= most, "step {step}: {all} bytes are resident, when {peak} were once in use");
    }
}
