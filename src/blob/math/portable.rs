use std::cell::Cell;

#[derive(Clone, Copy)]
pub enum Values<'a> {
    Float32(&'a [Cell<f32>]),
    Float64(&'a [Cell<f64>]),
}

pub const LANES: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Term {
    Abs,
    Square,
}

pub trait Real: Copy {
    fn wide(self) -> f64;
    /// Rounds `factor` once for all elements.
    fn narrow(factor: f64) -> Self;
    fn times(self, factor: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! real {
    ($($type:ty),*) => {$(
        impl Real for $type {
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn narrow(factor: f64) -> Self {
                factor as $type
            }

            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                self * factor
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        }
    )*};
}
real!(f32, f64);

pub fn sum<T: Real>(values: &[Cell<T>], term: Term) -> f64 {
    let mut lanes = [0.0; LANES];
    let rows = values.chunks_exact(LANES);
    let rest = rows.remainder();
    rows.for_each(|row| add(&mut lanes, row, term));
    finish(lanes, rest, term)
}

/// `rest` fills no row.
#[inline(always)]
pub fn finish<T: Real>(mut lanes: [f64; LANES], rest: &[Cell<T>], term: Term) -> f64 {
    add(&mut lanes, rest, term);
    let mut width = LANES / 2;
    while width > 0 {
        (0..width).for_each(|lane| lanes[lane] += lanes[lane + width]);
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn add<T: Real>(lanes: &mut [f64; LANES], row: &[Cell<T>], term: Term) {
    for (lane, value) in lanes.iter_mut().zip(row) {
        let value = value.get().wide();
        *lane += match term {
            Term::Abs => value.abs(),
            Term::Square => value * value,
        };
    }
}

// Inlined into functions with AVX2, where the loops become wider.

#[inline(always)]
pub fn scale(values: Values<'_>, factor: f64) {
    match values {
        Values::Float32(values) => scale_each(values, factor),
        Values::Float64(values) => scale_each(values, factor),
    }
}

#[inline(always)]
fn scale_each<T: Real>(values: &[Cell<T>], factor: f64) {
    let factor = T::narrow(factor);
    values.iter().for_each(|value| value.set(value.get().times(factor)));
}

#[inline(always)]
pub fn subtract(values: Values<'_>, from: Values<'_>) {
    match (values, from) {
        (Values::Float32(values), Values::Float32(from)) => subtract_each(values, from),
        (Values::Float64(values), Values::Float64(from)) => subtract_each(values, from),
        // Both are of one type: the blob's.
        _ => {}
    }
}

#[inline(always)]
fn subtract_each<T: Real>(values: &[Cell<T>], from: &[Cell<T>]) {
    values.iter().zip(from).for_each(|(value, other)| value.set(value.get().minus(other.get())));
}
