//! What shared memory was lent while each layer was executed, in the order of a pass.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::KINDS;
use super::chart::{Scale, begin, end};
use super::html::Html;
use super::stacks::{Band, chart, largest, table};
use crate::report::arena::Step;
use crate::report::facts::Process;
use syncedmem_core::text::Size;

/// Further steps have no column.
const MOST: usize = 2048;
/// Holders in a hover text and in a row.
const NAMED: usize = 3;

pub fn arena(html: &mut Html, process: &Process) {
    let steps = &process.arena[..process.arena.len().min(MOST)];
    for (kind, key, name) in KINDS {
        let fullest = steps.iter().enumerate().max_by_key(|(place, step)| (step.bytes(kind), Reverse(*place)));
        let Some((place, fullest)) = fullest.filter(|(_, step)| step.bytes(kind) > 0) else { continue };
        let peak = fullest.bytes(kind);
        html.markup("<figure class=\"arena\"><figcaption><h3>Shared memory by layer</h3><p>").markup(name);
        html.markup(" memory that the arena had lent while each layer was executed, in the order of a pass: at most <span data-fact=\"lent.");
        html.markup(key).markup("\" data-v=\"").text(peak).markup("\">").text(Size(peak)).markup("</span>, in ");
        html.text(format_args!("{}, {}", fullest.layer, fullest.pass));
        html.markup(". A block whose contents are dead serves the layers behind it.</p></figcaption>");
        html.markup("<div class=\"stack\"><div>");
        let mut bands: HashMap<&str, Band> = HashMap::new();
        for (place, step) in steps.iter().enumerate() {
            for (who, bytes) in &step.lent[kind as usize] {
                bands.entry(who).or_insert_with(|| Band::new(who, None, steps.len())).values[place] = *bytes;
            }
        }
        let bands = largest(bands);
        begin(html, steps.len(), peak, Scale::Bytes);
        html.markup(name).markup(" memory lent by layer\">");
        chart(html, &bands, steps.len());
        for (place, step) in steps.iter().enumerate() {
            html.markup("<rect class=\"hint\" x=\"").text(place).markup("\" width=\"1\" height=\"").text(peak);
            html.markup("\"><title>").text(format_args!("{}, {}: {}", step.layer, step.pass, Size(step.bytes(kind))));
            step.lent[kind as usize].iter().take(NAMED).for_each(|(who, bytes)| {
                html.text(format_args!("\n{who}: {}", Size(*bytes)));
            });
            html.markup("</title></rect>");
        }
        end(html);
        passes(html, steps);
        html.markup("</div>");
        table(html, &bands, "Name or place", peak, place);
        html.markup("</div><details><summary>Shared memory by layer as a table</summary><div class=\"scroll\"><table>");
        html.heads(&["Layer", "Pass", "#Lent", "To, the largest first"]);
        for step in steps {
            html.markup("<tr><th scope=\"row\" class=\"who\">").text(&step.layer).markup("</th><td>").markup(step.pass);
            html.markup("</td>").number(step.bytes(kind), Size(step.bytes(kind))).markup("<td>");
            let lent = &step.lent[kind as usize];
            let named: Vec<_> = lent.iter().take(NAMED).map(|(who, bytes)| format!("{who} {}", Size(*bytes))).collect();
            html.text(named.join(", ")).markup(if lent.len() > NAMED { ", …" } else { "" }).markup("</td></tr>");
        }
        html.markup("</tbody></table></div></details></figure>");
    }
}

/// The axis: where each pass begins.
fn passes(html: &mut Html, steps: &[Step]) {
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
