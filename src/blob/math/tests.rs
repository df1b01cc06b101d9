use std::cell::Cell;

use super::*;

/// Over the whole range, without NaN and infinity.
fn floats(count: usize, exponents: std::ops::Range<u32>) -> Vec<Cell<f32>> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u32
    };
    let width = exponents.end - exponents.start;
    let bits = |random: u32, exponent: u32| random & 0x807f_ffff | (exponents.start + exponent % width) << 23;
    (0..count).map(|_| Cell::new(f32::from_bits(bits(next(), next())))).collect()
}

fn wide(values: &[Cell<f32>]) -> Vec<Cell<f64>> {
    values.iter().map(|value| Cell::new(f64::from(value.get()) * std::f64::consts::PI)).collect()
}

const COUNTS: [usize; 10] = [0, 1, 3, 31, 32, 33, 63, 64, 1000, 4099];

#[test]
fn the_sum_does_not_depend_on_the_instructions_of_the_cpu() {
    for count in COUNTS {
        // Also subnormal ones, and squares that overflow a float.
        for exponents in [0..255, 100..150, 0..3] {
            let values = floats(count, exponents.clone());
            let doubles = wide(&values);
            for term in [Term::Abs, Term::Square] {
                let (fast, plain) = (sum(Values::Float32(&values), term), portable::sum(&values, term));
                assert_eq!(fast.to_bits(), plain.to_bits(), "{count} floats of {exponents:?}");
                let (fast, plain) = (sum(Values::Float64(&doubles), term), portable::sum(&doubles, term));
                assert_eq!(fast.to_bits(), plain.to_bits(), "{count} doubles of {exponents:?}");
            }
        }
    }
}

/// In units of 2^-300, as limbs of 32 bits: floats and their squares are whole numbers of those.
fn exact(values: &[Cell<f32>], term: Term) -> Vec<u64> {
    let mut limbs = vec![0u64; 24];
    for value in values {
        let bits = value.get().to_bits();
        let (exponent, fraction) = (bits >> 23 & 0xff, u64::from(bits & 0x7f_ffff));
        let (mantissa, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 0x80_0000, exponent) };
        // The value is mantissa * 2^(exponent - 150).
        let (mantissa, shift) = match term {
            Term::Abs => (mantissa, exponent as i64 - 150 + 300),
            Term::Square => (mantissa * mantissa, 2 * (exponent as i64 - 150) + 300),
        };
        let (limb, bit) = (shift as usize / 32, shift as usize % 32);
        let mut wide = u128::from(mantissa) << bit;
        let mut limb = limb;
        while wide > 0 {
            let sum = u128::from(limbs[limb]) + (wide & 0xffff_ffff);
            limbs[limb] = (sum & 0xffff_ffff) as u64;
            wide = (wide >> 32) + (sum >> 32);
            limb += 1;
        }
    }
    limbs
}

/// As IEEE 754 rounds to a float, but with ties to either side.
fn nearest(limbs: &[u64]) -> f64 {
    limbs
        .iter()
        .enumerate()
        .rev()
        .fold(0.0, |sum, (place, &limb)| sum + limb as f64 * 2f64.powi(32 * place as i32 - 300))
}

#[test]
fn sums_of_floats_are_within_one_ulp_of_exact() {
    for count in COUNTS {
        for exponents in [90..160, 120..128, 127..128, 0..3] {
            let values = floats(count, exponents.clone());
            for term in [Term::Abs, Term::Square] {
                let exact = nearest(&exact(&values, term));
                let rounded = sum(Values::Float32(&values), term) as f32;
                let ulp = f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded);
                let error = (f64::from(rounded) - exact).abs();
                assert!(error <= ulp, "{count} floats of {exponents:?}: {rounded:e}, {exact:e}");
            }
        }
    }
}

#[test]
fn scale_and_subtract_round_once() {
    for count in COUNTS {
        let (values, others) = (floats(count, 100..150), floats(count + 1, 100..150));
        let (before, others) = (values.clone(), &others[1..]);
        let factor = 0.1;
        scale(Values::Float32(&values), factor);
        for (value, before) in values.iter().zip(&before) {
            assert_eq!(value.get().to_bits(), (before.get() * 0.1f32).to_bits());
        }
        subtract(Values::Float32(&values), Values::Float32(others));
        for ((value, before), other) in values.iter().zip(&before).zip(others) {
            assert_eq!(value.get().to_bits(), (before.get() * 0.1f32 - other.get()).to_bits());
        }
        let (values, before) = (wide(&before), wide(&before));
        scale(Values::Float64(&values), factor);
        for (value, before) in values.iter().zip(&before) {
            assert_eq!(value.get().to_bits(), (before.get() * factor).to_bits());
        }
    }
}

#[test]
fn an_array_minus_itself_is_zero_and_one_of_overlapping_memory_goes_from_the_first_element_to_the_last() {
    let values = floats(100, 100..150);
    subtract(Values::Float32(&values), Values::Float32(&values));
    assert!(values.iter().all(|value| value.get() == 0.0));
    let values: Vec<_> = (0..100).map(|number| Cell::new(number as f32)).collect();
    subtract(Values::Float32(&values[1..]), Values::Float32(&values[..99]));
    // Each is what the one before it has become.
    let expected = (1..100).scan(0f32, |last, number| {
        *last = number as f32 - *last;
        Some(*last)
    });
    assert!(values[1..].iter().map(Cell::get).eq(expected));
}

#[test]
fn nan_and_infinity_reach_the_sum() {
    let values: Vec<_> = (0..50).map(|number| Cell::new(number as f32)).collect();
    values[40].set(f32::NEG_INFINITY);
    assert_eq!(sum(Values::Float32(&values), Term::Abs), f64::INFINITY);
    values[3].set(f32::NAN);
    assert!(sum(Values::Float32(&values), Term::Square).is_nan());
}
