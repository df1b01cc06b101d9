//! Random operations on many objects, for as long as one likes, on the simulated driver: contents are compared with a
//! model, memory is accounted for to the byte. `cargo test --test soak -- --operations N` runs it.
#![expect(clippy::undocumented_unsafe_blocks, reason = "it plays the foreign caller, and answers for what it passes")]

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
use support::random::Random;
use worker::Worker;

const THREADS: usize = 4;
/// Operations of one thread in a round.
const ROUND: usize = 5000;
/// What each device has: all objects find room on it, but not much more.
const DEVICE_MEMORY: usize = 96 << 20;
/// Beyond that one knows enough.
const MOST_WRONG: usize = 20;

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
    let wrong = soak(&gpu, operations, seed);
    for (number, why) in wrong.iter().take(MOST_WRONG).enumerate() {
        println!("wrong {}: {why}", number + 1);
    }
    let done = DONE.load(Relaxed);
    println!("{} objects were found with a side evicted", subject::EVICTED.load(Relaxed));
    println!("{:.0} operations a second", done as f64 / start.elapsed().as_secs_f64());
    println!("soak: {done} operations, {} wrong", wrong.len());
    if !wrong.is_empty() {
        // The driver's own account is not asked as well.
        std::process::exit(1);
    }
}

fn soak(gpu: &Gpu, operations: usize, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed, 0);
    for device in [0, 1] {
        gpu.control().simcuda_set_memory(device, DEVICE_MEMORY);
        gpu.primary(device);
    }
    let mut before = Ledger::of(gpu);
    let mut workers: Vec<_> = (0..THREADS).map(|number| Worker::new(gpu, seed, number as u64 + 1)).collect();
    let mut wrong = Vec::new();
    let mut told = Instant::now();
    for round in 0.. {
        let done: usize = workers.iter().map(|worker| worker.done).sum();
        DONE.store(done, Relaxed);
        if done >= operations || wrong.len() >= MOST_WRONG {
            break;
        }
        if told.elapsed() > Duration::from_secs(10) {
            told = Instant::now();
            println!("seed {seed}, round {round}: {done} of {operations} operations, {} wrong", wrong.len());
        }
        let weather = Weather::of(&mut random, THREADS);
        let mut fail = |why: String| wrong.push(format!("seed {seed}, round {round}: {why}"));
        weather.begin(&mut random, gpu).unwrap_or_else(&mut fail);
        let left = (operations - done).div_ceil(weather.threads).min(ROUND);
        std::thread::scope(|threads| {
            for worker in &mut workers[..weather.threads] {
                let weather = &weather;
                threads.spawn(move || worker.round(left, weather));
            }
        });
        workers.iter_mut().flat_map(|worker| worker.wrong.drain(..)).for_each(&mut fail);
        ledger::rules(gpu, &mut before).unwrap_or_else(|why| fail(format!("{why}; {weather:?}")));
        match random.below(60) {
            0 => fork(&mut workers).unwrap_or_else(&mut fail),
            1 => reset(gpu, &mut workers, &mut random).unwrap_or_else(&mut fail),
            2..=15 => ledger::squeeze(gpu, random.of(&[2000, 2 << 20, 20 << 20])).unwrap_or_else(&mut fail),
            16 => {
                workers.iter_mut().for_each(Worker::clear);
                ledger::balance(gpu, &before, THREADS).unwrap_or_else(&mut fail);
            }
            _ => {}
        }
    }
    drop(workers);
    ledger::balance(gpu, &before, 0).unwrap_or_else(|why| wrong.push(format!("at the end: {why}")));
    wrong
}

/// The child of a process with full pools has all that the host had.
fn fork(workers: &mut [Worker]) -> Result<(), String> {
    let child = unsafe { libc::fork() };
    if child == 0 {
        let outcome = workers.iter_mut().try_for_each(Worker::look_in_child);
        if let Err(why) = &outcome {
            eprintln!("in a forked child: {why}");
        }
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    unsafe { libc::waitpid(child, &mut status, 0) };
    if status == 0 { Ok(()) } else { Err(format!("a forked child ended with {status}")) }
}

/// A reset takes everything on a device, idle blocks too.
fn reset(gpu: &Gpu, workers: &mut [Worker], random: &mut Random) -> Result<(), String> {
    let device = random.below(2) as i32;
    let mut outcome = Ok(());
    workers.iter_mut().for_each(Worker::lay_down);
    if gpu.cuDevicePrimaryCtxReset_v2(device) != 0 {
        outcome = Err("the device cannot be reset".into());
    }
    let mut context = std::ptr::null_mut();
    assert_eq!(gpu.cuDevicePrimaryCtxRetain(&mut context, device), 0);
    workers.iter_mut().for_each(Worker::take_up);
    outcome
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
