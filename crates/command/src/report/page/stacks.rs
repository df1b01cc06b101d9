//! Memory over time, stacked by role and by layer, with tables that say who held what at the peak.
//!
//! The style shows one of both stacks. The script selects a stretch of time, and shows who held what in it.

use std::cmp::Reverse;
use std::collections::HashMap;

use syncedmem_analysis::summary::Role;
use syncedmem_trace::kind::Kind;

use super::KINDS;
use super::chart::{axis, begin, outline};
use super::html::Html;
use crate::report::amount::{Bytes, Share, Time};
use crate::report::facts::{Part, Process};
use crate::report::timeline::Column;

/// Columns of all stacks on a page, and the most and the least of one.
const COLUMNS: usize = 4096;
const MOST: usize = 512;
const LEAST: usize = 64;
/// Bands of a stack; the others are one more.
const BANDS: usize = 10;

/// How memory is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Role,
    Layer,
    Holder,
}

impl By {
    /// Part of ids and classes.
    fn key(self) -> &'static str {
        if self == By::Role { "role" } else { "layer" }
    }

    fn title(self) -> &'static str {
        match self {
            By::Role => "Role",
            By::Layer => "Layer",
            By::Holder => "Name or place",
        }
    }

    fn of(self, part: &Part) -> &str {
        let of_layer = part.name.as_deref().and_then(Role::of_layer);
        match (self, of_layer) {
            (By::Role, Some((_, role))) => role.name(),
            (By::Role, None) => "without a layer's name",
            (By::Layer, Some((layer, _))) => layer,
            _ => part.who(),
        }
    }
}

/// Memory of one role or layer.
struct Band<'a> {
    name: &'a str,
    /// Bytes in each column.
    values: Vec<u64>,
}

/// Writes the stacks of each kind of memory that was held. The process is number `place` of `of` on the page.
pub fn stacks(html: &mut Html, process: &Process, place: usize, of: usize) {
    let (columns, width) = process.timeline.in_columns((COLUMNS / of.max(1)).clamp(LEAST, MOST));
    let has_roles =
        process.parts.iter().filter_map(|part| part.name.as_deref()).any(|name| Role::of_layer(name).is_some());
    let ways: &[By] = if has_roles { &[By::Role, By::Layer] } else { &[By::Holder] };
    html.markup("<figcaption><h3>Memory over time</h3><p>What objects held, at the greatest moment in each ")
        .text(Time(width));
    html.markup(".</p></figcaption>");
    if has_roles {
        html.markup("<fieldset class=\"by\"><legend>Divided by</legend>");
        for (by, checked) in [(By::Role, " checked"), (By::Layer, "")] {
            html.markup("<label><input type=\"radio\" name=\"by").text(place).markup("\" value=\"").markup(by.key());
            html.markup("\"").markup(checked).markup(">").text(by.title().to_lowercase()).markup("</label>");
        }
        html.markup("</fieldset>");
    }
    for (kind, key, name) in KINDS {
        let memory = process.summary.account.memory(kind);
        if memory.peak == 0 {
            continue;
        }
        let when = process.timeline.since_begin(memory.peak_time);
        let note = format!("{} at its peak, at {}", Bytes(memory.peak), Time(when));
        for &by in ways {
            html.markup("<div class=\"stack by-").markup(by.key()).markup("\" data-kind=\"").markup(key);
            html.markup("\" data-width=\"").text(width).markup("\"><div><p class=\"head\"><b>").markup(name);
            html.markup("</b> <span>").text(&note).markup("</span></p>");
            let bands = bands(process, kind, by, &columns);
            begin(html, columns.len(), memory.peak, &Bytes(memory.peak).to_string());
            html.markup(name)
                .markup(" memory by ")
                .text(by.title().to_lowercase())
                .markup(", ")
                .text(&note)
                .markup("\">");
            chart(html, &bands, by, columns.len());
            html.markup("</svg></div>");
            axis(html, width.saturating_mul(columns.len() as u64));
            html.markup("</div>");
            let peak = columns.iter().position(|column| column.most[kind as usize] == memory.peak).unwrap_or(0);
            table(html, &bands, by, memory.peak, peak);
            html.markup("</div>");
        }
    }
}

/// The largest bands at the bottom; the last one holds the others.
fn bands<'a>(process: &'a Process, kind: Kind, by: By, columns: &[Column]) -> Vec<Band<'a>> {
    let mut bands: HashMap<&str, Vec<u64>> = HashMap::new();
    for part in &process.parts {
        let values = part.held[kind as usize].in_columns(columns.iter().map(|column| column.samples[kind as usize]));
        let Some(values) = values else { continue };
        match bands.entry(by.of(part)) {
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(values)),
            std::collections::hash_map::Entry::Occupied(mut entry) => add(entry.get_mut(), &values),
        }
    }
    let mut bands: Vec<_> = bands.into_iter().map(|(name, values)| Band { name, values }).collect();
    bands.sort_by_key(|band| (Reverse(band.values.iter().max().copied()), band.name));
    let others = bands.split_off(bands.len().min(BANDS));
    if let Some(mut sum) = others.into_iter().reduce(|mut sum, other| {
        add(&mut sum.values, &other.values);
        sum
    }) {
        sum.name = "all others";
        bands.push(sum);
    }
    bands
}

fn add(sum: &mut [u64], values: &[u64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Each band's outline reaches to the lower edge. The bands below it are drawn over it.
fn chart(html: &mut Html, bands: &[Band], by: By, columns: usize) {
    let mut top = vec![0; columns];
    let mut outlines = Vec::new();
    for band in bands {
        add(&mut top, &band.values);
        outlines.push(outline(top.iter().copied()));
    }
    for (place, (band, outline)) in bands.iter().zip(outlines).enumerate().rev() {
        html.markup("<path class=\"area c").text(colour(by, place, band)).markup("\" d=\"").text(outline);
        html.markup("\"><title>").text(band.name).markup("</title></path>");
    }
}

/// A role has the same colour in each chart.
fn colour(by: By, place: usize, band: &Band) -> usize {
    match Role::ALL.iter().position(|role| by == By::Role && role.name() == band.name) {
        Some(role) => role,
        None if by == By::Role => BANDS,
        None => place,
    }
}

/// What each band held at the peak.
fn table(html: &mut Html, bands: &[Band], by: By, peak: u64, column: usize) {
    html.markup(
        "<div class=\"held\"><p class=\"when\" role=\"status\">At the peak</p><table><thead><tr><th scope=\"col\">",
    );
    html.markup(by.title()).markup(
        "</th><th scope=\"col\" class=\"n\">Bytes</th><th scope=\"col\" class=\"n\">Share</th></tr></thead><tbody>",
    );
    for (place, band) in bands.iter().enumerate() {
        html.markup("<tr><th scope=\"row\" class=\"who\"><i class=\"c").text(colour(by, place, band)).markup("\"></i>");
        let bytes = band.values[column];
        html.place(band.name).markup("</th>").number(bytes, Bytes(bytes));
        html.number(bytes, Share { part: bytes, of: peak }).markup("</tr>");
    }
    html.markup("</tbody></table></div>");
}
