//! The environment variables, all of which start with `SIMCUDA_`.

use std::sync::OnceLock;
use std::time::Duration;

use crate::abi::Status;
use crate::{life, names};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str, default: usize) -> usize {
    let Some(text) = variable(name) else { return default };
    let text = text.trim();
    let (digits, unit) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1 << 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 1 << 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    match digits.parse::<usize>().ok().and_then(|digits| digits.checked_mul(unit)) {
        Some(number) => number,
        None => life::die(&format!("{name}={text} is not a number")),
    }
}

/// Devices in the machine, before `CUDA_VISIBLE_DEVICES`.
fn devices() -> usize {
    number("SIMCUDA_DEVICES", 2)
}

pub fn memory() -> usize {
    number("SIMCUDA_MEMORY", 256 << 20)
}

/// Read once.
pub fn version() -> i32 {
    static VERSION: OnceLock<i32> = OnceLock::new();
    *VERSION.get_or_init(|| i32::try_from(number("SIMCUDA_VERSION", 12_080)).unwrap_or(i32::MAX))
}

/// Whether kernels reach the blocks alone that their launches named.
pub fn strict() -> bool {
    static SET: OnceLock<bool> = OnceLock::new();
    *SET.get_or_init(|| number("SIMCUDA_STRICT", 0) != 0)
}

pub fn no_host_ids() -> bool {
    static SET: OnceLock<bool> = OnceLock::new();
    *SET.get_or_init(|| number("SIMCUDA_NO_HOST_IDS", 0) != 0)
}

pub fn report() -> bool {
    number("SIMCUDA_REPORT", 0) != 0
}

/// How late asynchronous operations are: so many microseconds, or, by lot, at most as many.
#[derive(Clone, Copy)]
pub struct Lag {
    pub most: Duration,
    pub seed: Option<u64>,
}

/// `SIMCUDA_LAG`: `microseconds`, or `microseconds:seed`.
pub fn lag() -> Lag {
    let Some(text) = variable("SIMCUDA_LAG") else { return Lag { most: Duration::ZERO, seed: None } };
    let (microseconds, seed) = text.split_once(':').map_or((text.as_str(), None), |(most, seed)| (most, Some(seed)));
    let read = |text: &str| match text.trim().parse() {
        Ok(number) => number,
        Err(_) => life::die(&format!("SIMCUDA_LAG={text} is not microseconds or microseconds:seed")),
    };
    Lag { most: Duration::from_micros(read(microseconds)), seed: seed.map(read) }
}

/// The seed of `SIMCUDA_ORDER`.
pub fn order() -> Option<u64> {
    Some(number("SIMCUDA_ORDER", 0) as u64).filter(|seed| *seed != 0)
}

/// `SIMCUDA_FAIL`: `function:nth=status`, separated by commas.
pub fn faults() -> Vec<(&'static str, u32, Status)> {
    let Some(text) = variable("SIMCUDA_FAIL") else { return Vec::new() };
    let parse = |entry: &str| {
        let (function, rest) = entry.trim().split_once(':')?;
        let (nth, status) = rest.split_once('=')?;
        Some((names::known(function)?, nth.parse().ok()?, status.parse().ok()?))
    };
    let entries = text.split(',').map(|entry| match parse(entry) {
        Some(fault) => fault,
        None => life::die(&format!("SIMCUDA_FAIL: {entry:?} is not function:nth=status of an entry point")),
    });
    entries.collect()
}

/// Indices of the physical devices that `CUDA_VISIBLE_DEVICES` leaves, in its order.
///
/// An entry that names no device, or one for the second time, ends the list ("CUDA Environment Variables", CUDA C++
/// Programming Guide: only the devices before an invalid index are visible).
pub fn visible_devices() -> Vec<usize> {
    let Ok(list) = std::env::var("CUDA_VISIBLE_DEVICES") else { return (0..devices()).collect() };
    let mut visible = Vec::new();
    for entry in list.split(',') {
        match entry.trim().parse::<usize>() {
            Ok(device) if device < devices() && !visible.contains(&device) => visible.push(device),
            _ => break,
        }
    }
    visible
}
