//! Random operations on many objects, for as long as one likes, on the simulated driver: contents are compared with a
//! model, memory is accounted for to the byte. `cargo test --test soak -- --operations N` runs it.
#![expect(
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "it plays the foreign caller, and answers for what it passes"
)]

mod contents;
mod ledger;
mod settings;
mod subject;
#[path = "../support/mod.rs"]
mod support;
mod worker;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ledger::Ledger;
use settings::Weather;
use support::driver::loaded;
use support::gpu::{Gpu, simulated_gpu};
use support::in_a_child;
use support::random::Random;
use worker::Worker;

const THREADS: usize = 4;
/// Operations of one thread in a round.
const ROUND: usize = 5000;
/// What each device has: all objects find room on it, but not much more.
const DEVICE_MEMORY: usize = 96 << 20;

struct Arguments {
    operations: usize,
    seed: u64,
}

fn arguments() -> Arguments {
    let mut arguments = Arguments { operations: 10_000_000, seed: 1 };
    let mut rest = std::env::args().skip(1);
    while let Some(name) = rest.next() {
        let value = rest.next().and_then(|value| value.parse().ok());
        match (name.as_str(), value) {
            ("--operations", Some(value)) => arguments.operations = value as usize,
            ("--seed", Some(value)) => arguments.seed = value,
            _ => {
                eprintln!("usage: soak [--operations N] [--seed N]");
                std::process::exit(2);
            }
        }
    }
    arguments
}

/// Operations so far; `watch` reads it.
static DONE: AtomicUsize = AtomicUsize::new(0);

fn main() {
    let Arguments { operations, seed } = arguments();
    let start = Instant::now();
    assert!(loaded().is_some_and(|loaded| loaded.control.is_some()), "the soak needs the simulated driver");
    let gpu = simulated_gpu();
    // What hangs is found by `watch`, however long all of it takes.
    unsafe { libc::alarm(0) };
    std::thread::spawn(watch);
    soak(&gpu, operations, seed);
    let done = DONE.load(Relaxed);
    println!("{} objects were found with a side evicted", subject::EVICTED.load(Relaxed));
    println!("{:.0} operations a second", done as f64 / start.elapsed().as_secs_f64());
    println!("soak: {done} operations, 0 wrong");
}

/// Says where an assertion has failed.
struct Round {
    seed: u64,
    number: usize,
    weather: Weather,
}

impl Drop for Round {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}, round {}: {:?}", self.seed, self.number, self.weather);
        }
    }
}

fn soak(gpu: &Gpu, operations: usize, seed: u64) {
    let mut random = Random::new(seed, 0);
    for device in [0, 1] {
        gpu.control().simcuda_set_memory(device, DEVICE_MEMORY);
        gpu.primary(device);
    }
    let mut before = Ledger::of(gpu);
    let mut workers: Vec<_> = (0..THREADS).map(|number| Worker::new(gpu, seed, number as u64 + 1)).collect();
    let mut told = Instant::now();
    for number in 0.. {
        let done: usize = workers.iter().map(|worker| worker.done).sum();
        DONE.store(done, Relaxed);
        if done >= operations {
            break;
        }
        if told.elapsed() > Duration::from_secs(10) {
            told = Instant::now();
            println!("seed {seed}, round {number}: {done} of {operations} operations");
        }
        let Round { weather, .. } = &Round { seed, number, weather: Weather::of(&mut random, THREADS) };
        weather.begin(&mut random, gpu);
        let left = (operations - done).div_ceil(weather.threads).min(ROUND);
        std::thread::scope(|threads| {
            for worker in &mut workers[..weather.threads] {
                threads.spawn(move || worker.round(left, weather));
            }
        });
        ledger::check_rules(gpu, &mut before);
        match random.below(60) {
            // The child of a process with full pools has all that the host had.
            0 => in_a_child(|| workers.iter_mut().for_each(Worker::look_in_child)),
            1 => reset(gpu, &mut workers, &mut random),
            2..=15 => ledger::squeeze(gpu, random.of(&[2000, 2 << 20, 20 << 20])),
            16 => {
                workers.iter_mut().for_each(Worker::clear);
                ledger::check_balance(gpu, &before, THREADS);
            }
            _ => {}
        }
    }
    drop(workers);
    ledger::check_balance(gpu, &before, 0);
}

/// A reset takes everything on a device, idle blocks too.
fn reset(gpu: &Gpu, workers: &mut [Worker], random: &mut Random) {
    let device = random.below(2) as i32;
    workers.iter_mut().for_each(Worker::lay_down);
    assert_eq!(gpu.cuDevicePrimaryCtxReset_v2(device), 0);
    let mut context = std::ptr::null_mut();
    assert_eq!(gpu.cuDevicePrimaryCtxRetain(&mut context, device), 0);
    workers.iter_mut().for_each(Worker::take_up);
}

/// Ends a run that has come to a stop.
fn watch() {
    const PATIENCE: Duration = Duration::from_secs(120);
    let (mut before, mut since) = (0, Instant::now());
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = DONE.load(Relaxed);
        if now != before {
            (before, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            println!("nothing has happened for {PATIENCE:?} after {now} operations: it hangs");
            std::process::abort();
        }
    }
}
