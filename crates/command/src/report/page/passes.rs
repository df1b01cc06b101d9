//! Passes through nets on the time axis of the memory above: how much of each column they took.

use syncedmem_trace::event::PassKind;

use super::chart::{Scale, axis, begin, end, outline};
use super::html::Html;
use super::stacks::columns;
use crate::report::amount::{Count, Time};
use crate::report::facts::Process;

/// The classes of the colours, in the order of [`PassKind::ALL`].
const COLOURS: [&str; 4] = ["c1", "c4", "c6", "c5"];

pub fn passes(html: &mut Html, process: &Process, of: usize) {
    let kinds: Vec<_> = PassKind::ALL.into_iter().filter(|&kind| process.timeline.passes(kind).count > 0).collect();
    if kinds.is_empty() {
        return;
    }
    let (columns, width) = columns(process, of);
    // The lowest band first. Each outline reaches to the lower edge, so the bands below it are drawn over it.
    let mut below = vec![0_u64; columns.len()];
    let mut bands = Vec::new();
    for &kind in &kinds {
        for (sum, column) in below.iter_mut().zip(&columns) {
            *sum = sum.saturating_add(column.passes[kind as usize]);
        }
        bands.push((kind, outline(below.iter().copied())));
    }
    let top = below.iter().copied().max().unwrap_or(0).max(width);
    html.markup("<figure class=\"passes\"><figcaption><h3>Passes through nets</h3><p>Time in them, in each ")
        .text(Time(width));
    html.markup("; of several threads, their sum.</p></figcaption><div class=\"stack\"><div>");
    begin(html, columns.len(), top, Scale::Time);
    html.markup("Passes through nets\">");
    for (kind, outline) in bands.into_iter().rev() {
        html.markup("<path class=\"area ").markup(COLOURS[kind as usize]).markup("\" d=\"").text(outline);
        html.markup("\"><title>").markup(kind.name()).markup("</title></path>");
    }
    end(html);
    axis(html, width.saturating_mul(columns.len() as u64));
    html.markup("</div><div class=\"held\"><table>").heads(&["Pass", "#Count", "#Time", "#Each"]);
    for kind in kinds {
        let sum = process.timeline.passes(kind);
        html.markup("<tr><th scope=\"row\" class=\"who\"><i class=\"").markup(COLOURS[kind as usize]).markup("\"></i>");
        html.markup(kind.name()).markup("</th>");
        html.fact(format_args!("passes.{}.count", kind.name()), sum.count, Count(sum.count));
        html.fact(format_args!("passes.{}.time", kind.name()), sum.nanoseconds, Time(sum.nanoseconds));
        let each = sum.nanoseconds / sum.count;
        html.number(each, Time(each)).markup("</tr>");
    }
    html.markup("</tbody></table></div></div></figure>");
}
