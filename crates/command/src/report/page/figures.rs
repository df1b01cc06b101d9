//! Memory and copies over time.

use super::arena::arena;
use super::chart::{Strip, axis, stretches};
use super::html::Html;
use super::passes::passes;
use super::stacks::stacks;
use super::{KINDS, SIDES, bytes, peaks};
use crate::report::amount::{Bytes, Time};
use crate::report::facts::Process;
use crate::report::held::Column;
use syncedmem_trace::head::Side;

const ROWS: usize = 24;

/// Of the process number `place` of `of`: more of them get fewer columns each.
pub fn write(html: &mut Html, process: &Process, place: usize, of: usize) {
    let (columns, width) = process.timeline.in_columns((8192 / of.max(1)).clamp(64, 1024));
    if columns.is_empty() {
        return;
    }
    let shown = ChartColumns { columns: &columns, width, hints: (512 / of.max(1)).clamp(8, 64) };
    if peaks(process) == [0; 3] {
        html.markup("<p class=\"none\">No object held memory.</p>");
    } else {
        html.markup("<figure class=\"stacks\">");
        stacks(html, process, place, of);
        shown.memory_table(html);
        html.markup("</figure>");
    }
    arena(html, process);
    passes(html, process, of);
    shown.copies(html);
}

struct ChartColumns<'a> {
    columns: &'a [Column],
    /// Nanoseconds.
    width: u64,
    hints: usize,
}

impl ChartColumns<'_> {
    fn memory_table(&self, html: &mut Html) {
        let held = |kind: usize| self.columns.iter().any(|column| column.most[kind] > 0);
        html.markup("<details><summary>Memory over time as a table</summary><div class=\"scroll\"><table><thead><tr>");
        html.markup("<th scope=\"col\">From</th>");
        let kinds = || KINDS.into_iter().filter(|&(kind, ..)| held(kind as usize));
        for (.., name) in kinds() {
            html.markup("<th scope=\"col\" class=\"n\">").markup(name).markup(", least</th>");
            html.markup("<th scope=\"col\" class=\"n\">most</th>");
        }
        html.markup("</tr></thead><tbody>");
        for (first, last) in stretches(self.columns.len(), ROWS) {
            self.from(html, first);
            for (kind, ..) in kinds() {
                let stretch = &self.columns[first..last];
                bytes(html, stretch.iter().map(|c| c.least[kind as usize]).min().unwrap_or(0));
                bytes(html, stretch.iter().map(|c| c.most[kind as usize]).max().unwrap_or(0));
            }
            html.markup("</tr>");
        }
        html.markup("</tbody></table></div></details>");
    }

    fn copies(&self, html: &mut Html) {
        let top = self.columns.iter().flat_map(|column| column.copied).max().unwrap_or(0);
        if top == 0 {
            html.markup("<p class=\"none\">Nothing was copied between host and device.</p>");
            return;
        }
        html.markup("<figure><figcaption><h3>Copies over time</h3><p>Bytes copied in each ").text(Time(self.width));
        html.markup(", as a rate; both directions have the same scale.</p></figcaption>");
        for (side, _, name) in SIDES.into_iter().rev() {
            let to = usize::from(side == Side::Device);
            let values: Vec<_> = self.columns.iter().map(|column| column.copied[to]).collect();
            let all: u64 = values.iter().sum();
            let strip = Strip {
                title: name,
                class: if to == 1 { "to-device" } else { "to-host" },
                note: &format!("{} in all", Bytes(all)),
                values: &values,
                top,
                width: self.width,
            };
            strip.write(html, self.hints, |first, last| {
                let bytes: u64 = values[first..last].iter().sum();
                format!("{}: {}", self.times(first, last), Bytes(bytes))
            });
        }
        axis(html, self.covered());
        self.copies_table(html);
        html.markup("</figure>");
    }

    fn copies_table(&self, html: &mut Html) {
        html.markup("<details><summary>Copies over time as a table</summary><div class=\"scroll\"><table>");
        html.heads(&["From", "#To the host", "#To the device"]);
        for (first, last) in stretches(self.columns.len(), ROWS) {
            self.from(html, first);
            for to in 0..2 {
                bytes(html, self.columns[first..last].iter().map(|column| column.copied[to]).sum());
            }
            html.markup("</tr>");
        }
        html.markup("</tbody></table></div></details>");
    }

    fn from(&self, html: &mut Html, column: usize) {
        html.markup("<tr><th scope=\"row\">").text(Time(column as u64 * self.width)).markup("</th>");
    }

    fn times(&self, first: usize, last: usize) -> String {
        format!("{} to {}", Time(first as u64 * self.width), Time(last as u64 * self.width))
    }

    /// Nanoseconds. The last column may end a little after the last event.
    fn covered(&self) -> u64 {
        (self.columns.len() as u64).saturating_mul(self.width).max(1)
    }
}
