//! Figures over time: memory, shared memory by layer, passes through nets, and copies.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::chart::{Band, Scale, axis, begin, chart, columns, end, held_table, largest, stacks, stretches};
use super::html::Html;
use super::{KINDS, bytes, peaks};
use crate::report::arena::Step;
use crate::report::facts::Process;
use crate::report::sentences::{Count, waited_line};
use crate::report::timeline::Column;
use syncedmem_core::text::{Duration, Size};
use syncedmem_core::waited::Waited;
use syncedmem_trace::event::PassKind;

/// Number of rows of a table about time.
const ROWS: usize = 24;

/// Writes the figures of process number `place` of `of`. With more processes each gets fewer columns.
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
    waited(html, process);
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

/// Writes a folded table. `cells` returns the cells of a row, which is a part of the columns.
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

/// Number of steps that have a column.
const STEPS: usize = 2048;
/// Number of holders in a hover text and in a row.
const NAMED: usize = 3;

/// What shared memory was used for while each layer was executed.
fn arena(html: &mut Html, process: &Process) {
    let steps = &process.arena[..process.arena.len().min(STEPS)];
    for (kind, key, name) in KINDS {
        let fullest = steps.iter().enumerate().max_by_key(|(place, step)| (step.bytes(kind), Reverse(*place)));
        let Some((place, fullest)) = fullest.filter(|(_, step)| step.bytes(kind) > 0) else { continue };
        let peak = fullest.bytes(kind);
        html.markup("<figure class=\"arena\"><figcaption><h3>Shared memory by layer</h3><p>").markup(name);
        html.markup(" memory of the arena that was in use while each layer was executed, in the order of a pass: at most <span data-fact=\"arena.");
        html.markup(key).markup("\" data-v=\"").text(peak).markup("\">").text(Size(peak)).markup("</span>, in ");
        html.text(format_args!("{}, {}", fullest.layer, fullest.pass));
        html.markup(". A block whose contents are no longer needed serves later layers.</p></figcaption>");
        html.markup("<div class=\"stack\"><div>");
        let mut bands: HashMap<&str, Band> = HashMap::new();
        for (place, step) in steps.iter().enumerate() {
            for (who, bytes) in &step.in_use[kind as usize] {
                bands.entry(who).or_insert_with(|| Band::new(who, None, steps.len())).values[place] = *bytes;
            }
        }
        let bands = largest(bands);
        begin(html, steps.len(), peak, Scale::Bytes);
        html.markup(name).markup(" memory in use by layer\">");
        chart(html, &bands, steps.len());
        for (place, step) in steps.iter().enumerate() {
            html.markup("<rect class=\"hint\" x=\"").text(place).markup("\" width=\"1\" height=\"").text(peak);
            html.markup("\"><title>").text(format_args!("{}, {}: {}", step.layer, step.pass, Size(step.bytes(kind))));
            step.in_use[kind as usize].iter().take(NAMED).for_each(|(who, bytes)| {
                html.text(format_args!("\n{who}: {}", Size(*bytes)));
            });
            html.markup("</title></rect>");
        }
        end(html);
        pass_axis(html, steps);
        html.markup("</div>");
        held_table(html, &bands, "Name or place", peak, place);
        html.markup("</div><details><summary>Shared memory by layer as a table</summary><div class=\"scroll\"><table>");
        html.heads(&["Layer", "Pass", "#In use", "By, the largest first"]);
        for step in steps {
            html.markup("<tr><th scope=\"row\" class=\"who\">").text(&step.layer).markup("</th><td>").markup(step.pass);
            html.markup("</td>").number(step.bytes(kind), Size(step.bytes(kind))).markup("<td>");
            let in_use = &step.in_use[kind as usize];
            let named: Vec<_> =
                in_use.iter().take(NAMED).map(|(who, bytes)| format!("{who} {}", Size(*bytes))).collect();
            html.text(named.join(", ")).markup(if in_use.len() > NAMED { ", …" } else { "" }).markup("</td></tr>");
        }
        html.markup("</tbody></table></div></details></figure>");
    }
}

/// Writes what waited, and as what.
fn waited(html: &mut Html, process: &Process) {
    let Some(line) = waited_line(process) else { return };
    html.markup("<figure class=\"waited\"><figcaption><h3>Contents that waited</h3><p>").text(line);
    html.markup(
        ". From their last use in a forward pass to their first use in the backward pass these contents had no block.",
    );
    html.markup("</p></figcaption><div class=\"scroll\"><table>").heads(&[
        "Kept as",
        "#Contents",
        "#Bytes",
        "#Kept in",
    ]);
    let Waited(ways) = process.layers.sharing.waited;
    for ([_, name], [number, whole, taken]) in
        Waited::WAYS.into_iter().zip(ways).filter(|(_, [number, ..])| *number > 0)
    {
        html.markup("<tr><th scope=\"row\">").markup(name).markup("</th>");
        html.fact(format_args!("waited.{name}.count"), number, Count(number));
        html.fact(format_args!("waited.{name}.bytes"), whole, Size(whole));
        html.fact(format_args!("waited.{name}.kept"), taken, Size(taken)).markup("</tr>");
    }
    html.markup("</tbody></table></div></figure>");
}

/// Writes an axis that shows where each pass begins.
fn pass_axis(html: &mut Html, steps: &[Step]) {
    html.markup("<div class=\"axis\" aria-hidden=\"true\">");
    let mut before = None;
    for (place, step) in steps.iter().enumerate() {
        let percent = place as f64 / steps.len() as f64 * 100.0;
        // A label needs a tenth of the axis.
        if before.is_none_or(|(pass, at)| pass != step.pass && percent > at + 10.0 && percent < 90.0) {
            html.markup("<span style=\"left:").text(format_args!("{percent:.2}")).markup("%\">").markup(step.pass);
            html.markup("</span>");
            before = Some((step.pass, percent));
        }
    }
    html.markup("</div>");
}

/// In the order of [`PassKind::ALL`].
const COLOURS: [usize; 4] = [1, 4, 6, 5];

/// Writes how much of each column passes through nets took.
fn passes(html: &mut Html, process: &Process, columns: &[Column], width: u64) {
    let kinds: Vec<_> = PassKind::ALL.into_iter().filter(|&kind| process.timeline.passes(kind).count > 0).collect();
    if kinds.is_empty() {
        return;
    }
    let band = |&kind: &PassKind| {
        let values = columns.iter().map(|column| column.passes[kind as usize]).collect();
        Band { name: kind.name(), colour: Some(COLOURS[kind as usize]), values }
    };
    let bands: Vec<_> = kinds.iter().map(band).collect();
    let all = columns.iter().map(|column| column.passes.into_iter().fold(0, u64::saturating_add));
    html.markup("<figure class=\"passes\"><figcaption><h3>Passes through nets</h3><p>Time in them, in each ")
        .text(Duration(width));
    html.markup("; of several threads, their sum.</p></figcaption><div class=\"stack\"><div>");
    begin(html, columns.len(), all.max().unwrap_or(0).max(width), Scale::Time);
    html.markup("Passes through nets\">");
    chart(html, &bands, columns.len());
    end(html);
    axis(html, width.saturating_mul(columns.len() as u64));
    html.markup("</div><div class=\"held\"><table>").heads(&["Pass", "#Count", "#Time", "#Each"]);
    for kind in kinds {
        let (sum, name) = (process.timeline.passes(kind), kind.name());
        html.band(COLOURS[kind as usize], name);
        html.fact(format_args!("passes.{name}.count"), sum.count, Count(sum.count));
        html.fact(format_args!("passes.{name}.time"), sum.nanoseconds, Duration(sum.nanoseconds));
        let each = sum.nanoseconds / sum.count;
        html.number(each, Duration(each)).markup("</tr>");
    }
    html.markup("</tbody></table></div></div></figure>");
}
