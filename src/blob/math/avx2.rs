//! The same sums with AVX2 and FMA: eight registers of four lanes each.
//!
//! Written out: the compiler does not keep so many lanes in registers. The one fused operation squares floats, which is
//! exact in doubles.
#![expect(unsafe_code, reason = "instructions that the CPU was asked for, and loads of values")]

use std::arch::x86_64::*;
use std::cell::Cell;

use super::portable::{self, LANES, Real, Term, Values};

const WIDTH: usize = 4;
const REGISTERS: usize = LANES / WIDTH;

/// Proof that the CPU has the instructions.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    #[inline]
    pub fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }

    pub fn sum(self, values: Values<'_>, term: Term) -> f64 {
        match (values, term) {
            // SAFETY: `self` is the proof; here and below.
            (Values::Float32(values), Term::Abs) => unsafe { sum::<f32, Abs>(values) },
            // SAFETY: as above.
            (Values::Float32(values), Term::Square) => unsafe { sum::<f32, Fused>(values) },
            // SAFETY: as above.
            (Values::Float64(values), Term::Abs) => unsafe { sum::<f64, Abs>(values) },
            // SAFETY: as above.
            (Values::Float64(values), Term::Square) => unsafe { sum::<f64, Square>(values) },
        }
    }

    pub fn scale(self, values: Values<'_>, factor: f64) {
        // SAFETY: `self` is the proof.
        unsafe { scale(values, factor) }
    }

    pub fn subtract(self, values: Values<'_>, from: Values<'_>) {
        // SAFETY: `self` is the proof.
        unsafe { subtract(values, from) }
    }
}

/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn scale(values: Values<'_>, factor: f64) {
    portable::scale(values, factor);
}

/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn subtract(values: Values<'_>, from: Values<'_>) {
    portable::subtract(values, from);
}

/// # Safety
/// The CPU has AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
unsafe fn sum<T: Wide, O: Operation>(values: &[Cell<T>]) -> f64 {
    let mut lanes = [0.0; LANES];
    let rows = values.chunks_exact(LANES);
    let rest = rows.remainder();
    // SAFETY: the caller guarantees the instructions, here and below.
    let mut sums = [unsafe { zeros() }; REGISTERS];
    for row in rows {
        for (sum, four) in sums.iter_mut().zip(row.chunks_exact(WIDTH)) {
            // SAFETY: four values.
            let four = unsafe { T::load(four.as_ptr().cast()) };
            // SAFETY: as above.
            *sum = unsafe { O::add(*sum, four) };
        }
    }
    for (four, sum) in lanes.chunks_exact_mut(WIDTH).zip(sums) {
        // SAFETY: four lanes.
        unsafe { store(four.as_mut_ptr(), sum) };
    }
    portable::finish(lanes, rest, O::TERM)
}

#[inline(always)]
unsafe fn zeros() -> __m256d {
    // SAFETY: the caller guarantees AVX2; here and in all below.
    unsafe { _mm256_setzero_pd() }
}

#[inline(always)]
unsafe fn store(to: *mut f64, four: __m256d) {
    // SAFETY: the caller guarantees four places.
    unsafe { _mm256_storeu_pd(to, four) }
}

trait Wide: Real {
    /// # Safety
    /// There are four values at `from`, and the CPU has AVX2.
    unsafe fn load(from: *const Self) -> __m256d;
}

impl Wide for f32 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256d {
        // SAFETY: the caller guarantees it.
        let four = unsafe { _mm_loadu_ps(from) };
        // SAFETY: the caller guarantees AVX2.
        unsafe { _mm256_cvtps_pd(four) }
    }
}

impl Wide for f64 {
    #[inline(always)]
    unsafe fn load(from: *const f64) -> __m256d {
        // SAFETY: the caller guarantees it.
        unsafe { _mm256_loadu_pd(from) }
    }
}

trait Operation {
    const TERM: Term;

    /// # Safety
    /// The CPU has AVX2 and FMA.
    unsafe fn add(sum: __m256d, four: __m256d) -> __m256d;
}

struct Abs;
struct Square;
/// Squares of floats.
struct Fused;

impl Operation for Abs {
    const TERM: Term = Term::Abs;

    #[inline(always)]
    unsafe fn add(sum: __m256d, four: __m256d) -> __m256d {
        // SAFETY: the caller guarantees AVX2.
        let sign = unsafe { _mm256_set1_pd(-0.0) };
        // SAFETY: as above.
        let positive = unsafe { _mm256_andnot_pd(sign, four) };
        // SAFETY: as above.
        unsafe { _mm256_add_pd(sum, positive) }
    }
}

impl Operation for Square {
    const TERM: Term = Term::Square;

    #[inline(always)]
    unsafe fn add(sum: __m256d, four: __m256d) -> __m256d {
        // SAFETY: the caller guarantees AVX2.
        let square = unsafe { _mm256_mul_pd(four, four) };
        // SAFETY: as above.
        unsafe { _mm256_add_pd(sum, square) }
    }
}

impl Operation for Fused {
    const TERM: Term = Term::Square;

    #[inline(always)]
    unsafe fn add(sum: __m256d, four: __m256d) -> __m256d {
        // SAFETY: the caller guarantees FMA.
        unsafe { _mm256_fmadd_pd(four, four, sum) }
    }
}
