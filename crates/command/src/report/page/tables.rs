use std::collections::HashSet;

use super::html::Html;
use super::{bytes, peaks, title};
use crate::report::amount::{Count, Rate};
use crate::report::facts::Process;
use crate::report::sentences::made_unseen_line;
use syncedmem_core::head::Side;
use syncedmem_core::text::{Duration, Size};

/// Folded. See [`Html::heads`].
pub fn begin(html: &mut Html, name: &'static str, columns: &[&'static str]) {
    html.markup("<details class=\"table\"><summary><h3>").markup(name).markup("</h3></summary>");
    sortable(html, name, columns);
}

pub fn sortable(html: &mut Html, name: &'static str, columns: &[&'static str]) {
    html.markup("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"").markup(name);
    html.markup("\"><table class=\"sortable\">").heads(columns);
}

pub fn end(html: &mut Html) {
    html.markup("</tbody></table></div></details>");
}

pub fn processes(html: &mut Html, processes: &[Process], shown: &HashSet<usize>) {
    html.markup("<details class=\"table\" open><summary><h2>Processes</h2></summary>");
    sortable(
        html,
        "Processes",
        &["Process", "#Number", "#Events", "#Pageable, peak", "#Pinned, peak", "#Device, peak", "#Copied", "#Advice"],
    );
    for (place, process) in processes.iter().enumerate() {
        html.markup("<tr><th scope=\"row\" class=\"who\">");
        if shown.contains(&place) {
            html.markup("<a href=\"#p").text(place).markup("\">").place(title(process)).markup("</a></th>");
        } else {
            html.place(title(process)).markup("</th>");
        }
        html.number(process.id.into(), process.id).number(process.events, Count(process.events));
        peaks(process).into_iter().for_each(|peak| bytes(html, peak));
        bytes(html, process.account.copies_to(Side::Host).plus(process.account.copies_to(Side::Device)).bytes);
        html.number(process.findings.len() as u64, process.findings.len()).markup("</tr>");
    }
    end(html);
}

/// The account: what there was, and all that was done.
pub fn account(html: &mut Html, process: &Process) {
    html.markup("<details class=\"table\" open><summary><h3>Work</h3></summary>");
    let mut memory = String::new();
    // Writing to a string cannot fail.
    let _ = process.account.write_memory(&mut memory);
    for line in memory.lines().map(str::to_string).chain(made_unseen_line(process)) {
        html.markup("<p>").text(line).markup("</p>");
    }
    sortable(html, "Work", &["What, summed over threads", "#Count", "#Bytes", "#Time", "#Rate"]);
    for (work, sum) in process.account.work() {
        html.markup("<tr><th scope=\"row\">").text(work).markup("</th>");
        html.fact(format_args!("{work}.count"), sum.count, Count(sum.count));
        html.fact(format_args!("{work}.bytes"), sum.bytes, Size(sum.bytes));
        html.fact(format_args!("{work}.time"), sum.nanoseconds, Duration(sum.nanoseconds));
        let rate = Rate::of(sum);
        html.number(rate.each_second(), rate).markup("</tr>");
    }
    end(html);
}
