//! The HTML report: one file without references to others, with the advice at the top.

mod answer;
mod chart;
mod figures;
mod flame;
mod html;
mod tables;

use std::cmp::Reverse;
use std::collections::HashSet;

use html::Html;

use super::Shown;
use super::facts::{Process, Trace};
use super::sentences::{Count, Counted};
use syncedmem_core::kind::Kind;
use syncedmem_core::text::{Duration, Size};

const STYLE: &str = include_str!("style.css");
/// The page names the hash of its script below, so browsers run no other script; tests/page/run prints the hash.
const SCRIPT: &str = include_str!("page.js");

/// Number of processes that have a section.
const SECTIONS: usize = 30;

const KINDS: [(Kind, &str, &str); 3] =
    [(Kind::Pageable, "pageable", "Pageable"), (Kind::Pinned, "pinned", "Pinned"), (Kind::Device, "device", "Device")];

pub fn of(trace: &Trace, options: Shown) -> String {
    let mut html = Html::default();
    let processes = &trace.processes;
    let shown = shown(processes);
    begin(&mut html, trace);
    if processes.len() > 1 {
        tables::processes(&mut html, processes, &shown);
    }
    for (place, process) in processes.iter().enumerate().filter(|(place, _)| shown.contains(place)) {
        section(&mut html, process, place, shown.len(), options);
    }
    if processes.len() > shown.len() {
        let more = Counted((processes.len() - shown.len()) as u64, "process has", "processes have");
        html.markup("<p class=\"none\">").text(more).markup(" fewer events and no section here; --text shows all.</p>");
    }
    if processes.is_empty() {
        html.markup("<p class=\"none\">The trace holds no events of libsyncedmem.</p>");
    }
    caveats(&mut html);
    html.markup("</main><script>").markup(SCRIPT).markup("</script></body></html>\n");
    html.finish()
}

/// The processes with the most events.
fn shown(processes: &[Process]) -> HashSet<usize> {
    let mut places: Vec<_> = (0..processes.len()).collect();
    places.sort_by_key(|&place| (Reverse(processes[place].events), place));
    places.into_iter().take(SECTIONS).collect()
}

fn begin(html: &mut Html, trace: &Trace) {
    let Trace { name, processes, notes } = trace;
    html.markup("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.markup("<meta name=\"color-scheme\" content=\"light dark\">");
    html.markup(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-yX6ap7v7YSjdpGTL5ZtJ4dEoTbgnxlpsrsnREkwSHlg='\">",
    );
    html.markup("<title>Memory: ")
        .text(name)
        .markup("</title><style>")
        .markup(STYLE)
        .markup("</style></head><body><main>");
    html.markup("<header><h1>Memory of the program</h1><p class=\"source\"><bdi>").text(name).markup("</bdi> · ");
    let events = processes.iter().map(|process| process.events).sum();
    html.markup("<span data-fact=\"events\" data-v=\"").text(events).markup("\">").text(Count(events));
    html.markup("</span> events of libsyncedmem");
    if processes.len() > 1 {
        html.markup(" · ").text(Count(processes.len() as u64)).markup(" processes");
    }
    html.markup("</p>");
    for note in notes {
        html.markup("<p class=\"note\">").text(note).markup("</p>");
    }
    html.markup("</header>");
}

fn section(html: &mut Html, process: &Process, place: usize, of: usize, options: Shown) {
    html.markup("<section class=\"process\" id=\"p")
        .text(place)
        .markup("\" data-process=\"")
        .text(process.id)
        .markup("\"><h2><bdi>");
    html.text(title(process)).markup("</bdi></h2><p class=\"source\">Process ").text(process.id).markup(" · ");
    html.text(Count(process.events)).markup(" events in ").text(Duration(process.timeline.span())).markup("</p>");
    answer::write(html, process, options);
    about(html, process);
    if process.is_unseen() {
        html.markup("</section>");
        return;
    }
    answer::advice(html, process);
    figures::write(html, process, place, of);
    flame::write(html, process, of);
    tables::account(html, process);
    tables::holders(html, process, of);
    tables::callers(html, process, of);
    html.markup("</section>");
}

/// Writes what the process is, and what limited its memory.
fn about(html: &mut Html, process: &Process) {
    let lines = process.about.lines();
    if lines.is_empty() {
        return;
    }
    html.markup("<details class=\"about\"><summary>The process</summary><dl>");
    for (name, value) in lines {
        html.markup("<dt>").text(name).markup("</dt><dd><bdi>").text(value).markup("</bdi></dd>");
    }
    html.markup("</dl></details>");
}

fn title(process: &Process) -> &str {
    if process.name.is_empty() { "Unnamed process" } else { &process.name }
}

fn caveats(html: &mut Html) {
    html.markup(
        "<footer><details><summary><h2>Limits of this report</h2></summary><ul>\
         <li>For a copy on a caller’s stream only the wait is measured.</li>\
         <li>Memory means the blocks of objects. Idle blocks, and other memory of the process, are not in a trace.</li>\
         <li>Blocks are counted in full: up to an eighth more than the request.</li>\
         <li>Objects whose constructor is compiled into the program are attributed to their first access.</li>\
         <li>Short events have no call site: they count for the place that made the object.</li></ul></details></footer>",
    );
}

fn peaks(process: &Process) -> [u64; 3] {
    KINDS.map(|(kind, ..)| process.account.memory(kind).peak)
}

fn bytes(html: &mut Html, bytes: u64) {
    html.number(bytes, Size(bytes));
}
