//! One quantity over time, as an SVG that stretches with the page. The text beside it is HTML, which does not stretch.

use std::fmt::Write;

use super::html::Html;

/// The height of a chart in its own units.
const HEIGHT: u64 = 1000;

/// A chart of the least and the greatest value in each column.
pub struct Strip<'a> {
    pub title: &'static str,
    /// The CSS class that sets its colour.
    pub class: &'static str,
    /// The text beside its title.
    pub note: &'a str,
    pub values: &'a [(u64, u64)],
    /// The value at the upper edge.
    pub top: u64,
    /// `top`, formatted for people.
    pub top_shown: &'a str,
    /// Position of the peak, in thousandths of the width.
    pub mark: Option<u64>,
}

impl Strip<'_> {
    /// Writes the chart, with `hints` hover texts; `hint` returns the text of some columns.
    pub fn write(&self, html: &mut Html, hints: usize, hint: impl Fn(usize, usize) -> String) {
        html.markup("<div class=\"strip ").markup(self.class).markup("\"><p class=\"head\"><b>").text(self.title);
        html.markup("</b> <span>")
            .text(self.note)
            .markup("</span></p><div class=\"plot\"><span class=\"top\" aria-hidden=\"true\">");
        html.text(self.top_shown).markup("</span><svg viewBox=\"0 0 ").text(self.values.len()).markup(" ").text(HEIGHT);
        html.markup("\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"")
            .text(self.title)
            .markup(", ")
            .text(self.note);
        html.markup("\">");
        // The part held only at times within a column is drawn lighter.
        if self.values.iter().any(|(least, most)| least != most) {
            html.markup("<path class=\"most\" d=\"").text(self.outline(|value| value.1)).markup("\"/>");
        }
        html.markup("<path class=\"least\" d=\"").text(self.outline(|value| value.0)).markup("\"/>");
        if let Some(mark) = self.mark {
            let x = (mark as f64 / 1000.0 * self.values.len() as f64 * 10.0).round() / 10.0;
            html.markup("<path class=\"mark\" d=\"M").text(x).markup(" 0V").text(HEIGHT).markup("\"/>");
        }
        self.hints(html, hints, hint);
        html.markup("</svg></div></div>");
    }

    /// The outline of an area that goes down to the lower edge.
    fn outline(&self, of: impl Fn(&(u64, u64)) -> u64) -> String {
        let mut path = format!("M0 {HEIGHT}");
        let mut before = HEIGHT;
        for (column, value) in self.values.iter().enumerate() {
            let height = u128::from(of(value).min(self.top)) * u128::from(HEIGHT) / u128::from(self.top.max(1));
            let y = HEIGHT - height as u64;
            if y != before {
                let _ = write!(path, "H{column}V{y}");
                before = y;
            }
        }
        let _ = write!(path, "H{}V{HEIGHT}Z", self.values.len());
        path
    }

    /// Invisible columns with hover texts.
    fn hints(&self, html: &mut Html, hints: usize, hint: impl Fn(usize, usize) -> String) {
        for (first, last) in stretches(self.values.len(), hints) {
            html.markup("<rect class=\"hint\" x=\"").text(first).markup("\" width=\"").text(last - first);
            html.markup("\" height=\"")
                .text(HEIGHT)
                .markup("\"><title>")
                .text(hint(first, last))
                .markup("</title></rect>");
        }
    }
}

/// Splits `columns` into at most `parts` stretches of about the same length, none of them empty.
pub fn stretches(columns: usize, parts: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = parts.min(columns);
    (0..parts).map(move |part| (part * columns / parts, (part + 1) * columns / parts))
}

/// Writes the times below charts that show `span` nanoseconds.
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
    // No label at the very edge: it would not fit.
    while span > 0 && time <= span - span / 12 {
        let percent = time as f64 / span as f64 * 100.0;
        html.markup("<span style=\"left:").text(format_args!("{percent:.2}")).markup("%\">");
        html.text(time / unit).markup("\u{a0}").text(name).markup("</span>");
        time += step;
    }
    html.markup("</div>");
}

/// The distance of labels: 1, 2 or 5 times a power of ten, for at most eight labels.
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

    fn outline(values: &[(u64, u64)], top: u64) -> String {
        let strip = Strip { title: "", class: "", note: "", values, top, top_shown: "", mark: None };
        strip.outline(|value| value.1)
    }

    #[test]
    fn an_outline_steps_where_the_value_changes_and_only_there() {
        assert_eq!(outline(&[(0, 0), (0, 5), (0, 5), (0, 10), (0, 0)], 10), "M0 1000H1V500H3V0H4V1000H5V1000Z");
        assert_eq!(outline(&[], 10), "M0 1000H0V1000Z");
        assert_eq!(outline(&[(0, 0)], 0), "M0 1000H1V1000Z");
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
