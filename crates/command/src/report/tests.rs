//! The page, the text and the JSON.

use std::collections::HashMap;

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Event, Noticed, Site, What};

use crate::diff;

use super::Shown;
use super::facts::{Ending, How, Process, Trace};
use super::gather::Gathering;
use super::json_of;
use super::page;
use super::rows::{IN_PLACE, InPlace};
use super::samples::{TICKS, allocated, at, copied, cost, freed, life, process};
use super::text;

fn page_of<const N: usize>(processes: [Process; N]) -> String {
    page::of(
        &Trace { name: "train.json".to_string(), processes: processes.into(), notes: Vec::new() },
        Shown::default(),
    )
}

#[test]
fn control_characters_of_a_programs_name_do_not_reach_the_terminal() {
    let trace = Trace {
        name: "t\x1b[2J".to_string(),
        processes: Vec::new(),
        notes: vec!["caffe\x1b]0;x\x07 (process 7): the disk was full".to_string()],
    };
    let text = text_of(&trace);
    assert!(text.contains("the disk was full") && !text.contains(['\x1b', '\x07']), "{text:?}");
    // JSON itself escapes neither.
    let json = json_of(&Trace { name: "t\u{9b}2J\u{202e}".to_string(), ..Trace::default() }, None);
    assert!(json.contains("\"t\\u009b2J\\u202e\""), "{json:?}");
}

/// The machine's memory is another one elsewhere.
fn text_of(trace: &Trace) -> String {
    text::of(trace, Shown { details: false, fit: Some(1 << 30) })
}

fn fact(page: &str, name: &str) -> u64 {
    let attribute = format!("data-fact=\"{name}\" data-v=\"");
    let found: Vec<_> = page.match_indices(&attribute).collect();
    assert_eq!(found.len(), 1, "{name}");
    let number = &page[found[0].0 + attribute.len()..];
    number[..number.find('"').expect("a quote")].parse().expect("a number")
}

/// Tags match, and attributes are quoted.
fn is_well_formed(page: &str) {
    const VOID: [&str; 3] = ["input", "meta", "wbr"];
    let (before, script) = page.split_once("<script>").expect("a script");
    let (style_before, style) = before.split_once("<style>").expect("a style");
    let (_, rest) = style.split_once("</style>").expect("its end");
    let text = format!("{style_before}{rest}{}", script.split_once("</script>").expect("its end").1);
    let mut open = Vec::new();
    for tag in text.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("the end of a tag");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split(' ').next().expect("a name");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !name.starts_with('!') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn places_and_names_with_markup_in_them_are_shown_as_they_are() {
    let evil = "</script><img src=x onerror='alert(\"1\")'>Blob<float>::Reshape & co\u{202e}";
    let mut gathering = Gathering::default();
    life().iter().for_each(|event| gathering.take(event));
    gathering.name(0x1000, "conv1 <script>alert(1)</script>");
    let mut process = gathering.finish(1, evil.to_string(), HashMap::from([(Site(1), evil.to_string())]));
    let (layers, change) = (evil.to_string(), evil.to_string());
    process.in_place.push(InPlace { layers, change, count: 1, bytes: 1 });
    let page = page::of(
        &Trace { name: evil.to_string(), processes: vec![process], notes: vec![evil.to_string()] },
        Shown::default(),
    );
    is_well_formed(&page);
    assert!(
        !page.contains("<img")
            && !page.contains('\u{202e}')
            && !page.contains("alert(\"1\")")
            && !page.contains("<script>alert")
    );
    assert!(page.contains("Blob&lt;float&gt;::<wbr>Reshape &amp; co"));
    for before in ["<bdi>", "<title>", " title=\"", "%\">"] {
        assert!(page.contains(&format!("{before}conv1 &lt;script&gt;alert(1)&lt;/script&gt;")), "{before}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn a_trace_without_events_gives_a_page_that_says_so() {
    let page = page_of([]);
    is_well_formed(&page);
    assert!(page.contains("The trace holds no events of libsyncedmem."));
    assert_eq!(fact(&page, "events"), 0);
    let text = text_of(&Trace { name: "a".into(), ..Trace::default() });
    assert_eq!(text, "a: the trace holds no events of libsyncedmem.\n");
}

#[test]
fn a_single_event_gives_a_page() {
    let page = page_of([process(&[at(5, 0, allocated(Kind::Device, 100))])]);
    is_well_formed(&page);
    assert_eq!(fact(&page, "peak.device"), 100);
    assert!(page.contains("data-kind=\"device\"") && !page.contains("data-kind=\"pinned\""));
    assert!(page.contains("Nothing was copied between host and device."));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn a_page_begins_with_the_end_of_a_process_that_was_killed() {
    let ending = Ending { how: How::Killed { signal: 9 }, growing: Some("fc6 <weights>".into()), ..Ending::default() };
    let page = page_of([Process { ending, ..process(&life()) }]);
    is_well_formed(&page);
    let line = page
        .find("caffe train was killed by signal 9 at 4.0 KiB, and 4.5 KiB on the device, growing: fc6 &lt;weights&gt;");
    assert!(line.expect("the line") < page.find("<p class=\"headline\">").expect("the peak"));
}

/// The page of `made` objects with almost four events each.
fn page_of_many(made: u64) -> String {
    let mut gathering = Gathering::default();
    for n in 0..made {
        let (object, site) = (0x1000 + n % 3000 * 64, Site((n % 500) as u32 + 1));
        let kind = Kind::ALL[(n % 3) as usize];
        let bytes = 1 + n * 7919 % 1_000_003;
        let to = if n % 2 == 0 { Side::Host } else { Side::Device };
        for what in [What::Made { bytes, noticed: Noticed::Construction }, allocated(kind, bytes), copied(to, bytes)] {
            gathering.take(&Event { object, site, ..at(n * 4000, 900, what) });
        }
        if n % 5 > 0 {
            gathering.take(&Event { object, site, ..at(n * 4000 + 1000, 0, freed(kind, bytes)) });
        }
    }
    let process = gathering.finish(
        1,
        "long".to_string(),
        (1..=500).map(|n| (Site(n), format!("caffe::Layer{n}<float>::Forward"))).collect(),
    );
    assert_eq!(process.events, made * 19 / 5);
    let copied = process.account.copies_to(Side::Device).bytes;
    let page = page_of([process]);
    is_well_formed(&page);
    assert_eq!(fact(&page, "copy to the device, pageable.bytes"), copied);
    page
}

#[test]
fn a_page_shows_what_waited_and_as_what() {
    let mut gathering = Gathering::default();
    life().iter().for_each(|event| gathering.take(event));
    assert!(!page_of([process(&life())]).contains("waited"));
    gathering.net("\tshared\t-\t9\t9\t30\t0\t0\t0\t61\t5000\t0\t0\t0\t0\t1\t3000\t2000");
    let process = gathering.finish(1, "train".to_string(), HashMap::new());
    let trace = Trace { processes: vec![process], ..Trace::default() };
    let line = "7.8 KiB waited as 2.0 KiB: 61 duplicates, 1 by its zeros";
    assert!(text_of(&trace).contains(&format!("shared memory needed 9 B for blobs of 30 B\n{line}\n")));
    let page = page::of(&trace, Shown::default());
    is_well_formed(&page);
    assert!(page.contains(&format!("<p>{line}</p>")) && page.contains(&format!("<p>{line}. From")), "{page}");
    assert_eq!(["count", "bytes", "kept"].map(|of| fact(&page, &format!("waited.duplicates.{of}"))), [61, 5000, 0]);
    assert_eq!(["bytes", "kept"].map(|of| fact(&page, &format!("waited.by their zeros.{of}"))), [3000, 2000]);
    assert!(!page.contains("waited.by their small differences"));
}

#[test]
fn a_page_does_not_grow_with_the_number_of_events() {
    let [few, many] = [20_000, 80_000].map(|made| page_of_many(made).len());
    assert!(many < 1_000_000 && many < few * 3 / 2, "{few} bytes of 20,000 objects, {many} of 80,000");
}

#[test]
fn a_column_of_nothing_is_left_out_and_rows_beyond_the_largest_are_one() {
    let mut gathering = Gathering::default();
    for n in 0..1010u64 {
        let (object, site) = (0x1000 + n * 64, Site(n as u32 + 1));
        gathering.take(&Event { object, site, ..at(n, 0, What::Made { bytes: n, noticed: Noticed::Construction }) });
        gathering.take(&Event { object, site, ..at(n, 1, allocated(Kind::Device, n + 1)) });
    }
    let process = gathering.finish(1, String::new(), (1..=1010).map(|n| (Site(n), format!("place {n}"))).collect());
    let page = page_of([process]);
    is_well_formed(&page);
    let (_, holders) = page.split_once("<h3>Holders</h3>").expect("the table");
    let (holders, _) = holders.split_once("</table>").expect("its end");
    assert!(holders.contains("Device at its peak") && !holders.contains("Pinned") && !holders.contains("Pageable"));
    // The smallest ten hold 1 to 10 bytes.
    assert!(holders.contains("<bdi>10 others</bdi></th><td class=\"n\" data-v=\"55\">55 B</td>"), "{holders}");
    assert_eq!(holders.matches("<tr>").count(), 1 + 1000 + 1);
}

#[test]
fn a_page_about_many_processes_shows_the_busiest_and_lists_all() {
    let mut processes: Vec<_> =
        (0..200).map(|id| Process { id, ..process(&[at(5, 0, allocated(Kind::Device, 9))]) }).collect();
    processes[150] = Process { id: 150, ..process(&life()) };
    let page = page::of(&Trace { processes, ..Trace::default() }, Shown::default());
    is_well_formed(&page);
    assert_eq!(page.matches("data-process=").count(), 30);
    assert!(
        page.contains("data-process=\"150\"") && page.contains("href=\"#p150\"") && !page.contains("href=\"#p151\"")
    );
    assert!(page.contains("170 processes have fewer events"));
    assert!(page.contains("data-v=\"199\""));
    assert!(page.len() < 1_000_000, "{}", page.len());
}

#[test]
fn advice_stands_on_top_and_what_is_to_be_changed_in_several_places_is_said_once() {
    let place = |layers: &str, count| InPlace {
        layers: layers.to_string(),
        change: "there".to_string(),
        count,
        bytes: count * 1000,
    };
    let in_place = vec![place("one", 3), place("two", 4), place("three", 5)];
    let page = page_of([Process { in_place, ..process(&life()) }]);
    is_well_formed(&page);
    assert_eq!(page.matches(IN_PLACE.to_do).count(), 1);
    assert!(page.find(IN_PLACE.to_do) < page.find("Memory over time"));
    for row in
        ["12 layers, 11.7 KiB to save (", "<bdi>one</bdi>", "<bdi>two</bdi>", "<bdi>three</bdi>", "<bdi>there</bdi>"]
    {
        assert!(page.contains(row), "{row}");
    }
}

/// A process with this many named holders.
fn held_by(count: u64) -> Process {
    let mut gathering = Gathering::default();
    for number in 0..count {
        let of = |event| Event { object: 0x1000 * (number + 1), ..event };
        gathering.take(&of(at(number, 0, What::Made { bytes: 4096, noticed: Noticed::Construction })));
        gathering.name(0x1000 * (number + 1), &format!("layer{number} output"));
        gathering.take(&of(at(number, 0, allocated(Kind::Pageable, 4096))));
    }
    gathering.finish(1, "train".to_string(), HashMap::from([(Site(1), "place".to_string())]))
}

#[test]
fn the_comparison_of_many_holders_takes_linear_time() {
    let trace = |count| Trace { processes: vec![held_by(count)], ..Trace::default() };
    is_linear(1_000, |count| {
        let trace = trace(count);
        assert_eq!(diff::write(&mut String::new(), &trace, &trace), Ok(true));
    });
}

/// A gathering in linear time.
fn is_linear(few: u64, of: impl Fn(u64)) {
    let [few, many] = [few, 4 * few].map(|count| cost(|| of(count)));
    assert!(many < 9 * few + TICKS, "{few} ns, and of four times as many {many} ns");
}

#[test]
fn callers_at_many_places_take_linear_time() {
    is_linear(3_000, |count| {
        let mut gathering = Gathering::default();
        for number in 1..=count {
            let of = |event| Event { object: 0x1000 * number, site: Site(number as u32), ..event };
            life().into_iter().map(of).for_each(|event| gathering.take(&event));
        }
        let places = (1..=count).map(|number| (Site(number as u32), format!("place {number}"))).collect();
        let found = gathering.finish(1, "train".to_string(), places).callers.len();
        assert_eq!(found as u64, count);
    });
}

#[test]
fn a_layer_with_many_blobs_takes_linear_time() {
    is_linear(3_000, |count| {
        let blobs = |letter| (0..count).map(|number| format!("\t{letter}{number}")).collect::<String>();
        let mut gathering = Gathering::default();
        gathering.net(&format!("Slice\tslice\t{count}{}{}\n", blobs('a'), blobs('b')));
        gathering.finish(1, "train".to_string(), HashMap::new());
    });
}

#[test]
fn a_batch_fits_in_some_memory() {
    assert_eq!(["17", "2m", "8G"].map(super::fitting), [17, 2 << 20, 8 << 30].map(Ok));
    assert!(["", "0", "8GB"].iter().all(|bad| super::fitting(bad).is_err()));
}
