//! The host's math, over floats and doubles.
//!
//! A sum adds element `i` to lane `i % LANES`, a double, then adds the lanes pairwise. The order is fixed, so the result is the
//! same on every CPU.

use std::cell::Cell;
use std::ops::{Mul, Sub};

#[derive(Clone, Copy)]
pub enum Values<'a> {
    Float32(&'a [Cell<f32>]),
    Float64(&'a [Cell<f64>]),
}

const LANES: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Term {
    Abs,
    Square,
}

pub fn sum(values: Values<'_>, term: Term) -> f64 {
    match values {
        Values::Float32(values) => sum_of(values, term),
        Values::Float64(values) => sum_of(values, term),
    }
}

fn sum_of<T: Copy + Into<f64>>(values: &[Cell<T>], term: Term) -> f64 {
    let mut lanes = [0.0; LANES];
    let rows = values.chunks_exact(LANES);
    let rest = rows.remainder();
    rows.for_each(|row| add(&mut lanes, row, term));
    add(&mut lanes, rest, term);
    let mut width = LANES / 2;
    while width > 0 {
        (0..width).for_each(|lane| lanes[lane] += lanes[lane + width]);
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn add<T: Copy + Into<f64>>(lanes: &mut [f64; LANES], row: &[Cell<T>], term: Term) {
    for (lane, value) in lanes.iter_mut().zip(row) {
        let value: f64 = value.get().into();
        *lane += match term {
            Term::Abs => value.abs(),
            Term::Square => value * value,
        };
    }
}

pub fn scale(values: Values<'_>, factor: f64) {
    match values {
        Values::Float32(values) => scale_each(values, factor as f32),
        Values::Float64(values) => scale_each(values, factor),
    }
}

fn scale_each<T: Copy + Mul<Output = T>>(values: &[Cell<T>], factor: T) {
    values.iter().for_each(|value| value.set(value.get() * factor));
}

pub fn subtract(values: Values<'_>, from: Values<'_>) {
    match (values, from) {
        (Values::Float32(values), Values::Float32(from)) => subtract_each(values, from),
        (Values::Float64(values), Values::Float64(from)) => subtract_each(values, from),
        // Both arrays have the blob's type.
        _ => {}
    }
}

fn subtract_each<T: Copy + Sub<Output = T>>(values: &[Cell<T>], from: &[Cell<T>]) {
    values.iter().zip(from).for_each(|(value, other)| value.set(value.get() - other.get()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells<T>(values: impl IntoIterator<Item = T>) -> Vec<Cell<T>> {
        values.into_iter().map(Cell::new).collect()
    }

    #[test]
    fn every_element_is_in_the_sum_and_doubles_hold_what_floats_would_round() {
        for count in [0u64, 1, 3, 31, 32, 33, 63, 64, 1000, 4099] {
            // Integers of 24 bits, whose sums are exact in doubles and not in floats.
            let numbers = || (0..count).map(|number| (1 << 23) + 2 * number + 1);
            let floats = cells(numbers().map(|number| -(number as f32)));
            let doubles = cells(numbers().map(|number| number as f64));
            let [sum_of, squares] = [numbers().sum::<u64>(), numbers().map(|number| number * number).sum()];
            for values in [Values::Float32(&floats), Values::Float64(&doubles)] {
                assert_eq!(sum(values, Term::Abs) as u64, sum_of);
                assert!((sum(values, Term::Square) - squares as f64).abs() <= squares as f64 * 1e-12);
            }
        }
    }

    #[test]
    fn scale_and_subtract_round_once() {
        let before: Vec<f32> = (0..100).map(|number| (number as f32).sin() * 1e10).collect();
        let others = cells((0..100).map(|number| (number as f32).cos()));
        let values = cells(before.clone());
        scale(Values::Float32(&values), 0.1);
        assert!(values.iter().zip(&before).all(|(value, before)| value.get() == before * 0.1f32));
        subtract(Values::Float32(&values), Values::Float32(&others));
        let expected = before.iter().zip(&others).map(|(before, other)| before * 0.1f32 - other.get());
        assert!(values.iter().map(Cell::get).eq(expected));
        let doubles = cells(before.iter().map(|&value| f64::from(value) * 1.1));
        scale(Values::Float64(&doubles), 0.1);
        assert!(doubles.iter().zip(&before).all(|(value, &before)| value.get() == f64::from(before) * 1.1 * 0.1));
    }

    #[test]
    fn an_array_minus_itself_is_zero_and_one_of_overlapping_memory_goes_from_the_first_element_to_the_last() {
        let values = cells((0..100).map(|number| number as f32));
        subtract(Values::Float32(&values[1..]), Values::Float32(&values[..99]));
        // Each element has the new value of the one before it subtracted.
        let expected = (1..100).scan(0f32, |last, number| {
            *last = number as f32 - *last;
            Some(*last)
        });
        assert!(values[1..].iter().map(Cell::get).eq(expected));
        subtract(Values::Float32(&values), Values::Float32(&values));
        assert!(values.iter().all(|value| value.get() == 0.0));
    }

    #[test]
    fn nan_and_infinity_reach_the_sum() {
        let values = cells((0..50).map(|number| number as f32));
        values[40].set(f32::NEG_INFINITY);
        assert_eq!(sum(Values::Float32(&values), Term::Abs), f64::INFINITY);
        values[3].set(f32::NAN);
        assert!(sum(Values::Float32(&values), Term::Square).is_nan());
    }
}
