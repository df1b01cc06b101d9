//! Floats of 16 bits, as NVIDIA's Caffe stores them.

/// Converts a half exactly. Keeps the sign and the bits of a NaN.
pub(crate) fn to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, mantissa) = (u32::from(half >> 10) & 0x1f, u32::from(half) & 0x3ff);
    let magnitude = match exponent {
        // A subnormal is a multiple of 2^-24.
        0 => (mantissa as f32 / 16_777_216.0).to_bits(),
        0x1f => 0x7f80_0000 | mantissa << 13,
        _ => (exponent + 127 - 15) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_halves_are_what_their_bits_say() {
        for half in 0..=u16::MAX {
            let (exponent, mantissa) = (i32::from(half >> 10 & 0x1f), f64::from(half & 0x3ff));
            let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
            let expected = match exponent {
                0 => sign * mantissa * 2f64.powi(-24),
                31 if mantissa == 0.0 => sign * f64::INFINITY,
                31 => f64::NAN,
                _ => sign * (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
            };
            let value = to_f32(half);
            assert_eq!(value.is_nan(), expected.is_nan(), "{half:#06x}");
            assert!(value.is_nan() || f64::from(value).to_bits() == expected.to_bits(), "{half:#06x}: {value}");
        }
    }
}
