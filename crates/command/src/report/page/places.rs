//! Tables of holders and of callers.

use super::html::Html;
use super::tables::{begin, end};
use crate::report::amount::Count;
use crate::report::facts::Process;
use crate::report::layers::Layers;
use crate::report::rows::{Caller, HolderRow};
use syncedmem_analysis::role::Role;
use syncedmem_trace::text::{Duration, Size};

/// Of all tables on a page; one more row sums up the others.
const HOLDERS: usize = 1000;
const CALLERS: usize = 250;
/// Of one table.
const LEAST: usize = 20;

struct TableColumn<R> {
    head: &'static str,
    unit: Unit,
    of: fn(&R) -> u64,
}

enum Unit {
    Bytes,
    Count,
    Time,
}

trait Row: Sized {
    fn who(&self) -> &str;
    /// The groups that it belongs to, as attributes.
    fn groups(&self, layers: &Layers, html: &mut Html);
    fn sum(rows: &[Self]) -> Self;
}

const fn bytes<R>(head: &'static str, of: fn(&R) -> u64) -> TableColumn<R> {
    TableColumn { head, unit: Unit::Bytes, of }
}

const fn count<R>(head: &'static str, of: fn(&R) -> u64) -> TableColumn<R> {
    TableColumn { head, unit: Unit::Count, of }
}

const fn time<R>(head: &'static str, of: fn(&R) -> u64) -> TableColumn<R> {
    TableColumn { head, unit: Unit::Time, of }
}

/// Without columns that are zero in every row.
fn table<R: Row>(
    html: &mut Html,
    names: [&'static str; 2],
    columns: &[TableColumn<R>],
    rows: &[R],
    most: usize,
    layers: &Layers,
) {
    let columns: Vec<_> = columns.iter().filter(|column| rows.iter().any(|row| (column.of)(row) > 0)).collect();
    if columns.is_empty() {
        return;
    }
    let [name, who] = names;
    let heads: Vec<_> = std::iter::once(who).chain(columns.iter().map(|column| column.head)).collect();
    begin(html, name, &heads);
    let write = |html: &mut Html, row: &R| {
        html.markup("<tr");
        row.groups(layers, html);
        html.markup(">").who(row.who());
        for column in &columns {
            let number = (column.of)(row);
            match column.unit {
                Unit::Bytes => html.number(number, Size(number)),
                Unit::Count => html.number(number, Count(number)),
                Unit::Time => html.number(number, Duration(number)),
            };
        }
        html.markup("</tr>");
    };
    let (shown, others) = rows.split_at(rows.len().min(most.max(LEAST)));
    shown.iter().for_each(|row| write(html, row));
    if !others.is_empty() {
        write(html, &R::sum(others));
    }
    end(html);
}

/// Of one process of `of`.
pub fn holders(html: &mut Html, process: &Process, of: usize) {
    let columns: [TableColumn<HolderRow>; 9] = [
        bytes("#Pageable at its peak", |holder| holder.at_peak[0]),
        count("#Blocks", |holder| holder.blocks_at_peak[0]),
        bytes("#Pinned at its peak", |holder| holder.at_peak[1]),
        count("#Blocks", |holder| holder.blocks_at_peak[1]),
        bytes("#Device at its peak", |holder| holder.at_peak[2]),
        count("#Blocks", |holder| holder.blocks_at_peak[2]),
        bytes("#Pageable at the end", |holder| holder.live[0]),
        bytes("#Pinned at the end", |holder| holder.live[1]),
        bytes("#Device at the end", |holder| holder.live[2]),
    ];
    let names = ["Holders", "Name, or place that made it"];
    table(html, names, &columns, &process.holders, HOLDERS / of.max(1), &process.layers);
}

/// Of one process of `of`.
pub fn callers(html: &mut Html, process: &Process, of: usize) {
    let columns: [TableColumn<Caller>; 15] = [
        time("#Time in all", Caller::nanoseconds),
        count("#Copies to the host", |caller| caller.copies[0].count),
        bytes("#Bytes", |caller| caller.copies[0].bytes),
        time("#Time", |caller| caller.copies[0].nanoseconds),
        count("#Copies to the device", |caller| caller.copies[1].count),
        bytes("#Bytes", |caller| caller.copies[1].bytes),
        time("#Time", |caller| caller.copies[1].nanoseconds),
        count("#Fills", |caller| caller.fills.count),
        bytes("#Bytes", |caller| caller.fills.bytes),
        time("#Time", |caller| caller.fills.nanoseconds),
        count("#Fresh blocks", |caller| caller.fresh.count),
        bytes("#Bytes", |caller| caller.fresh.bytes),
        time("#Time", |caller| caller.fresh.nanoseconds),
        time("#Waits", |caller| caller.waits.nanoseconds),
        count("#Objects made", |caller| caller.made),
    ];
    let names = ["Callers", "Place in the program"];
    table(html, names, &columns, &process.callers, CALLERS / of.max(1), &process.layers);
}

fn others(rows: usize) -> String {
    format!("{rows} others")
}

impl Row for HolderRow {
    fn who(&self) -> &str {
        &self.who
    }

    fn groups(&self, layers: &Layers, html: &mut Html) {
        if let Some((layer, role)) = Role::of_layer(&self.who) {
            html.markup(" data-layer=\"").text(layer).markup("\" data-role=\"").text(role.name()).markup("\"");
            if let Some(kind) = layers.kind(layer) {
                html.markup(" data-type=\"").text(kind).markup("\"");
            }
        }
    }

    fn sum(rows: &[HolderRow]) -> HolderRow {
        let mut sum = HolderRow { who: others(rows.len()), ..HolderRow::default() };
        rows.iter().for_each(|row| sum.join(row));
        sum
    }
}

impl Row for Caller {
    fn who(&self) -> &str {
        &self.who
    }

    fn groups(&self, _: &Layers, _: &mut Html) {}

    fn sum(rows: &[Caller]) -> Caller {
        let mut sum = Caller { who: others(rows.len()), ..Caller::default() };
        rows.iter().for_each(|row| sum.join(row));
        sum
    }
}
