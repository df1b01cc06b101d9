//! The few figures that most readers look for, without those that are zero.

use std::fmt::Display;

use super::html::Html;
use super::{KINDS, SIDES, peaks};
use crate::report::amount::{Bytes, Counted, Time};
use crate::report::facts::Process;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

pub fn write(html: &mut Html, process: &Process) {
    let account = &process.summary.account;
    html.markup("<section class=\"numbers\"><h3>In numbers</h3><dl>");
    for ((kind, key, _), peak) in KINDS.into_iter().zip(peaks(process)) {
        let name = match kind {
            Kind::Pageable => "Pageable memory, peak",
            Kind::Pinned => "Pinned memory, peak",
            Kind::Device => "Device memory, peak",
        };
        let most = process.holders.iter().max_by_key(|holder| holder.at_peak[kind as usize]);
        let most = most.filter(|holder| holder.at_peak[kind as usize] > 0).map(|holder| holder.who.as_str());
        card(html, name, format_args!("peak.{key}"), peak, Bytes(peak), |html| {
            if let Some(who) = most {
                html.markup("most of it: ").place(who);
            }
        });
    }
    for (side, key, _) in SIDES {
        let name = if side == Side::Host { "Copied to the host" } else { "Copied to the device" };
        let sum = account.copies_to(side);
        card(html, name, format_args!("copied.{key}"), sum.bytes, Bytes(sum.bytes), |html| {
            html.text(Counted(sum.count, "copy", "copies")).markup(", ").text(Time(sum.nanoseconds));
        });
    }
    let fills = account.fills(Side::Host).plus(account.fills(Side::Device));
    card(html, "Filled with zeros", format_args!("filled"), fills.bytes, Bytes(fills.bytes), |html| {
        html.text(Counted(fills.count, "fill", "fills")).markup(", ").text(Time(fills.nanoseconds));
    });
    let pinned = account.memory(Kind::Pinned).fresh.plus(account.registered);
    let others = account.memory(Kind::Pageable).fresh.plus(account.memory(Kind::Device).fresh);
    let copies = account.copies_to(Side::Host).plus(account.copies_to(Side::Device));
    let waits = account.waits.plus(account.synchronised);
    let times = [
        (
            "Time in allocation",
            "allocation",
            others.nanoseconds,
            Counted(others.count, "block that no pool had", "blocks that no pool had"),
        ),
        (
            "Time in pinning",
            "pinning",
            pinned.nanoseconds,
            Counted(pinned.count, "block page-locked", "blocks page-locked"),
        ),
        ("Time in copies", "copies", copies.nanoseconds, Counted(copies.count, "copy", "copies")),
        (
            "Time waiting",
            "waiting",
            waits.nanoseconds,
            Counted(waits.count, "wait for a copy in flight or a context", "waits for copies in flight or a context"),
        ),
    ];
    for (name, key, nanoseconds, counted) in times {
        card(html, name, format_args!("time.{key}"), nanoseconds, Time(nanoseconds), |html| {
            html.text(counted);
        });
    }
    html.markup("</dl></section>");
}

fn card(
    html: &mut Html,
    name: &'static str,
    fact: impl Display,
    number: u64,
    shown: impl Display,
    more: impl FnOnce(&mut Html),
) {
    if number == 0 {
        return;
    }
    html.markup("<div")
        .markup(if name.ends_with("peak") { " class=\"peak\"" } else { "" })
        .markup("><dt>")
        .markup(name);
    html.markup("</dt><dd><b data-fact=\"").text(fact).markup("\" data-v=\"").text(number).markup("\">").text(shown);
    html.markup("</b><small>");
    more(html);
    html.markup("</small></dd></div>");
}
