//! Passes through nets on the time axis of the memory above: how much of each column they took.

use syncedmem_core::text::Duration;
use syncedmem_trace::event::PassKind;

use super::chart::{Scale, axis, begin, end};
use super::html::Html;
use super::stacks::{Band, chart};
use crate::report::amount::Count;
use crate::report::facts::Process;
use crate::report::held::Column;

/// In the order of [`PassKind::ALL`].
const COLOURS: [usize; 4] = [1, 4, 6, 5];

pub fn passes(html: &mut Html, process: &Process, columns: &[Column], width: u64) {
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
