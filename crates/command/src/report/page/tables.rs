use std::collections::HashSet;
use std::fmt::Display;

use super::html::Html;
use super::{KINDS, SIDES, bytes, peaks, title};
use crate::report::amount::{Bytes, Count, Rate, Time};
use crate::report::facts::Process;
use syncedmem_trace::account::Sum;
use syncedmem_trace::event::Path;
use syncedmem_trace::head::{Access, Side};

const PATHS: [(Path, &str); 2] = [(Path::Pinned, "pinned"), (Path::Pageable, "pageable")];

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

/// Without kinds that were not used.
pub fn memory(html: &mut Html, process: &Process) {
    begin(
        html,
        "Memory by kind",
        &[
            "Kind",
            "#Peak",
            "#Peak at",
            "#At the end",
            "#Fresh blocks",
            "#Fresh bytes",
            "#Time for them",
            "#From the pool",
            "#Pool’s share",
            "#Given back",
        ],
    );
    for (kind, key, name) in KINDS {
        let memory = process.account.memory(kind);
        if memory.peak == 0 {
            continue;
        }
        let when = process.timeline.since_begin(memory.peak_time);
        let all = memory.fresh.count + memory.pooled.count;
        html.markup("<tr><th scope=\"row\">").markup(name).markup("</th>");
        html.fact(format_args!("{key}.peak"), memory.peak, Bytes(memory.peak)).number(when, Time(when));
        html.fact(format_args!("{key}.live"), memory.live, Bytes(memory.live));
        html.fact(format_args!("{key}.fresh.count"), memory.fresh.count, Count(memory.fresh.count));
        html.fact(format_args!("{key}.fresh.bytes"), memory.fresh.bytes, Bytes(memory.fresh.bytes));
        html.fact(format_args!("{key}.fresh.time"), memory.fresh.nanoseconds, Time(memory.fresh.nanoseconds));
        html.fact(format_args!("{key}.pooled.count"), memory.pooled.count, Count(memory.pooled.count));
        let share = (memory.pooled.count * 1000).checked_div(all);
        match share {
            Some(share) => html.number(share, format_args!("{}.{} %", share / 10, share % 10)),
            None => html.number(0, "–"),
        };
        html.fact(format_args!("{key}.freed.count"), memory.freed.count, Count(memory.freed.count));
        html.markup("</tr>");
    }
    end(html);
}

/// Without ways that no copy took.
pub fn copies(html: &mut Html, process: &Process) {
    if SIDES.iter().all(|(side, ..)| process.account.copies_to(*side) == Sum::default()) {
        return;
    }
    begin(html, "Copies", &["Direction", "Through memory that is", "#Copies", "#Bytes", "#Time", "#Rate"]);
    for (side, key, name) in SIDES {
        for (path, path_name) in PATHS {
            let sum = process.account.copies(side, path);
            if sum == Sum::default() {
                continue;
            }
            html.markup("<tr><th scope=\"row\">").markup(name).markup("</th><td>").markup(path_name).markup("</td>");
            facts(html, format_args!("copies.{key}.{path_name}"), sum);
            let rate = Rate { bytes: sum.bytes, nanoseconds: sum.nanoseconds };
            let per_second = if sum.nanoseconds == 0 { 0.0 } else { sum.bytes as f64 * 1e9 / sum.nanoseconds as f64 };
            html.number(per_second as u64, rate).markup("</tr>");
        }
    }
    end(html);
}

pub fn other(html: &mut Html, process: &Process) {
    let account = &process.account;
    begin(html, "Everything else", &["What", "#Count", "#Bytes", "#Time"]);
    let rows: [(&'static str, &'static str, Sum); 8] = [
        ("Host filled with zeros", "fills.host", account.fills(Side::Host)),
        ("Device filled with zeros", "fills.device", account.fills(Side::Device)),
        ("Waits for copies in flight", "waits", account.waits()),
        ("Waits for a context before a block was used again", "synchronised", account.synchronised()),
        ("Pageable memory page-locked where it is", "registered", account.registered()),
        ("Device sides given back to make room", "evicted", account.evictions()),
        ("Host allocations that failed", "failed.host", account.failures(Side::Host)),
        ("Device allocations that failed", "failed.device", account.failures(Side::Device)),
    ];
    for (name, key, sum) in rows.into_iter().filter(|(.., sum)| *sum != Sum::default()) {
        html.markup("<tr><th scope=\"row\">").markup(name).markup("</th>");
        facts(html, key, sum);
        html.markup("</tr>");
    }
    let accesses = |side, access| account.accesses(side, access);
    let counts = [
        ("Objects made", "made", account.made()),
        ("Objects first seen at an access", "made.unseen", account.made_unseen()),
        ("Objects destroyed", "ended", account.ended()),
        ("Accesses to read on the host", "accesses.host.read", accesses(Side::Host, Access::Read)),
        ("Accesses to write on the host", "accesses.host.write", accesses(Side::Host, Access::Write)),
        ("Accesses to overwrite on the host", "accesses.host.overwrite", accesses(Side::Host, Access::Overwrite)),
        ("Accesses to read on the device", "accesses.device.read", accesses(Side::Device, Access::Read)),
        ("Accesses to write on the device", "accesses.device.write", accesses(Side::Device, Access::Write)),
        ("Accesses to overwrite on the device", "accesses.device.overwrite", accesses(Side::Device, Access::Overwrite)),
    ];
    for (name, key, count) in counts.into_iter().filter(|(.., count)| *count > 0) {
        html.markup("<tr><th scope=\"row\">").markup(name).markup("</th>").fact(key, count, Count(count));
        html.markup("<td></td><td></td></tr>");
    }
    end(html);
}

fn facts(html: &mut Html, key: impl Display, sum: Sum) {
    html.fact(format_args!("{key}.count"), sum.count, Count(sum.count));
    html.fact(format_args!("{key}.bytes"), sum.bytes, Bytes(sum.bytes));
    html.fact(format_args!("{key}.time"), sum.nanoseconds, Time(sum.nanoseconds));
}
