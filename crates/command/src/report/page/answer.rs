//! The first screen: the peak, who held it, the cost of a batch and of copies and fills, and what is worth doing.

use super::html::Html;
use super::{KINDS, peaks};
use crate::report::amount::Percent;
use crate::report::facts::Process;
use crate::report::lists::{List, ROWS, at_peak};
use crate::report::sentences::{self, percent};
use crate::report::shown::Shown;
use syncedmem_core::text::Size;

pub fn write(html: &mut Html, process: &Process, shown: Shown) {
    html.markup("<section class=\"answer\"><h3>In short</h3>");
    for line in process.first_lines() {
        html.markup("<p class=\"note\">").text(line).markup("</p>");
    }
    if process.is_unseen() {
        html.markup("</section>");
        return;
    }
    html.markup("<p class=\"headline\">").text(sentences::peak_line(process)).markup("</p>");
    // The scarcest first, as in the text.
    for (kind, key, name) in KINDS.into_iter().rev().filter(|&(kind, ..)| peaks(process)[kind as usize] > 0) {
        let peak = peaks(process)[kind as usize];
        html.markup("<div class=\"kind ").markup(key).markup("\"><h4>").markup(name);
        html.markup(" memory at its peak of <span data-fact=\"peak.").markup(key).markup("\" data-v=\"").text(peak);
        html.markup("\">").text(Size(peak)).markup("</span></h4><div class=\"two\">");
        at_peak(process, kind, ROWS).iter().for_each(|list| table(html, key, list, peak));
        html.markup("</div></div>");
    }
    let [batches, sharing] = [sentences::batch_lines(process, shown), sentences::sharing_lines(process, shown)];
    for line in batches.into_iter().chain(sharing).chain([sentences::spent_line(process)]) {
        html.markup("<p>").text(line).markup("</p>");
    }
    html.markup("</section>");
}

/// Each row lies on a bar as long as its share.
fn table(html: &mut Html, key: &'static str, List { by, rows }: &List, peak: u64) {
    html.markup("<table>").heads(&[by, "#Bytes", "#Share"]);
    for (who, bytes) in rows {
        html.markup("<tr><th scope=\"row\" class=\"who\" style=\"--share:");
        html.text(format_args!("{:.1}", percent(*bytes, peak))).markup("%\">").place(who).markup("</th>");
        match *by {
            "role" => html.fact(format_args!("role.{key}.{who}"), *bytes, Size(*bytes)),
            _ => html.number(*bytes, Size(*bytes)),
        };
        html.number(*bytes, Percent { part: *bytes, of: peak }).markup("</tr>");
    }
    html.markup("</tbody></table>");
}
