//! Memory and copies over time.

use super::arena::arena;
use super::chart::{Scale, axis, begin, end, stretches};
use super::html::Html;
use super::passes::passes;
use super::stacks::{Band, chart, columns, stacks};
use super::{KINDS, bytes, peaks};
use crate::report::facts::Process;
use crate::report::held::Column;
use syncedmem_core::text::{Duration, Size};

const ROWS: usize = 24;

/// Of the process number `place` of `of`: more of them get fewer columns each.
pub fn write(html: &mut Html, process: &Process, place: usize, of: usize) {
    let (columns, width) = columns(process, of);
    if columns.is_empty() {
        return;
    }
    if peaks(process) == [0; 3] {
        html.markup("<p class=\"none\">No object held memory.</p>");
    } else {
        html.markup("<figure class=\"stacks\">");
        stacks(html, process, place, &columns, width);
        memory_table(html, &columns, width);
        html.markup("</figure>");
    }
    arena(html, process);
    passes(html, process, &columns, width);
    copies(html, &columns, width);
}

fn memory_table(html: &mut Html, columns: &[Column], width: u64) {
    const HEADS: [[&str; 2]; 3] =
        [["#Pageable, least", "#most"], ["#Pinned, least", "#most"], ["#Device, least", "#most"]];
    let is_held = |kind: usize| columns.iter().any(|column| column.most[kind] > 0);
    let kinds: Vec<_> = KINDS.map(|(kind, ..)| kind as usize).into_iter().filter(|&kind| is_held(kind)).collect();
    let heads: Vec<_> = kinds.iter().flat_map(|&kind| HEADS[kind]).collect();
    table(html, "Memory over time", &heads, columns, width, |part| {
        let least = |kind: usize| part.iter().map(|column| column.least[kind]).min().unwrap_or(0);
        let most = |kind: usize| part.iter().map(|column| column.most[kind]).max().unwrap_or(0);
        kinds.iter().flat_map(|&kind| [least(kind), most(kind)]).collect()
    });
}

fn copies(html: &mut Html, columns: &[Column], width: u64) {
    let top = columns.iter().map(|column| column.copied[0].saturating_add(column.copied[1])).max().unwrap_or(0);
    if top == 0 {
        html.markup("<p class=\"none\">Nothing was copied between host and device.</p>");
        return;
    }
    html.markup("<figure class=\"copies\"><figcaption><h3>Copies over time</h3><p>Bytes copied in each ")
        .text(Duration(width));
    html.markup(", as a rate.</p></figcaption><div class=\"stack\"><div>");
    let band = |(to, name, colour)| {
        let values = columns.iter().map(|column| column.copied[to]).collect();
        Band { name, colour: Some(colour), values }
    };
    let bands = [(0, "to the host", 4), (1, "to the device", 3)].map(band);
    begin(html, columns.len(), top, Scale::Rate(width));
    html.markup("Copies over time\">");
    chart(html, &bands, columns.len());
    end(html);
    axis(html, width.saturating_mul(columns.len() as u64));
    html.markup("</div><div class=\"held\"><table>").heads(&["Copied", "#Bytes"]);
    for Band { name, colour, values } in &bands {
        let all = values.iter().sum();
        html.band(colour.unwrap_or(0), name).number(all, Size(all)).markup("</tr>");
    }
    html.markup("</tbody></table></div></div>");
    table(html, "Copies over time", &["#To the host", "#To the device"], columns, width, |part| {
        [0, 1].map(|to| part.iter().map(|column| column.copied[to]).sum()).into()
    });
    html.markup("</figure>");
}

/// Folded. `cells`: those of a row, which is a part of the columns.
fn table(
    html: &mut Html,
    name: &'static str,
    heads: &[&'static str],
    columns: &[Column],
    width: u64,
    cells: impl Fn(&[Column]) -> Vec<u64>,
) {
    html.markup("<details><summary>").markup(name).markup(" as a table</summary><div class=\"scroll\"><table>");
    html.heads(&[&["From"], heads].concat());
    for (first, last) in stretches(columns.len(), ROWS) {
        html.markup("<tr><th scope=\"row\">").text(Duration(first as u64 * width)).markup("</th>");
        cells(&columns[first..last]).into_iter().for_each(|amount| bytes(html, amount));
        html.markup("</tr>");
    }
    html.markup("</tbody></table></div></details>");
}
