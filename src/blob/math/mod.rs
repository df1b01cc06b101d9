//! The host's math, over floats and doubles.
//!
//! Sums have [`LANES`](portable::LANES) lanes of doubles: element `i` is added to lane `i` modulo their number, then
//! the lanes pairwise: the same result on every CPU.

#[cfg(target_arch = "x86_64")]
mod avx2;
pub mod portable;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
use portable::{Term, Values};

pub fn sum(values: Values<'_>, term: Term) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = Avx2::detect() {
        return cpu.sum(values, term);
    }
    match values {
        Values::Float32(values) => portable::sum(values, term),
        Values::Float64(values) => portable::sum(values, term),
    }
}

pub fn scale(values: Values<'_>, factor: f64) {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = Avx2::detect() {
        return cpu.scale(values, factor);
    }
    portable::scale(values, factor);
}

pub fn subtract(values: Values<'_>, from: Values<'_>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(cpu) = Avx2::detect() {
        return cpu.subtract(values, from);
    }
    portable::subtract(values, from);
}

#[cfg(test)]
mod tests;
