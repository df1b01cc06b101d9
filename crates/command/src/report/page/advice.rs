//! The advice: a card for each change to make, with its places.

use super::html::Html;
use super::tables::sortable;
use crate::report::amount::{Count, Counted};
use crate::report::facts::{Piece, Process};
use crate::report::rows::{Finding, IN_PLACE};
use syncedmem_trace::text::{Duration, Size};

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
    } else if worth.len() > 1 {
        html.markup("<p class=\"none\">One copy may be in several: the times do not add up.</p>");
    }
    cards(html, &worth);
    if !small.is_empty() {
        let more = Counted(small.len() as u64, "piece of advice", "pieces of advice");
        html.markup("<details><summary>").text(more).markup(" would save less than a thousandth of the run</summary>");
        cards(html, &small);
        html.markup("</details>");
    }
    html.markup("</section>");
}

fn cards(html: &mut Html, pieces: &[Piece]) {
    html.markup("<ol>");
    pieces.iter().for_each(|piece| card(html, piece));
    html.markup("</ol>");
}

fn card(html: &mut Html, Piece { sum: all, places }: &Piece) {
    html.markup("<li data-rule=\"").text(all.rule).markup("\"><h4>").text(all.change).markup(": ").text(all.rule);
    html.markup(" <span class=\"badge ")
        .markup(all.certainty)
        .markup("\">")
        .markup(all.certainty)
        .markup("</span></h4><p>");
    html.text(all.seen).markup("</p><p class=\"todo\">").text(all.to_do).markup("</p><dl>");
    let is_in_place = all.rule == IN_PLACE;
    pair(html, if is_in_place { "Layers" } else { "Times" }, "count", all.count, Count(all.count));
    pair(html, if all.saves_memory() { "Memory saved" } else { "Bytes" }, "bytes", all.bytes, Size(all.bytes));
    match all.saved {
        Some(saved) => pair(html, "Time saved, about", "saved", saved, Duration(saved)),
        None if all.saves_memory() => {}
        None => drop(html.markup("<div><dt>Time saved</dt><dd>not known</dd></div>")),
    }
    if !is_in_place {
        pair(html, "Objects", "objects", all.objects, Count(all.objects));
    }
    html.markup("</dl>");
    match &places[..] {
        [only] => {
            html.markup("<dl>");
            place(html, if is_in_place { "Layers" } else { "Made by" }, &only.made);
            place(
                html,
                if is_in_place { "Change" } else { "Used by" },
                if only.made == only.at { "" } else { &only.at },
            );
            html.markup("</dl>");
        }
        places => {
            html.markup(if places.len() > OPEN { "<details>" } else { "<details open>" }).markup("<summary>");
            html.text(Counted(places.len() as u64, "place", "places")).markup("</summary>");
            table(html, places);
            html.markup("</details>");
        }
    }
    html.markup("<p class=\"unknown\">").text(all.not_known).markup("</p></li>");
}

fn pair(html: &mut Html, name: &'static str, field: &'static str, number: u64, shown: impl std::fmt::Display) {
    html.markup("<div><dt>").markup(name).markup("</dt><dd data-field=\"").markup(field);
    html.markup("\" data-v=\"").text(number).markup("\">").text(shown).markup("</dd></div>");
}

fn place(html: &mut Html, name: &'static str, place: &str) {
    if !place.is_empty() {
        html.markup("<div class=\"place\"><dt>").markup(name).markup("</dt><dd>").place(place).markup("</dd></div>");
    }
}

fn table(html: &mut Html, places: &[&Finding]) {
    if places.iter().any(|finding| finding.rule == IN_PLACE) {
        sortable(html, "Layers", &["Layers", "#Memory saved"]);
        for finding in places {
            html.markup("<tr><th scope=\"row\" class=\"who\">")
                .place(&finding.made)
                .markup("<small>")
                .place(&finding.at);
            html.markup("</small></th>").number(finding.bytes, Size(finding.bytes)).markup("</tr>");
        }
        html.markup("</tbody></table></div>");
        return;
    }
    sortable(html, "Where", &["Made by", "#Times", "#Bytes", "#Time saved", "#Objects"]);
    for finding in places.iter().take(PLACES) {
        html.markup("<tr><th scope=\"row\" class=\"who\">").place(&finding.made);
        if !finding.at.is_empty() && finding.at != finding.made {
            html.markup("<small>used by ").place(&finding.at).markup("</small>");
        }
        html.markup("</th>").number(finding.count, Count(finding.count)).number(finding.bytes, Size(finding.bytes));
        match finding.saved {
            Some(saved) => html.number(saved, Duration(saved)),
            None => html.number(0, "not known"),
        };
        html.number(finding.objects, Count(finding.objects)).markup("</tr>");
    }
    html.markup("</tbody></table></div>");
    let more = places.len().saturating_sub(PLACES);
    if more > 0 {
        html.markup("<p class=\"none\">").text(Count(more as u64)).markup(" more places, each of them worth less.</p>");
    }
}
