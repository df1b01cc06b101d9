//! Quantities over time as SVGs that stretch with the page; text beside them does not.
//!
//! The units are columns and bytes, and the y axis goes up (the style turns it round): an outline holds the exact
//! numbers, which the script reads.

use std::fmt::Write;

use super::html::Html;

pub struct Strip<'a> {
    pub title: &'static str,
    pub class: &'static str,
    pub note: &'a str,
    pub values: &'a [u64],
    pub top: u64,
    pub top_shown: &'a str,
}

impl Strip<'_> {
    /// With `hints` hover texts; `hint` returns that of some columns.
    pub fn write(&self, html: &mut Html, hints: usize, hint: impl Fn(usize, usize) -> String) {
        html.markup("<div class=\"strip ").markup(self.class).markup("\"><p class=\"head\"><b>").text(self.title);
        html.markup("</b> <span>").text(self.note).markup("</span></p>");
        begin(html, self.values.len(), self.top, self.top_shown);
        html.text(self.title).markup(", ").text(self.note).markup("\">");
        html.markup("<path class=\"area\" d=\"").text(outline(self.values.iter().copied())).markup("\"/>");
        for (first, last) in stretches(self.values.len(), hints) {
            html.markup("<rect class=\"hint\" x=\"").text(first).markup("\" width=\"").text(last - first);
            html.markup("\" height=\"").text(self.top).markup("\"><title>");
            html.text(hint(first, last)).markup("</title></rect>");
        }
        html.markup("</svg></div></div>");
    }
}

/// Up to the text of its name.
pub fn begin(html: &mut Html, columns: usize, top: u64, top_shown: &str) {
    html.markup("<div class=\"plot\"><span class=\"top\" aria-hidden=\"true\">").text(top_shown);
    html.markup("</span><svg viewBox=\"0 0 ").text(columns).markup(" ").text(top);
    html.markup("\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"");
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
    let step = tick(span);
    let (unit, name) = match step {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let mut time = 0;
    // None at the very edge: it would not fit.
    while span > 0 && time <= span - span / 12 {
        let percent = time as f64 / span as f64 * 100.0;
        html.markup("<span style=\"left:").text(format_args!("{percent:.2}")).markup("%\">");
        html.text(time / unit).markup("\u{a0}").text(name).markup("</span>");
        time += step;
    }
    html.markup("</div>");
}

/// 1, 2 or 5 times a power of ten, for at most eight labels.
fn tick(span: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for step in [1, 2, 5].map(|n| power.saturating_mul(n)) {
            if span / step < 8 {
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
    fn an_outline_steps_where_the_value_changes_and_only_there() {
        assert_eq!(outline([0, 5, 5, 10, 0].into_iter()), "M0 0H1V5H3V10H4V0H5V0Z");
        assert_eq!(outline([7, 7].into_iter()), "M0 0H0V7H2V0Z");
        assert_eq!(outline([0].into_iter()), "M0 0H1V0Z");
    }

    #[test]
    fn stretches_cover_every_column_once() {
        for (columns, parts) in [(0, 5), (1, 5), (5, 5), (7, 3), (1024, 64), (3, 1)] {
            let all: Vec<_> = stretches(columns, parts).collect();
            assert!(all.len() <= parts && all.iter().all(|(first, last)| first < last));
            let covered: Vec<_> = all.iter().flat_map(|&(first, last)| first..last).collect();
            assert_eq!(covered, (0..columns).collect::<Vec<_>>());
        }
    }

    #[test]
    fn marks_are_at_round_times() {
        assert_eq!(
            [1, 6, 59, 61_000, 1 << 40, u64::MAX].map(tick),
            [1, 1, 10, 10_000, 200_000_000_000, 5_000_000_000_000_000_000]
        );
    }
}
