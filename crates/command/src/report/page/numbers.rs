//! The work that was done: a tile for each sort that is not zero.

use super::SIDES;
use super::html::Html;
use crate::report::amount::{Bytes, Counted, Time};
use crate::report::facts::Process;
use syncedmem_trace::account::Sum;
use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

struct Tile {
    name: &'static str,
    fact: String,
    number: u64,
    shown: String,
    more: String,
}

pub fn write(html: &mut Html, process: &Process) {
    let mut tiles = tiles(process);
    tiles.retain(|tile| tile.number > 0);
    if tiles.is_empty() {
        return;
    }
    html.markup("<section class=\"numbers\"><h3>Work</h3><dl>");
    for Tile { name, fact, number, shown, more } in tiles {
        html.markup("<div><dt>")
            .markup(name)
            .markup("</dt><dd><b data-fact=\"")
            .text(fact)
            .markup("\" data-v=\"")
            .text(number);
        html.markup("\">").text(shown).markup("</b><small>").text(more).markup("</small></dd></div>");
    }
    html.markup("</dl></section>");
}

fn tiles(process: &Process) -> Vec<Tile> {
    let account = &process.account;
    let bytes = |name, fact: String, sum: Sum, counted| {
        let time =
            if sum.nanoseconds == 0 { "time not measured".to_string() } else { Time(sum.nanoseconds).to_string() };
        Tile { name, fact, number: sum.bytes, shown: Bytes(sum.bytes).to_string(), more: format!("{counted}, {time}") }
    };
    let copied = SIDES.map(|(side, key, _)| {
        let name = if side == Side::Host { "Copied to the host" } else { "Copied to the device" };
        let sum = account.copies_to(side);
        bytes(name, format!("copied.{key}"), sum, Counted(sum.count, "copy", "copies"))
    });
    let fills = account.fills(Side::Host).plus(account.fills(Side::Device));
    let filled = bytes("Filled with zeros", "filled".to_string(), fills, Counted(fills.count, "fill", "fills"));
    let pinned = account.memory(Kind::Pinned).fresh.plus(account.registered());
    let others = account.memory(Kind::Pageable).fresh.plus(account.memory(Kind::Device).fresh);
    let copies = account.copies_to(Side::Host).plus(account.copies_to(Side::Device));
    let waits = account.waits().plus(account.synchronised());
    let times = [
        ("Time in allocation", "allocation", others, "block that no pool had", "blocks that no pool had"),
        ("Time in pinning", "pinning", pinned, "block page-locked", "blocks page-locked"),
        ("Time in copies", "copies", copies, "copy", "copies"),
        (
            "Time waiting",
            "waiting",
            waits,
            "wait for a copy in flight or a context",
            "waits for copies in flight or a context",
        ),
    ];
    let times = times.map(|(name, key, sum, one, many)| {
        let (shown, more) = (Time(sum.nanoseconds).to_string(), Counted(sum.count, one, many).to_string());
        Tile { name, fact: format!("time.{key}"), number: sum.nanoseconds, shown, more }
    });
    copied.into_iter().chain([filled]).chain(times).collect()
}
