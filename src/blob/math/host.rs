//! The loops of the host: asum, sumsq, scale and subtract, over floats and doubles.
//!
//! Sums are taken in [`LANES`] lanes of doubles: element `i` is added to lane `i % LANES`, and the lanes are added pairwise. That
//! order is the same whatever instructions the CPU has, and so is the result: no rounding depends on the instruction set.

use std::cell::Cell;

/// The elements of an array.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    Float32(&'a [Cell<f32>]),
    Float64(&'a [Cell<f64>]),
}

/// Lanes of a sum.
const LANES: usize = 32;

/// A type of elements that has math.
trait Real: Copy {
    fn wide(self) -> f64;
    fn times(self, factor: f64) -> Self;
    fn minus(self, other: Self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn times(self, factor: f64) -> f32 {
        self * factor as f32
    }

    #[inline(always)]
    fn minus(self, other: f32) -> f32 {
        self - other
    }
}

impl Real for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn times(self, factor: f64) -> f64 {
        self * factor
    }

    #[inline(always)]
    fn minus(self, other: f64) -> f64 {
        self - other
    }
}

/// The sum of the absolute values.
pub fn asum(values: Values<'_>) -> f64 {
    match values {
        Values::Float32(values) => sum(values, |value| value.wide().abs()),
        Values::Float64(values) => sum(values, |value| value.wide().abs()),
    }
}

/// The sum of the squares.
pub fn sumsq(values: Values<'_>) -> f64 {
    match values {
        Values::Float32(values) => sum(values, |value| value.wide() * value.wide()),
        Values::Float64(values) => sum(values, |value| value.wide() * value.wide()),
    }
}

/// Multiplies each value by `factor`.
pub fn scale(values: Values<'_>, factor: f64) {
    match values {
        Values::Float32(values) => each(values, |value| value.times(factor)),
        Values::Float64(values) => each(values, |value| value.times(factor)),
    }
}

/// Subtracts `from` from `values`, which are of one type, element by element.
pub fn subtract(values: Values<'_>, from: Values<'_>) {
    match (values, from) {
        (Values::Float32(values), Values::Float32(from)) => pairs(values, from),
        (Values::Float64(values), Values::Float64(from)) => pairs(values, from),
        _ => {}
    }
}

#[inline(always)]
fn sum<T: Real>(values: &[Cell<T>], term: impl Fn(T) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let mut rows = values.chunks_exact(LANES);
    for row in &mut rows {
        lanes.iter_mut().zip(row).for_each(|(lane, value)| *lane += term(value.get()));
    }
    lanes.iter_mut().zip(rows.remainder()).for_each(|(lane, value)| *lane += term(value.get()));
    let mut width = LANES / 2;
    while width > 0 {
        (0..width).for_each(|lane| lanes[lane] += lanes[lane + width]);
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn each<T: Real>(values: &[Cell<T>], new: impl Fn(T) -> T) {
    values.iter().for_each(|value| value.set(new(value.get())));
}

#[inline(always)]
fn pairs<T: Real>(values: &[Cell<T>], others: &[Cell<T>]) {
    values.iter().zip(others).for_each(|(value, other)| value.set(value.get().minus(other.get())));
}
