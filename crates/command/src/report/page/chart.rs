//! Stacked quantities over time as SVGs that stretch with the page; the text beside them does not.
//!
//! The units are columns and bytes, and the y axis goes up (the style turns it round): an outline holds the exact numbers,
//! which the script reads. The style shows one of the stacks of memory (by role, type or layer), and the script selects a
//! stretch of time for the tables of who held what.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::{Display, Write};

use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Duration, Size};

use super::KINDS;
use super::html::Html;
use crate::report::facts::{Holding, Process};
use crate::report::layers::{Layers, NO_LAYER, NO_TYPE, Role};
use crate::report::sentences::{Percent, Rate};
use crate::report::timeline::Column;

/// The unit of a chart's height.
#[derive(Clone, Copy)]
pub enum Scale {
    Bytes,
    Time,
    /// Bytes in columns of this many nanoseconds, shown as a rate.
    Rate(u64),
}

/// Writes the beginning of a chart. The text of its name follows.
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
    /// Returns 0 and two to four round amounts: their heights as parts of `top`, and their texts.
    fn marks(self, top: u64) -> Vec<(f64, String)> {
        // The rates are round, not the bytes in a column.
        let top = match self {
            Scale::Rate(width) => (u128::from(top) * 1_000_000_000 / u128::from(width.max(1))) as u64,
            Scale::Bytes | Scale::Time => top,
        };
        let step = match self {
            Scale::Time => tick(top, 5),
            // The largest power of two of which there are two.
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

/// The outline of an area down to the lower edge: `H` and a column, `V` and the bytes from there on.
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

/// Divides columns into at most `parts` stretches of about the same length, none of them empty.
pub fn stretches(columns: usize, parts: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = parts.min(columns);
    (0..parts).map(move |part| (part * columns / parts, (part + 1) * columns / parts))
}

/// Writes the axis below charts that show `span` nanoseconds.
pub fn axis(html: &mut Html, span: u64) {
    html.markup("<div class=\"axis\" aria-hidden=\"true\">");
    let step = tick(span, 8);
    let mut time = 0;
    // A label at the very edge would not fit.
    while span > 0 && time <= span - span / 12 {
        let percent = time as f64 / span as f64 * 100.0;
        html.markup("<span style=\"left:").text(format_args!("{percent:.2}")).markup("%\">");
        html.text(round(Duration(time))).markup("</span>");
        time += step;
    }
    html.markup("</div>");
}

/// Removes the decimals of a round amount: `1 GiB`.
fn round(amount: impl Display) -> String {
    amount.to_string().replace(".0 ", " ")
}

/// Returns 1, 2 or 5 times a power of ten, for at most this many labels.
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

/// Number of columns of all stacks on a page; at most and at least of one stack.
const COLUMNS: usize = 4096;
const MOST: usize = 512;
const LEAST: usize = 64;
/// Number of bands. One more sums up the others.
const BANDS: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum By {
    Role,
    Type,
    Layer,
    Holder,
}

impl By {
    fn key(self) -> &'static str {
        match self {
            By::Role => "role",
            By::Type => "type",
            By::Layer | By::Holder => "layer",
        }
    }

    fn title(self) -> &'static str {
        match self {
            By::Role => "Role",
            By::Type => "Type",
            By::Layer => "Layer",
            By::Holder => "Name or place",
        }
    }

    /// The name of the band, and its colour: a role has the same colour in each chart; memory without a role is grey.
    fn of<'p>(self, part: &'p Holding, layers: &'p Layers) -> (&'p str, Option<usize>) {
        let of_layer = part.name.as_deref().and_then(Role::of_layer);
        match (self, of_layer) {
            (By::Role, Some((_, role))) => (role.name(), Some(role as usize)),
            (By::Role, None) => (NO_LAYER, Some(BANDS)),
            (By::Type, None) => (NO_LAYER, None),
            (By::Type, Some((layer, _))) => (layers.kind(layer).unwrap_or(NO_TYPE), None),
            (By::Layer, Some((layer, _))) => (layer, None),
            _ => (part.who(), None),
        }
    }
}

pub struct Band<'a> {
    pub name: &'a str,
    /// `None`: the colour of its place.
    pub colour: Option<usize>,
    pub values: Vec<u64>,
}

impl<'a> Band<'a> {
    pub fn new(name: &'a str, colour: Option<usize>, columns: usize) -> Band<'a> {
        Band { name, colour, values: vec![0; columns] }
    }

    fn add(&mut self, values: &[u64]) {
        self.values.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
    }
}

/// Returns the columns of a stack of one process of `of`, and the width of one in nanoseconds.
pub fn columns(process: &Process, of: usize) -> (Vec<Column>, u64) {
    process.timeline.in_columns((COLUMNS / of.max(1)).clamp(LEAST, MOST))
}

/// Writes the stacks of process number `place` on the page.
pub fn stacks(html: &mut Html, process: &Process, place: usize, columns: &[Column], width: u64) {
    let has_roles =
        process.parts.iter().filter_map(|part| part.name.as_deref()).any(|name| Role::of_layer(name).is_some());
    let ways: &[By] = match (has_roles, process.by_type.is_empty()) {
        (true, false) => &[By::Role, By::Type, By::Layer],
        (true, true) => &[By::Role, By::Layer],
        (false, _) => &[By::Holder],
    };
    html.markup("<figcaption><h3>Memory over time</h3><p>What objects held, at the greatest moment in each ");
    html.text(Duration(width)).markup(".</p></figcaption>");
    if has_roles {
        html.markup("<fieldset class=\"by\"><legend>Divided by</legend>");
        for &by in ways {
            let checked = if by == By::Role { " checked" } else { "" };
            html.markup("<label><input type=\"radio\" name=\"by").text(place).markup("\" value=\"").markup(by.key());
            html.markup("\"").markup(checked).markup(">").text(by.title().to_lowercase()).markup("</label>");
        }
        html.markup("</fieldset>");
    }
    for (kind, key, name) in KINDS {
        let memory = process.account.memory(kind);
        if memory.peak == 0 {
            continue;
        }
        let when = process.timeline.since_begin(memory.peak_time);
        let note = format!("{} at its peak, at {}", Size(memory.peak), Duration(when));
        for &by in ways {
            html.markup("<div class=\"stack by-").markup(by.key()).markup("\" data-kind=\"").markup(key);
            html.markup("\" data-width=\"").text(width).markup("\"><div><p class=\"head\"><b>").markup(name);
            html.markup("</b> <span>").text(&note).markup("</span></p>");
            let bands = bands(process, kind, by, columns);
            begin(html, columns.len(), memory.peak, Scale::Bytes);
            html.markup(name).markup(" memory by ").text(by.title().to_lowercase());
            html.markup(", ").text(&note).markup("\">");
            chart(html, &bands, columns.len());
            end(html);
            axis(html, width.saturating_mul(columns.len() as u64));
            html.markup("</div>");
            let peak = columns.iter().position(|column| column.most[kind as usize] == memory.peak).unwrap_or(0);
            held_table(html, &bands, by.title(), memory.peak, peak);
            html.markup("</div>");
        }
    }
}

fn bands<'a>(process: &'a Process, kind: Kind, by: By, columns: &[Column]) -> Vec<Band<'a>> {
    let mut bands: HashMap<&str, Band> = HashMap::new();
    for part in &process.parts {
        let values = part.held[kind as usize].in_columns(columns.iter().map(|column| column.samples[kind as usize]));
        if let Some(values) = values {
            let (name, colour) = by.of(part, &process.layers);
            bands.entry(name).or_insert_with(|| Band::new(name, colour, columns.len())).add(&values);
        }
    }
    // Drops owners whose blocks all got another name.
    bands.retain(|_, band| band.values.iter().any(|&bytes| bytes > 0));
    largest(bands)
}

/// Sorts the bands, the largest at the bottom. The last one sums up the smaller ones.
pub fn largest<'a>(bands: HashMap<&'a str, Band<'a>>) -> Vec<Band<'a>> {
    let mut bands: Vec<_> = bands.into_values().collect();
    bands.sort_by_cached_key(|band| (Reverse(band.values.iter().max().copied()), band.name));
    let others = bands.split_off(bands.len().min(BANDS));
    if !others.is_empty() {
        let mut all = Band::new("all others", None, others[0].values.len());
        others.iter().for_each(|other| all.add(&other.values));
        bands.push(all);
    }
    bands
}

/// Writes the bands. Each outline reaches to the lower edge; the bands below are drawn over it.
pub fn chart(html: &mut Html, bands: &[Band], columns: usize) {
    let mut below = Band::new("", None, columns);
    let mut outlines = Vec::new();
    for band in bands {
        below.add(&band.values);
        outlines.push(outline(below.values.iter().copied()));
    }
    for (place, (band, outline)) in bands.iter().zip(outlines).enumerate().rev() {
        html.markup("<path class=\"area c").text(band.colour.unwrap_or(place)).markup("\" d=\"").text(outline);
        html.markup("\"><title>").text(band.name).markup("</title></path>");
    }
}

pub fn held_table(html: &mut Html, bands: &[Band], by: &'static str, peak: u64, column: usize) {
    html.markup("<div class=\"held\"><p class=\"when\" role=\"status\">At the peak</p><table>");
    html.heads(&[by, "#Bytes", "#Share"]);
    for (place, band) in bands.iter().enumerate() {
        let bytes = band.values[column];
        html.band(band.colour.unwrap_or(place), band.name).number(bytes, Size(bytes));
        html.number(bytes, Percent { part: bytes, of: peak }).markup("</tr>");
    }
    html.markup("</tbody></table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_has_two_to_four_round_amounts_and_zero() {
        let shown = |scale: Scale, top| {
            let shown = |(height, shown): &(f64, String)| format!("{shown} {:.0}", height * 100.0);
            scale.marks(top).iter().map(shown).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(shown(Scale::Bytes, 56_413_388), "0 B 0, 16 MiB 30, 32 MiB 59, 48 MiB 89");
        assert_eq!(shown(Scale::Bytes, 1), "0 B 0, 1 B 100");
        assert_eq!(shown(Scale::Time, 5_000_000), "0 ns 0, 2 ms 40, 4 ms 80");
        assert_eq!(shown(Scale::Rate(1_000_000), 3 << 20), "0 B/s 0, 1 GiB/s 34, 2 GiB/s 68");
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
