//! The tables: processes, work, holders and callers.

use std::collections::HashSet;

use super::html::Html;
use super::{bytes, peaks, title};
use crate::report::facts::Process;
use crate::report::layers::{Layers, Role};
use crate::report::rows::{Caller, HolderRow};
use crate::report::sentences::{Count, Rate, made_unseen_line};
use syncedmem_core::head::Side;
use syncedmem_core::text::{Duration, Size};

/// Number of rows of all tables on a page. One more row in each table sums up the others.
const HOLDERS: usize = 1000;
const CALLERS: usize = 250;
/// Number of rows of one table at least.
const LEAST: usize = 20;

#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Count,
    Time,
}

type Row<'p> = (&'p str, Vec<u64>);

/// Begins a folded table. See [`Html::heads`].
fn begin(html: &mut Html, name: &'static str, columns: &[&'static str]) {
    html.markup("<details class=\"table\"><summary><h3>").markup(name).markup("</h3></summary>");
    sortable(html, name, columns);
}

pub fn sortable(html: &mut Html, name: &'static str, columns: &[&'static str]) {
    html.markup("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"").markup(name);
    html.markup("\"><table class=\"sortable\">").heads(columns);
}

fn end(html: &mut Html) {
    html.markup("</tbody></table></div></details>");
}

pub fn processes(html: &mut Html, processes: &[Process], shown: &HashSet<usize>) {
    html.markup("<details class=\"table\" open><summary><h2>Processes</h2></summary>");
    sortable(
        html,
        "Processes",
        &["Process", "#Number", "#Events", "#Pageable, peak", "#Pinned, peak", "#Device, peak", "#Copied", "#Advice"],
    );
    for (place, process) in processes.iter().enumerate() {
        html.markup("<tr><th scope=\"row\" class=\"who\">");
        if shown.contains(&place) {
            html.markup("<a href=\"#p").text(place).markup("\">").place(title(process)).markup("</a></th>");
        } else {
            html.place(title(process)).markup("</th>");
        }
        html.number(process.id.into(), process.id).number(process.events, Count(process.events));
        peaks(process).into_iter().for_each(|peak| bytes(html, peak));
        bytes(html, process.account.copies_to(Side::Host).plus(process.account.copies_to(Side::Device)).bytes);
        html.number(process.in_place.len() as u64, process.in_place.len()).markup("</tr>");
    }
    end(html);
}

/// Writes the account: memory, and all work.
pub fn account(html: &mut Html, process: &Process) {
    html.markup("<details class=\"table\" open><summary><h3>Work</h3></summary>");
    let mut memory = String::new();
    // Writing to a string cannot fail.
    let _ = process.account.write_memory(&mut memory);
    for line in memory.lines().map(str::to_string).chain(made_unseen_line(process)) {
        html.markup("<p>").text(line).markup("</p>");
    }
    sortable(html, "Work", &["What, summed over threads", "#Count", "#Bytes", "#Time", "#Rate"]);
    for (work, sum) in process.account.work() {
        html.markup("<tr><th scope=\"row\">").text(work).markup("</th>");
        html.fact(format_args!("{work}.count"), sum.count, Count(sum.count));
        html.fact(format_args!("{work}.bytes"), sum.bytes, Size(sum.bytes));
        html.fact(format_args!("{work}.time"), sum.nanoseconds, Duration(sum.nanoseconds));
        let rate = Rate::of(sum);
        html.number(rate.each_second(), rate).markup("</tr>");
    }
    end(html);
}

/// Writes a table without the columns that are zero in every row. With layers, each row has attributes for the groups that it
/// belongs to.
fn table(
    html: &mut Html,
    [name, who]: [&'static str; 2],
    columns: &[(&'static str, Unit)],
    rows: &[Row],
    most: usize,
    layers: Option<&Layers>,
) {
    let has_any = |&column: &usize| rows.iter().any(|(_, numbers)| numbers[column] > 0);
    let shown: Vec<usize> = (0..columns.len()).filter(has_any).collect();
    if shown.is_empty() {
        return;
    }
    let heads: Vec<_> = std::iter::once(who).chain(shown.iter().map(|&column| columns[column].0)).collect();
    begin(html, name, &heads);
    let write = |html: &mut Html, who: &str, numbers: &[u64]| {
        html.markup("<tr");
        if let Some(layers) = layers {
            groups(html, who, layers);
        }
        html.markup(">").who(who);
        for (number, (_, unit)) in shown.iter().map(|&column| (numbers[column], columns[column])) {
            match unit {
                Unit::Bytes => html.number(number, Size(number)),
                Unit::Count => html.number(number, Count(number)),
                Unit::Time => html.number(number, Duration(number)),
            };
        }
        html.markup("</tr>");
    };
    let (first, others) = rows.split_at(rows.len().min(most.max(LEAST)));
    first.iter().for_each(|(who, numbers)| write(html, who, numbers));
    if !others.is_empty() {
        let sum = |column| others.iter().fold(0u64, |sum, (_, numbers)| sum.saturating_add(numbers[column]));
        write(html, &format!("{} others", others.len()), &(0..columns.len()).map(sum).collect::<Vec<_>>());
    }
    end(html);
}

fn groups(html: &mut Html, who: &str, layers: &Layers) {
    let Some((layer, role)) = Role::of_layer(who) else { return };
    html.markup(" data-layer=\"").text(layer).markup("\" data-role=\"").text(role.name()).markup("\"");
    if let Some(kind) = layers.kind(layer) {
        html.markup(" data-type=\"").text(kind).markup("\"");
    }
}

/// Writes the holders of one process of `of`.
pub fn holders(html: &mut Html, process: &Process, of: usize) {
    let columns = [
        ("#Pageable at its peak", Unit::Bytes),
        ("#Blocks", Unit::Count),
        ("#Pinned at its peak", Unit::Bytes),
        ("#Blocks", Unit::Count),
        ("#Device at its peak", Unit::Bytes),
        ("#Blocks", Unit::Count),
        ("#Pageable at the end", Unit::Bytes),
        ("#Pinned at the end", Unit::Bytes),
        ("#Device at the end", Unit::Bytes),
    ];
    let rows = process.holders.iter().map(|HolderRow { who, live, at_peak, blocks_at_peak, .. }| {
        let at_peak = at_peak.iter().zip(blocks_at_peak).flat_map(|(&bytes, &blocks)| [bytes, blocks]);
        (who.as_str(), at_peak.chain(*live).collect())
    });
    let rows: Vec<Row> = rows.collect();
    let names = ["Holders", "Name, or place that made it"];
    table(html, names, &columns, &rows, HOLDERS / of.max(1), Some(&process.layers));
}

/// Writes the callers of one process of `of`.
pub fn callers(html: &mut Html, process: &Process, of: usize) {
    let columns = [
        ("#Time in all", Unit::Time),
        ("#Copies to the host", Unit::Count),
        ("#Bytes", Unit::Bytes),
        ("#Time", Unit::Time),
        ("#Copies to the device", Unit::Count),
        ("#Bytes", Unit::Bytes),
        ("#Time", Unit::Time),
        ("#Fills", Unit::Count),
        ("#Bytes", Unit::Bytes),
        ("#Time", Unit::Time),
        ("#Fresh blocks", Unit::Count),
        ("#Bytes", Unit::Bytes),
        ("#Time", Unit::Time),
        ("#Waits", Unit::Time),
        ("#Objects made", Unit::Count),
    ];
    let rows = process.callers.iter().map(|caller| {
        let Caller { who, made, copies: [to_host, to_device], fills, fresh, waits } = caller;
        let mut numbers = vec![caller.nanoseconds()];
        numbers
            .extend([to_host, to_device, fills, fresh].iter().flat_map(|sum| [sum.count, sum.bytes, sum.nanoseconds]));
        numbers.extend([waits.nanoseconds, *made]);
        (who.as_str(), numbers)
    });
    let rows: Vec<Row> = rows.collect();
    table(html, ["Callers", "Place in the program"], &columns, &rows, CALLERS / of.max(1), None);
}
