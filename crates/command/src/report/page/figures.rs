//! Memory and copies over time.

use super::chart::{Strip, axis, stretches};
use super::html::Html;
use super::{KINDS, SIDES, bytes};
use crate::report::amount::{Bytes, Rate, Time};
use crate::report::facts::Process;
use crate::report::timeline::Column;
use syncedmem_trace::head::Side;

/// Rows of the table below a figure.
const ROWS: usize = 24;

/// Writes both figures of a process. `of` is the number of processes on the page: more of them get fewer columns each.
pub fn write(html: &mut Html, process: &Process, of: usize) {
    let (columns, width) = process.timeline.in_columns((8192 / of.max(1)).clamp(64, 1024));
    if columns.is_empty() {
        return;
    }
    let shown = Shown { columns: &columns, width, hints: (512 / of.max(1)).clamp(8, 64) };
    shown.memory(html, process);
    shown.copies(html);
}

struct Shown<'a> {
    columns: &'a [Column],
    /// Width of a column in nanoseconds.
    width: u64,
    hints: usize,
}

impl Shown<'_> {
    fn memory(&self, html: &mut Html, process: &Process) {
        html.markup("<figure><figcaption><h3>Memory over time</h3><p>What objects held. Each scale is its own.");
        html.markup(
            " The lighter part was held at times within a column, the darker part all the time.</p></figcaption>",
        );
        let mut none = Vec::new();
        for (kind, key, name) in KINDS {
            let memory = process.summary.account.memory(kind);
            if memory.peak == 0 {
                none.push(name.to_lowercase());
                continue;
            }
            let when = process.timeline.since_begin(memory.peak_time);
            let values: Vec<_> = self.columns.iter().map(|c| (c.least[kind as usize], c.most[kind as usize])).collect();
            let strip = Strip {
                title: name,
                class: key,
                note: &format!("peak {} at {}", Bytes(memory.peak), Time(when)),
                values: &values,
                top: memory.peak,
                top_shown: &Bytes(memory.peak).to_string(),
                mark: Some((u128::from(when) * 1000 / u128::from(self.covered())) as u64),
            };
            strip.write(html, self.hints, |first, last| {
                let least = values[first..last].iter().map(|value| value.0).min().unwrap_or(0);
                let most = values[first..last].iter().map(|value| value.1).max().unwrap_or(0);
                format!("{}: {}", self.times(first, last), from_to(least, most))
            });
        }
        axis(html, self.covered());
        if !none.is_empty() {
            html.markup("<p class=\"none\">No ").text(none.join(" and no ")).markup(" memory was held.</p>");
        }
        self.memory_table(html);
        html.markup("</figure>");
    }

    fn memory_table(&self, html: &mut Html) {
        html.markup("<details><summary>Memory over time as a table</summary><div class=\"scroll\"><table><thead><tr>");
        html.markup("<th scope=\"col\">From</th>");
        html.markup("<th scope=\"col\" class=\"n\">Pageable, least</th><th scope=\"col\" class=\"n\">most</th>");
        html.markup("<th scope=\"col\" class=\"n\">Pinned, least</th><th scope=\"col\" class=\"n\">most</th>");
        html.markup("<th scope=\"col\" class=\"n\">Device, least</th><th scope=\"col\" class=\"n\">most</th></tr></thead><tbody>");
        for (first, last) in stretches(self.columns.len(), ROWS) {
            self.from(html, first);
            for (kind, ..) in KINDS {
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
            let values: Vec<_> = self.columns.iter().map(|column| (column.copied[to], column.copied[to])).collect();
            let all: u64 = values.iter().map(|value| value.0).sum();
            let strip = Strip {
                title: name,
                class: if to == 1 { "to-device" } else { "to-host" },
                note: &format!("{} in all", Bytes(all)),
                values: &values,
                top,
                top_shown: &Rate { bytes: top, nanoseconds: self.width }.to_string(),
                mark: None,
            };
            strip.write(html, self.hints, |first, last| {
                let bytes = values[first..last].iter().map(|value| value.0).sum();
                format!("{}: {}", self.times(first, last), Bytes(bytes))
            });
        }
        axis(html, self.covered());
        self.copies_table(html);
        html.markup("</figure>");
    }

    fn copies_table(&self, html: &mut Html) {
        html.markup("<details><summary>Copies over time as a table</summary><div class=\"scroll\"><table><thead><tr>");
        html.markup("<th scope=\"col\">From</th><th scope=\"col\" class=\"n\">To the host</th>");
        html.markup("<th scope=\"col\" class=\"n\">To the device</th></tr></thead><tbody>");
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

    /// Nanoseconds that the charts show. The last column may end a little after the last event.
    fn covered(&self) -> u64 {
        (self.columns.len() as u64).saturating_mul(self.width).max(1)
    }
}

fn from_to(least: u64, most: u64) -> String {
    if least == most { Bytes(most).to_string() } else { format!("{} to {}", Bytes(least), Bytes(most)) }
}
