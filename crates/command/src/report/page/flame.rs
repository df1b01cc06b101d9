//! Memory at the peak by call site, as a flame graph: callers above the functions that they called, then roles and names of
//! objects. A frame is as wide as its share of the peak. On a narrow screen the style makes the graph a list.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::html::Html;
use super::{KINDS, peaks};
use crate::report::facts::Process;
use crate::report::layers::Role;
use crate::report::sentences::Percent;
use syncedmem_core::text::Size;

/// Frames below one part in this many are joined. Several processes on a page share the frames.
const FRAMES: u64 = 128;
const LEAST: u64 = 16;
/// The list of a narrow screen leaves out frames below one part in this many.
const TINY: u64 = 50;

/// Number of frames of one call site.
const DEPTH: usize = 32;

#[derive(Default)]
struct FlameFrame<'a> {
    text: &'a str,
    bytes: u64,
    below: Vec<FlameFrame<'a>>,
    /// Places in `below`, by text.
    places: HashMap<&'a str, usize>,
}

impl<'a> FlameFrame<'a> {
    fn add(&mut self, bytes: u64, mut frames: impl Iterator<Item = &'a str>) {
        self.bytes += bytes;
        let Some(text) = frames.next() else { return };
        let at = *self.places.entry(text).or_insert_with(|| {
            self.below.push(FlameFrame { text, ..FlameFrame::default() });
            self.below.len() - 1
        });
        self.below[at].add(bytes, frames);
    }

    /// Sorts by bytes, and joins frames below `least`.
    fn sort(&mut self, least: u64) {
        let (mut large, small): (Vec<_>, Vec<_>) = self.below.drain(..).partition(|frame| frame.bytes >= least);
        large.sort_by_key(|frame| (Reverse(frame.bytes), frame.text));
        if !small.is_empty() {
            let bytes = small.iter().map(|frame| frame.bytes).sum();
            large.push(FlameFrame { text: "smaller ones", bytes, ..FlameFrame::default() });
        }
        self.below = large;
        self.below.iter_mut().for_each(|frame| frame.sort(least));
    }
}

/// The frames in the text of a place, the outermost first.
fn path(place: &str) -> impl Iterator<Item = &str> {
    let (frames, module) = match place.strip_suffix(')').and_then(|place| place.rsplit_once(" (")) {
        Some((frames, module)) => (frames, Some(module)),
        None => (place, None),
    };
    module.into_iter().chain(frames.rsplit(", from ").take(DEPTH))
}

/// Writes a graph for each kind of memory. `of` is the number of processes on the page.
pub fn write(html: &mut Html, process: &Process, of: usize) {
    if peaks(process) == [0; 3] {
        return;
    }
    let (columns, _) = process.timeline.in_columns(usize::MAX);
    html.markup("<section class=\"flames\"><h3>Who asked for it</h3>");
    html.markup("<p class=\"none\">Memory at the peak: callers above the functions that they called, and roles and names of objects below.</p>");
    for (kind, key, name) in KINDS {
        let peak = process.account.memory(kind).peak;
        let Some(column) = columns.iter().find(|column| peak > 0 && column.most[kind as usize] == peak) else {
            continue;
        };
        let mut all = FlameFrame { text: name, ..FlameFrame::default() };
        for part in &process.parts {
            let bytes = part.held[kind as usize].at(column.samples[kind as usize]);
            if bytes > 0 {
                let role = part.name.as_deref().and_then(Role::of_name).map(Role::name);
                all.add(bytes, path(&part.place).chain(role).chain(part.name.as_deref()));
            }
        }
        all.sort(peak / (FRAMES / of.max(1) as u64).max(LEAST));
        html.markup("<div class=\"flame ").markup(key).markup("\" data-kind=\"").markup(key).markup("\"><ul>");
        frame(html, &all, peak, 0);
        html.markup("</ul></div>");
    }
    html.markup("</section>");
}

fn frame(html: &mut Html, this: &FlameFrame, of: u64, depth: usize) {
    let share = Percent { part: this.bytes, of };
    let is_tiny = this.bytes < of / TINY;
    html.markup(if is_tiny { "<li class=\"tiny\"" } else { "<li" }).markup(" style=\"flex-grow:").text(this.bytes);
    if !is_tiny {
        let part = this.bytes as f64 / of.max(1) as f64 * 100.0;
        html.markup(";--depth:").text(depth).markup(";--share:").text(format_args!("{part:.1}")).markup("%");
    }
    html.markup("\"><span class=\"frame\" data-v=\"")
        .text(this.bytes)
        .markup("\" data-shown=\"")
        .text(Size(this.bytes));
    html.markup("\" title=\"")
        .text(this.text)
        .markup(": ")
        .text(Size(this.bytes))
        .markup(", ")
        .text(share)
        .markup("\">");
    html.text(this.text).markup("</span>");
    if !this.below.is_empty() {
        html.markup("<ul>");
        this.below.iter().for_each(|below| frame(html, below, of, depth + 1));
        let own = this.bytes - this.below.iter().map(|frame| frame.bytes).sum::<u64>();
        if own > 0 {
            html.markup("<li style=\"flex-grow:").text(own).markup("\"></li>");
        }
        html.markup("</ul>");
    }
    html.markup("</li>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{TICKS, cost};

    #[test]
    fn a_path_begins_with_the_outermost_frame() {
        fn shown(place: &str) -> Vec<&str> {
            path(place).collect()
        }
        assert_eq!(shown("f, from g, from main (libcaffe.so.1)"), ["libcaffe.so.1", "main", "g", "f"]);
        assert_eq!(shown("f"), ["f"]);
        assert_eq!(shown("g(int) (a.out)"), ["a.out", "g(int)"]);
        assert_eq!(shown(""), [""]);
        assert_eq!(shown(&"f, from ".repeat(100_000)).len(), DEPTH);
    }

    #[test]
    fn many_frames_of_one_caller_take_linear_time() {
        let [few, many] = [4_000, 16_000].map(|count| {
            let names: Vec<_> = (0..count).map(|number| format!("layer{number} output")).collect();
            cost(|| {
                let mut all = FlameFrame::default();
                names.iter().for_each(|name| all.add(1, [name.as_str()].into_iter()));
                assert_eq!(all.below.len(), count);
            })
        });
        // Linear time is four times as much, and quadratic time 16 times.
        assert!(many < 9 * few + TICKS, "{few} ns, and of four times as many {many} ns");
    }
}
