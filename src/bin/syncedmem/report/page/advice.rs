//! The advice, which stands on top.

use super::html::Html;
use crate::report::amount::{Bytes, Count, Time};
use crate::report::facts::{Finding, Process};

/// So many pieces are shown; the others are counted.
const SHOWN: usize = 60;

/// Writes what could be better.
pub fn write(html: &mut Html, process: &Process) {
    html.markup("<section class=\"advice\"><h3>What could be better</h3>");
    if process.findings.is_empty() {
        html.markup("<p class=\"none\">None of the rules found anything.</p></section>");
        return;
    }
    html.markup("<ol>");
    for finding in process.findings.iter().take(SHOWN) {
        one(html, finding);
    }
    html.markup("</ol>");
    let more = process.findings.len().saturating_sub(SHOWN);
    if more > 0 {
        html.markup("<p>").text(Count(more as u64)).markup(" more, each of them worth less.</p>");
    }
    html.markup("</section>");
}

fn one(html: &mut Html, finding: &Finding) {
    html.markup("<li data-rule=\"")
        .text(finding.rule)
        .markup("\"><h4>")
        .text(finding.rule)
        .markup(" <span class=\"badge ");
    html.markup(finding.certainty).markup("\">").markup(finding.certainty).markup("</span></h4><p>");
    html.text(finding.seen).markup("</p><p class=\"todo\">").text(finding.to_do).markup("</p><dl>");
    pair(html, "Times", "count", finding.count, Count(finding.count));
    pair(html, "Bytes", "bytes", finding.bytes, Bytes(finding.bytes));
    match finding.saved {
        Some(saved) => pair(html, "Time saved, about", "saved", saved, Time(saved)),
        None => drop(html.markup("<div><dt>Time saved</dt><dd>not known</dd></div>")),
    }
    pair(html, "Objects", "objects", finding.objects, Count(finding.objects));
    if finding.made == finding.at {
        place(html, "Made and used by", &finding.made);
    } else {
        place(html, "Made by", &finding.made);
        place(html, "Used by", &finding.at);
    }
    html.markup("</dl><p class=\"unknown\">").text(finding.not_known).markup("</p></li>");
}

fn pair(html: &mut Html, name: &'static str, field: &'static str, number: u64, shown: impl std::fmt::Display) {
    html.markup("<div><dt>")
        .markup(name)
        .markup("</dt><dd data-field=\"")
        .markup(field)
        .markup("\" data-v=\"")
        .text(number);
    html.markup("\">").text(shown).markup("</dd></div>");
}

fn place(html: &mut Html, name: &'static str, place: &str) {
    if !place.is_empty() {
        html.markup("<div class=\"place\"><dt>").markup(name).markup("</dt><dd>").place(place).markup("</dd></div>");
    }
}
