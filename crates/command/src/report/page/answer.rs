//! The first screen: the peak, who held it, the cost of a batch and of copies and fills, and what is worth doing.

use std::cmp::Reverse;

use super::html::Html;
use super::{KINDS, peaks};
use crate::report::amount::{Bytes, Counted, Percent};
use crate::report::facts::Process;
use crate::report::layers::Group;
use crate::report::sentences;
use crate::report::shown::Shown;
use syncedmem_trace::kind::Kind;

/// One more row sums up the others.
const ROWS: usize = 10;

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
        html.markup("\">").text(Bytes(peak)).markup("</span></h4><div class=\"two\">");
        roles(html, process, kind, key, peak);
        let held = |at_peak: [u64; 3]| at_peak[kind as usize];
        let words = |groups: &[Group]| groups.iter().map(|group| (group.words(), held(group.at_peak))).collect();
        shares(html, "Type of layer", words(&process.by_type), peak);
        if process.has_many_holders(kind, ROWS) {
            shares(html, "Beginning of the layers’ names", words(&process.by_name), peak);
        }
        let holders = process.holders.iter().map(|holder| (holder.who.clone(), held(holder.at_peak))).collect();
        shares(html, "Name or place", holders, peak);
        html.markup("</div></div>");
    }
    let [batches, sharing] = [sentences::batch_lines(process, shown), sentences::sharing_lines(process, shown)];
    for line in batches.into_iter().chain(sharing).chain([sentences::spent_line(process)]) {
        html.markup("<p>").text(line).markup("</p>");
    }
    html.markup("</section>");
}

fn roles(html: &mut Html, process: &Process, kind: Kind, key: &'static str, peak: u64) {
    let held = |at_peak: [u64; 3]| at_peak[kind as usize];
    let mut roles: Vec<_> = process.roles.iter().filter(|role| held(role.at_peak) > 0).collect();
    if roles.is_empty() {
        return;
    }
    roles.sort_by_key(|role| Reverse(held(role.at_peak)));
    html.markup("<table>").heads(&["Role", "#Bytes", "#Share"]);
    for role in roles {
        let bytes = held(role.at_peak);
        who(html, role.role, bytes, peak);
        html.fact(format_args!("role.{key}.{}", role.role), bytes, Bytes(bytes));
        html.number(bytes, Percent { part: bytes, of: peak }).markup("</tr>");
    }
    html.markup("</tbody></table>");
}

/// The largest.
fn shares(html: &mut Html, title: &'static str, mut held: Vec<(String, u64)>, peak: u64) {
    held.retain(|&(_, bytes)| bytes > 0);
    if held.is_empty() {
        return;
    }
    held.sort_by(|(name, bytes), (other_name, other)| other.cmp(bytes).then_with(|| name.cmp(other_name)));
    let others = held.split_off(held.len().min(ROWS));
    if !others.is_empty() {
        let bytes = others.iter().map(|(_, bytes)| bytes).sum();
        held.push((Counted(others.len() as u64, "other", "others").to_string(), bytes));
    }
    html.markup("<table>").heads(&[title, "#Bytes", "#Share"]);
    for (name, bytes) in held {
        who(html, &name, bytes, peak);
        html.number(bytes, Bytes(bytes)).number(bytes, Percent { part: bytes, of: peak }).markup("</tr>");
    }
    html.markup("</tbody></table>");
}

/// The first cell of a row: the holder of `bytes` of `peak`, on a bar as long as its share.
fn who(html: &mut Html, who: &str, bytes: u64, peak: u64) {
    html.markup("<tr><th scope=\"row\" class=\"who\" style=\"--share:");
    html.text(format_args!("{:.1}", bytes as f64 / peak as f64 * 100.0)).markup("%\">").place(who).markup("</th>");
}
