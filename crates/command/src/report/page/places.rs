//! Tables of holders and of callers.

use super::html::Html;
use super::tables::{begin, end};
use crate::report::amount::{Bytes, Count, Time};
use crate::report::facts::{Caller, Holder, Process};

/// One more row sums up the others.
const SHOWN: usize = 60;

struct Column<R> {
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
    fn sum(rows: &[Self]) -> Self;
}

const fn bytes<R>(head: &'static str, of: fn(&R) -> u64) -> Column<R> {
    Column { head, unit: Unit::Bytes, of }
}

const fn count<R>(head: &'static str, of: fn(&R) -> u64) -> Column<R> {
    Column { head, unit: Unit::Count, of }
}

const fn time<R>(head: &'static str, of: fn(&R) -> u64) -> Column<R> {
    Column { head, unit: Unit::Time, of }
}

/// Without columns that are zero in every row.
fn table<R: Row>(html: &mut Html, name: &'static str, who: &'static str, columns: &[Column<R>], rows: &[R]) {
    let columns: Vec<_> = columns.iter().filter(|column| rows.iter().any(|row| (column.of)(row) > 0)).collect();
    if columns.is_empty() {
        return;
    }
    let heads: Vec<_> = std::iter::once(who).chain(columns.iter().map(|column| column.head)).collect();
    begin(html, name, &heads);
    let write = |html: &mut Html, row: &R| {
        html.markup("<tr>").who(row.who());
        for column in &columns {
            let number = (column.of)(row);
            match column.unit {
                Unit::Bytes => html.number(number, Bytes(number)),
                Unit::Count => html.number(number, Count(number)),
                Unit::Time => html.number(number, Time(number)),
            };
        }
        html.markup("</tr>");
    };
    rows.iter().take(SHOWN).for_each(|row| write(html, row));
    let others = rows.get(SHOWN..).unwrap_or_default();
    if !others.is_empty() {
        write(html, &R::sum(others));
    }
    end(html);
}

pub fn holders(html: &mut Html, process: &Process) {
    let columns: [Column<Holder>; 9] = [
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
    table(html, "Holders", "Name, or place that made it", &columns, &process.holders);
}

pub fn callers(html: &mut Html, process: &Process) {
    let columns: [Column<Caller>; 15] = [
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
    table(html, "Callers", "Place in the program", &columns, &process.callers);
    html.markup(
        "<p class=\"none\">Events that are too short to look up their call site count for the place that made the object.</p>",
    );
}

fn others(rows: usize) -> String {
    format!("{rows} others")
}

impl Row for Holder {
    fn who(&self) -> &str {
        &self.who
    }

    fn sum(rows: &[Holder]) -> Holder {
        let mut sum = Holder { who: others(rows.len()), ..Holder::default() };
        rows.iter().for_each(|row| sum.join(row));
        sum
    }
}

impl Row for Caller {
    fn who(&self) -> &str {
        &self.who
    }

    fn sum(rows: &[Caller]) -> Caller {
        let mut sum = Caller { who: others(rows.len()), ..Caller::default() };
        rows.iter().for_each(|row| sum.join(row));
        sum
    }
}
