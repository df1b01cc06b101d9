//! Memory over time, by role and by layer, with tables of who held what at the peak.
//!
//! The style shows one of both stacks. The script selects a stretch of time for the tables.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::report::role::Role;
use syncedmem_core::kind::Kind;

use super::KINDS;
use super::chart::{Scale, axis, begin, end, outline};
use super::html::Html;
use crate::report::amount::Percent;
use crate::report::facts::{Holding, Process};
use crate::report::held::Column;
use crate::report::layers::{Layers, NO_LAYER, NO_TYPE};
use syncedmem_core::text::{Duration, Size};

/// Of all stacks on a page; and the most and the least of one.
const COLUMNS: usize = 4096;
const MOST: usize = 512;
const LEAST: usize = 64;
/// The others are one more.
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

    /// The name of its band, and its colour: a role has the same in each chart; without one it is grey, as are the others.
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
    /// `None`: that of its place.
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

/// The columns of a stack of one process of `of`, and the width of one in nanoseconds.
pub fn columns(process: &Process, of: usize) -> (Vec<Column>, u64) {
    process.timeline.in_columns((COLUMNS / of.max(1)).clamp(LEAST, MOST))
}

/// The process is number `place` on the page.
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
            table(html, &bands, by.title(), memory.peak, peak);
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
    // Not an owner whose blocks all got another name.
    bands.retain(|_, band| band.values.iter().any(|&bytes| bytes > 0));
    largest(bands)
}

/// The largest at the bottom; the last one holds the others.
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

/// Each outline reaches to the lower edge; the bands below it are drawn over it.
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

pub fn table(html: &mut Html, bands: &[Band], by: &'static str, peak: u64, column: usize) {
    html.markup("<div class=\"held\"><p class=\"when\" role=\"status\">At the peak</p><table>");
    html.heads(&[by, "#Bytes", "#Share"]);
    for (place, band) in bands.iter().enumerate() {
        let bytes = band.values[column];
        html.band(band.colour.unwrap_or(place), band.name).number(bytes, Size(bytes));
        html.number(bytes, Percent { part: bytes, of: peak }).markup("</tr>");
    }
    html.markup("</tbody></table></div>");
}
