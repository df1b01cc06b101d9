//! Times blocks acquired and released, in turn with the driver's own calls.

use std::time::Instant;

use crate::support::pools::*;
use crate::support::sides::*;
use crate::support::*;

const SIZES: [usize; 6] = [4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB, 1 << 30];
const JUDGED: usize = 16 * MIB;

/// Nanoseconds per call, over a number of calls.
fn time(calls: usize, call: impl Fn()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_nanos() as f64 / calls as f64
}

fn by_the_library(side: Side, bytes: usize) {
    drop(match side {
        Side::Host => Object::touched(Storage::overwrite_cpu_data, bytes),
        Side::Device => Object::touched(Storage::overwrite_gpu_data, bytes),
    });
}

fn by_the_driver(gpu: &Gpu, side: Side, bytes: usize) {
    match side {
        Side::Host => {
            let mut address = std::ptr::null_mut();
            assert_eq!((gpu.cuMemHostAlloc(&mut address, bytes, 1), gpu.cuMemFreeHost(address)), (0, 0));
        }
        Side::Device => {
            let mut address = 0;
            assert_eq!((gpu.cuMemAlloc_v2(&mut address, bytes), gpu.cuMemFree_v2(address)), (0, 0));
        }
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The medians of the library and of the driver, which take turns.
fn compared(gpu: &Gpu, side: Side, bytes: usize, rounds: usize) -> [f64; 2] {
    let of_the_driver = if bytes < MIB { 8 } else { 1 };
    let mut samples = [Vec::new(), Vec::new()];
    // The first round makes the block that later ones find.
    for round in 0..=rounds {
        let took = [
            time(32, || by_the_library(side, bytes)),
            gpu.within(0, || time(of_the_driver, || by_the_driver(gpu, side, bytes))),
        ];
        if round > 0 {
            samples.iter_mut().zip(took).for_each(|(samples, took)| samples.push(took));
        }
    }
    samples.map(median)
}

#[test]
fn a_block_is_acquired_and_released_in_a_small_part_of_the_drivers_time() {
    let gpu = &gpu();
    set_pools(true);
    let (mut free, mut total) = (0, 0);
    assert_eq!(gpu.within(0, || gpu.cuMemGetInfo_v2(&mut free, &mut total)), 0);
    // The simulated device has no memory for more, and its time says nothing.
    let (most_bytes, rounds) = if free > 4 << 30 { (free / 4, 15) } else { (MIB, 1) };
    let mut missed = Vec::new();
    println!("| acquired and released | library | driver | ratio |\n|---|---:|---:|---:|");
    for (side, name, most) in [(Side::Device, "device", 0.25), (Side::Host, "page-locked", 0.01)] {
        let _pinning = (side == Side::Host).then(Pinning::always);
        // The library keeps one block while the driver makes another.
        for bytes in SIZES.into_iter().filter(|bytes| *bytes <= most_bytes) {
            let [library, driver] = compared(gpu, side, bytes, rounds);
            let row = format!(
                "{name}, {} KiB | {:.2} us | {:.2} us | {:.3}",
                bytes / KIB,
                library / 1e3,
                driver / 1e3,
                library / driver
            );
            println!("| {row} |");
            if bytes == JUDGED && library > most * driver {
                missed.push(format!("{row}; the bound is {most}"));
            }
            trim(ALL);
        }
    }
    // The times of a debug build and of a simulated driver say nothing.
    assert!(gpu.is_simulated() || cfg!(debug_assertions) || missed.is_empty(), "{missed:#?}");
}
