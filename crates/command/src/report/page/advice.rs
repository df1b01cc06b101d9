//! The advice: a card for each change to make, with its places.

use super::html::Html;
use super::tables::sortable;
use crate::report::amount::{Count, Counted};
use crate::report::facts::{Piece, Process};
use crate::report::rows::Finding;
use crate::report::sentences::saving_line;
use syncedmem_core::text::Size;

/// Places of a piece that are listed.
const PLACES: usize = 12;
const OPEN: usize = 3;

pub fn write(html: &mut Html, process: &Process) {
    let (worth, small): (Vec<_>, Vec<_>) =
        process.pieces().into_iter().partition(|piece| process.is_worth_doing(&piece.sum));
    if worth.is_empty() && small.is_empty() && process.bound_that_ended().is_some() {
        return;
    }
    html.markup("<section class=\"advice\"><h3>Advice</h3>");
    if worth.is_empty() && process.bound_that_ended().is_none() {
        html.markup("<p>Nothing worth doing.</p>");
    }
    cards(html, process, &worth);
    if !small.is_empty() {
        let more = Counted(small.len() as u64, "piece of advice", "pieces of advice");
        html.markup("<details><summary>").text(more).markup(" would save less than a thousandth of the peak</summary>");
        cards(html, process, &small);
        html.markup("</details>");
    }
    html.markup("</section>");
}

fn cards(html: &mut Html, process: &Process, pieces: &[Piece]) {
    html.markup("<ol>");
    pieces.iter().for_each(|piece| card(html, process, piece));
    html.markup("</ol>");
}

fn card(html: &mut Html, process: &Process, Piece { sum: all, places }: &Piece) {
    html.markup("<li data-rule=\"").text(all.rule).markup("\"><h4>").text(all.change).markup(": ").text(all.rule);
    html.markup(" <span class=\"badge ")
        .markup(all.certainty)
        .markup("\">")
        .markup(all.certainty)
        .markup("</span></h4><p>");
    html.text(all.seen).markup("</p><p class=\"todo\">").text(all.to_do).markup("</p><p>");
    html.text(saving_line(process, all)).markup(".</p>");
    html.markup(if places.len() > OPEN { "<details>" } else { "<details open>" }).markup("<summary>");
    html.text(Counted(places.len() as u64, "place", "places")).markup("</summary>");
    table(html, places);
    html.markup("</details>");
    html.markup("<p class=\"unknown\">").text(all.not_known).markup("</p></li>");
}

fn table(html: &mut Html, places: &[&Finding]) {
    sortable(html, "Where", &["Layers", "#Memory saved"]);
    for finding in places.iter().take(PLACES) {
        html.markup("<tr><th scope=\"row\" class=\"who\">").place(&finding.made);
        html.markup("<small>").place(&finding.at).markup("</small></th>");
        html.number(finding.bytes, Size(finding.bytes)).markup("</tr>");
    }
    html.markup("</tbody></table></div>");
    let more = places.len().saturating_sub(PLACES);
    if more > 0 {
        html.markup("<p class=\"none\">").text(Count(more as u64)).markup(" more places, each of them worth less.</p>");
    }
}
