//! Quantities over time as SVGs that stretch with the page; text beside them does not.
//!
//! The units are columns and bytes, and the y axis goes up (the style turns it round): an outline holds the exact
//! numbers, which the script reads.

use std::fmt::{Display, Write};

use super::html::Html;
use crate::report::amount::Rate;
use syncedmem_core::text::{Duration, Size};

/// What a chart's height stands for.
#[derive(Clone, Copy)]
pub enum Scale {
    Bytes,
    Time,
    /// Bytes in columns of so many nanoseconds.
    Rate(u64),
}

/// Up to the text of its name.
pub fn begin(html: &mut Html, columns: usize, top: u64, scale: Scale) {
    html.markup("<div class=\"plot\"><div class=\"y\" aria-hidden=\"true\">");
    for (height, shown) in scale.marks(top) {
        html.markup("<span style=\"bottom:").text(format_args!("{:.2}", height * 100.0)).markup("%\"><b>");
        html.text(shown).markup("</b></span>");
    }
    html.markup("</div><div class=\"box\"><svg viewBox=\"0 0 ").text(columns).markup(" ").text(top);
    html.markup("\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"");
}

pub fn end(html: &mut Html) {
    html.markup("</svg></div></div>");
}

impl Scale {
    /// Heights as parts of `top`, with their texts: 0, and two to four round amounts.
    fn marks(self, top: u64) -> Vec<(f64, String)> {
        // Bytes a second, so that those are round.
        let top = match self {
            Scale::Rate(width) => (u128::from(top) * 1_000_000_000 / u128::from(width.max(1))) as u64,
            Scale::Bytes | Scale::Time => top,
        };
        let step = match self {
            Scale::Time => tick(top, 5),
            // The largest power of two that is there twice.
            Scale::Bytes | Scale::Rate(_) => 1 << (top / 2).checked_ilog2().unwrap_or(0),
        };
        let mark = |amount: u64| {
            let shown = match self {
                Scale::Bytes => round(Size(amount)),
                Scale::Time => round(Duration(amount)),
                Scale::Rate(_) => round(Rate { bytes: amount, nanoseconds: 1_000_000_000 }),
            };
            (amount as f64 / top.max(1) as f64, shown)
        };
        (0..=top / step).map(|number| mark(number * step)).collect()
    }
}

/// Down to the lower edge: `H` and a column, `V` and the bytes from there on.
pub fn outline(values: impl ExactSizeIterator<Item = u64>) -> String {
    let mut path = "M0 0".to_string();
    let (columns, mut before) = (values.len(), 0);
    for (column, value) in values.enumerate() {
        if value != before {
            // Writing to a string cannot fail.
            let _ = write!(path, "H{column}V{value}");
            before = value;
        }
    }
    let _ = write!(path, "H{columns}V0Z");
    path
}

/// At most `parts`, of about the same length, none empty.
pub fn stretches(columns: usize, parts: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = parts.min(columns);
    (0..parts).map(move |part| (part * columns / parts, (part + 1) * columns / parts))
}

/// Below charts that show `span` nanoseconds.
pub fn axis(html: &mut Html, span: u64) {
    html.markup("<div class=\"axis\" aria-hidden=\"true\">");
    let step = tick(span, 8);
    let mut time = 0;
    // None at the very edge: it would not fit.
    while span > 0 && time <= span - span / 12 {
        let percent = time as f64 / span as f64 * 100.0;
        html.markup("<span style=\"left:").text(format_args!("{percent:.2}")).markup("%\">");
        html.text(round(Duration(time))).markup("</span>");
        time += step;
    }
    html.markup("</div>");
}

/// `1 GiB`: round amounts need no decimals.
fn round(amount: impl Display) -> String {
    amount.to_string().replace(".0 ", " ")
}

/// 1, 2 or 5 times a power of ten, for at most so many labels.
fn tick(span: u64, labels: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for step in [1, 2, 5].map(|n| power.saturating_mul(n)) {
            if span / step < labels {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_has_two_to_four_round_amounts_and_zero() {
        let told = |scale: Scale, top| {
            let told = |(height, shown): &(f64, String)| format!("{shown} {:.0}", height * 100.0);
            scale.marks(top).iter().map(told).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(told(Scale::Bytes, 56_413_388), "0 B 0, 16 MiB 30, 32 MiB 59, 48 MiB 89");
        assert_eq!(told(Scale::Bytes, 1), "0 B 0, 1 B 100");
        assert_eq!(told(Scale::Time, 5_000_000), "0 ns 0, 2 ms 40, 4 ms 80");
        assert_eq!(told(Scale::Rate(1_000_000), 3 << 20), "0 B/s 0, 1 GiB/s 34, 2 GiB/s 68");
        for top in [1, 2, 3, 7, 1000, u64::MAX] {
            for scale in [Scale::Bytes, Scale::Time, Scale::Rate(7), Scale::Rate(u64::MAX)] {
                assert!((1..=5).contains(&scale.marks(top).len()), "{top}");
            }
        }
    }

    #[test]
    fn marks_are_at_round_times() {
        assert_eq!(
            [1, 6, 59, 61_000, 1 << 40, u64::MAX].map(|span| tick(span, 8)),
            [1, 1, 10, 10_000, 200_000_000_000, 5_000_000_000_000_000_000]
        );
    }
}
