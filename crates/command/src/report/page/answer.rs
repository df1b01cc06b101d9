//! The first screen: the peak, who held it, the cost of a batch and of copies and fills, and what is worth doing.

use super::html::Html;
use super::tables::sortable;
use super::{KINDS, peaks};
use crate::report::Shown;
use crate::report::facts::Process;
use crate::report::rows::{CERTAINTY, IN_PLACE, InPlace, Rule, SHARE};
use crate::report::sentences::{self, Count, Counted, List, Percent, ROWS, Share, at_peak, percent};
use syncedmem_core::text::Size;

/// Number of places that advice lists.
const PLACES: usize = 12;
/// A longer list is folded.
const OPEN: usize = 3;

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
    // The scarcest kind first, as in the text.
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

/// Writes rows on bars as long as their shares.
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

pub fn advice(html: &mut Html, process: &Process) {
    let (share, is_there, is_worth) =
        (sentences::share(process), !process.in_place.is_empty(), process.is_worth_doing());
    let is_ended = process.bound_that_ended().is_some();
    if share.is_none() && !is_there && is_ended {
        return;
    }
    html.markup("<section class=\"advice\"><h3>Advice</h3>");
    if share.is_none() && !is_worth && !is_ended {
        html.markup("<p>Nothing worth doing.</p>");
    }
    if share.is_some() || is_worth {
        html.markup("<ol>");
        if let Some(Share { option, line, .. }) = &share {
            head(html, &SHARE, option);
            html.text(line).markup(".</p><p class=\"unknown\">").markup(SHARE.not_known).markup("</p></li>");
        }
        if is_worth {
            in_place(html, process);
        }
        html.markup("</ol>");
    }
    if share.is_some() && is_worth {
        html.markup("<p>The first makes the second save less.</p>");
    }
    if is_there && !is_worth {
        html.markup("<details><summary>1 piece of advice would save less than a thousandth of the peak</summary><ol>");
        in_place(html, process);
        html.markup("</ol></details>");
    }
    html.markup("</section>");
}

/// Begins a piece of advice, up to the paragraph that says what it saves.
fn head(html: &mut Html, rule: &Rule, name: &str) {
    html.markup("<li data-rule=\"").markup(rule.name).markup("\"><h4>").markup(rule.change).markup(": ").text(name);
    html.markup(" <span class=\"badge\">").markup(CERTAINTY).markup("</span></h4><p>").markup(rule.seen);
    html.markup("</p><p class=\"todo\">").markup(rule.to_do).markup("</p><p>");
}

fn in_place(html: &mut Html, process: &Process) {
    let places = &process.in_place;
    head(html, &IN_PLACE, IN_PLACE.name);
    html.text(sentences::saving_line(process)).markup(".</p>");
    html.markup(if places.len() > OPEN { "<details>" } else { "<details open>" }).markup("<summary>");
    html.text(Counted(places.len() as u64, "place", "places")).markup("</summary>");
    sortable(html, "Where", &["Layers", "#Memory saved"]);
    for InPlace { layers, change, bytes, .. } in places.iter().take(PLACES) {
        html.markup("<tr><th scope=\"row\" class=\"who\">").place(layers);
        html.markup("<small>").place(change).markup("</small></th>").number(*bytes, Size(*bytes)).markup("</tr>");
    }
    html.markup("</tbody></table></div>");
    let more = places.len().saturating_sub(PLACES);
    if more > 0 {
        html.markup("<p class=\"none\">").text(Count(more as u64)).markup(" more places, each of them worth less.</p>");
    }
    html.markup("</details><p class=\"unknown\">").markup(IN_PLACE.not_known).markup("</p></li>");
}
