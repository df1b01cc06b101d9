//! The advice, at the top of the page: a card for each change to make, with its places.

use std::cmp::Reverse;

use super::html::Html;
use crate::report::amount::{Bytes, Count, Time};
use crate::report::facts::{Finding, Process};

/// Places shown for each card; the others are counted.
const PLACES: usize = 12;

pub fn write(html: &mut Html, process: &Process) {
    html.markup("<section class=\"advice\"><h3>Advice</h3>");
    if process.findings.is_empty() {
        html.markup("<p class=\"none\">No rule found an unnecessary copy, fill or block.</p></section>");
        return;
    }
    if process.findings.len() > 1 {
        html.markup("<p class=\"none\">One copy may be in several: the times do not add up.</p>");
    }
    html.markup("<ol>");
    groups(&process.findings).iter().for_each(|group| card(html, group));
    html.markup("</ol></section>");
}

/// Groups the findings that differ only in place, each group with its sum. Sorted by savings.
fn groups(findings: &[Finding]) -> Vec<(Finding, Vec<&Finding>)> {
    let mut groups: Vec<(Finding, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|(all, _)| all.says_like(finding)) {
            Some((all, group)) => {
                all.join(finding);
                group.push(finding);
            }
            None => groups.push((finding.clone(), vec![finding])),
        }
    }
    groups.sort_by_key(|(all, _)| Reverse((all.saved, all.bytes)));
    groups
}

fn card(html: &mut Html, (all, places): &(Finding, Vec<&Finding>)) {
    html.markup("<li data-rule=\"").text(all.rule).markup("\"><h4>").text(all.rule);
    html.markup(" <span class=\"badge ")
        .markup(all.certainty)
        .markup("\">")
        .markup(all.certainty)
        .markup("</span></h4><p>");
    html.text(all.seen).markup("</p><p class=\"todo\">").text(all.to_do).markup("</p><dl>");
    pair(html, "Times", "count", all.count, Count(all.count));
    pair(html, "Bytes", "bytes", all.bytes, Bytes(all.bytes));
    match all.saved {
        Some(saved) => pair(html, "Time saved, about", "saved", saved, Time(saved)),
        None => drop(html.markup("<div><dt>Time saved</dt><dd>not known</dd></div>")),
    }
    pair(html, "Objects", "objects", all.objects, Count(all.objects));
    html.markup("</dl>");
    match &places[..] {
        [only] => {
            html.markup("<dl>");
            place(html, "Made by", &only.made);
            place(html, "Used by", if only.made == only.at { "" } else { &only.at });
            html.markup("</dl>");
        }
        places => table(html, places),
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
    html.markup("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Where\"><table class=\"sortable\"><thead><tr>");
    html.markup("<th scope=\"col\">Made by</th><th scope=\"col\" class=\"n\">Times</th>");
    html.markup("<th scope=\"col\" class=\"n\">Bytes</th><th scope=\"col\" class=\"n\">Time saved</th>");
    html.markup("<th scope=\"col\" class=\"n\">Objects</th></tr></thead><tbody>");
    for finding in places.iter().take(PLACES) {
        html.markup("<tr><th scope=\"row\" class=\"who\">").place(&finding.made);
        if !finding.at.is_empty() && finding.at != finding.made {
            html.markup("<small>used by ").place(&finding.at).markup("</small>");
        }
        html.markup("</th>").number(finding.count, Count(finding.count)).number(finding.bytes, Bytes(finding.bytes));
        match finding.saved {
            Some(saved) => html.number(saved, Time(saved)),
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
