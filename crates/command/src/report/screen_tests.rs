//! The first screen.

use std::collections::HashMap;

use serde_json::json;
use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Cause, Event, Noticed, Path, What};

use super::facts::{Ending, How, Process, Trace};
use super::gather::Gathering;
use super::rows::InPlace;
use super::samples::{allocated, at};
use super::{Shown, document, page, text};

const MIB: u64 = 1 << 20;

/// Makes an object with a block, and a name if that is not empty.
fn hold(gathering: &mut Gathering, object: u64, kind: Kind, bytes: u64, name: &str) {
    for what in [What::Made { bytes, noticed: Noticed::Construction }, allocated(kind, bytes)] {
        gathering.take(&Event { object, ..at(object, 10, what) });
    }
    if !name.is_empty() {
        gathering.name(object, name);
    }
}

/// A net of 64 items: weights, their gradient, an output and its gradient.
fn net() -> Gathering {
    let mut gathering = Gathering::default();
    for (object, name, mebibytes, items) in [
        (64, "fc6 weights", 10, 0),
        (128, "fc6 weights gradient", 10, 0),
        (192, "conv1 output", 64, 64),
        (256, "conv1 output gradient", 64, 64),
    ] {
        hold(&mut gathering, object, Kind::Pageable, mebibytes * MIB, name);
        gathering.items(object, items);
    }
    gathering
}

fn killed() -> Ending {
    Ending { how: How::Killed { signal: 6 }, growing: Some("conv1 output".into()), ..Ending::default() }
}

#[test]
fn nets_of_one_file_that_were_not_ended_are_counted() {
    let mut gathering = Gathering::default();
    (1..=12).for_each(|object| hold(&mut gathering, object, Kind::Pageable, MIB, "f weights"));
    hold(&mut gathering, 99, Kind::Pageable, MIB, "g weights");
    (100..=102).for_each(|object| hold(&mut gathering, object, Kind::Pageable, MIB, "g internal"));
    let mut trace = Trace::default();
    trace.processes.push(finished(gathering, Ending::default()));
    for details in [false, true] {
        let text = text::of(&trace, Shown { details, fit: None });
        let lines = text.matches("    12.0 MiB  75.0 %  f weights, 12 blocks\n").count();
        assert_eq!(lines, 1 + usize::from(details), "{text}");
        assert!(text.contains("  g weights\n") && text.contains("  g internal\n"), "{text}");
    }
}

#[test]
fn a_kill_at_the_limit_of_a_control_group_is_told_as_one() {
    let text = |resident| {
        let ending = Ending { how: How::Killed { signal: 9 }, resident_peak: Some(resident * MIB), ..killed() };
        let mut process = finished(net(), ending);
        process.about.limits = vec![("control group".to_string(), 200 * MIB)];
        screen(process).replace('\n', " ")
    };
    let (near, far) = (text(190), text(150));
    let begin =
        "caffe was killed by signal 9, as the kernel does beyond the control group's limit (200.0 MiB), at 148.0 MiB, ";
    assert!(near.starts_with(begin) && near.contains("growing: conv1 output"), "{near}");
    assert!(near.contains("batch 64 did not fit in the control group's limit (200.0 MiB)"), "{near}");
    assert!(
        far.starts_with("caffe was killed by signal 9 at 148.0 MiB, growing") && far.contains("would hold"),
        "{far}"
    );
}

#[test]
fn a_batch_fits_in_the_narrowest_of_the_limits() {
    let batch = |limits: &[(&str, u64)], setting: &str| {
        let mut process = finished(net(), Ending { address_space_peak: Some(500 * MIB), ..ended(200 * MIB, 1) });
        process.about.limits = limits.iter().map(|&(name, mebibytes)| (name.to_string(), mebibytes * MIB)).collect();
        process.about.settings = vec![setting.to_string()];
        let text = text_of(process, Shown::default());
        let line = text.lines().find(|line| line.starts_with("at batch")).unwrap_or_default().to_string();
        line.replace("at batch 64, one more item costs 2.0 MiB", "")
    };
    assert_eq!(batch(&[], ""), "");
    assert_eq!(batch(&[("machine", 1024)], ""), "; this machine's 1.0 GiB would hold batch 476");
    let limits = [("machine", 1024), ("address space", 700)];
    assert_eq!(batch(&limits, ""), "; ulimit -v's 700.0 MiB would hold batch 164");
    let host_limit = "SYNCEDMEM_HOST_LIMIT=150M";
    assert_eq!(batch(&limits, host_limit), "; SYNCEDMEM_HOST_LIMIT's 150.0 MiB would hold batch 65");
}

fn finished(gathering: Gathering, ending: Ending) -> Process {
    Process { ending, ..gathering.finish(7, "caffe".to_string(), HashMap::new()) }
}

fn ended(resident: u64, elapsed: u64) -> Ending {
    Ending { how: How::Whole, resident_peak: Some(resident), elapsed: Some(elapsed), ..Ending::default() }
}

fn text_of(process: Process, shown: Shown) -> String {
    let trace = Trace { name: "a".into(), processes: vec![process], notes: Vec::new() };
    text::of(&trace, shown)
}

/// In a room that is the same on every machine.
fn screen(process: Process) -> String {
    text_of(process, Shown { details: false, fit: Some(1 << 30) })
}

#[test]
fn the_first_screen_says_the_peak_the_roles_the_holders_the_batch_and_what_is_worth_doing_in_this_order() {
    let mut gathering = net();
    gathering.take(&Event { object: 64, ..at(900, 2_000_000, What::Filled { side: Side::Host, bytes: 10 * MIB }) });
    let text = screen(finished(gathering, ended(200 * MIB, 1_000_000_000)));
    assert_eq!(
        text,
        "\
libsyncedmem: memory of caffe (process 7)
peak 148.0 MiB of blobs; the process 200.0 MiB, 52.0 MiB of it not in blobs

memory at the peak, by role
    64.0 MiB  43.2 %  activations
    64.0 MiB  43.2 %  gradients of activations
    10.0 MiB   6.8 %  weights
    10.0 MiB   6.8 %  gradients of weights

memory at the peak, by holder
    64.0 MiB  43.2 %  conv1 output
    64.0 MiB  43.2 %  conv1 output gradient
    10.0 MiB   6.8 %  fc6 weights
    10.0 MiB   6.8 %  fc6 weights gradient

at batch 64, one more item costs 2.0 MiB; 1.0 GiB would hold batch 476

1 fill (10.0 MiB) took 2.0 ms: 0.2 % of the 1.0 s of the run

nothing worth doing
"
    );
}

#[test]
fn a_batch_fits_if_what_does_not_grow_and_its_items_do() {
    let batch = |fit| {
        let text = text_of(finished(net(), ended(148 * MIB, 1)), Shown { details: false, fit: Some(fit) });
        text.lines().find(|line| line.starts_with("at batch")).unwrap_or_default().to_string()
    };
    assert_eq!(batch(22 * MIB), "at batch 64, one more item costs 2.0 MiB; 22.0 MiB would hold batch 1");
    assert_eq!(
        batch(22 * MIB - 1),
        "at batch 64, one more item costs 2.0 MiB; 22.0 MiB would hold no batch, since 20.0 MiB do not depend on it"
    );
    assert_eq!(batch(148 * MIB), "at batch 64, one more item costs 2.0 MiB; 148.0 MiB would hold batch 64");
}

#[test]
fn a_batch_whose_items_cost_next_to_nothing_has_no_line() {
    let text = |bytes: u64, items, resident| {
        let mut gathering = net();
        hold(&mut gathering, 0x9000, Kind::Pageable, bytes, "small output");
        gathering.items(0x9000, items);
        text_of(finished(gathering, ended(resident, 1)), Shown { details: false, fit: Some(200 << 40) })
    };
    let held = "would hold batch 1048576 and more\n";
    // A net of two items beside the one of 64, which has its line.
    for (bytes, items, resident, is_told) in [
        (632, 2, 200 * MIB, false),
        (64 * 1024, 2, 200 * MIB, true),
        // The same in a process that needs more besides.
        (64 * 1024, 2, 4096 * MIB, false),
        // No batch.
        (30 * MIB, 79_480_846, 200 * MIB, false),
        (30 * MIB, 9_480, 200 * MIB, true),
    ] {
        let text = text(bytes, items, resident);
        assert_eq!(
            text.contains(&format!("at batch {items}, one more item costs")),
            is_told,
            "{bytes}, {items}: {text}"
        );
        assert!(text.contains("at batch 64, one more item costs 2.0 MiB; ") && text.contains(held), "{text}");
        let most = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).max();
        assert!(most <= Some(1 << 20), "{text}");
    }
}

#[test]
fn nets_of_two_batches_have_a_line_each() {
    let mut gathering = net();
    hold(&mut gathering, 0x9000, Kind::Pageable, 100 * MIB, "");
    gathering.items(0x9000, 100);
    let text = screen(finished(gathering, Ending::default()));
    assert!(text.contains("at batch 64, one more item costs 2.0 MiB; 1.0 GiB would hold batch 452\n"), "{text}");
    assert!(text.contains("at batch 100, one more item costs 1.0 MiB; 1.0 GiB would hold batch 876\n"), "{text}");
}

#[test]
fn pinned_memory_is_named_where_there_was_some() {
    let mut gathering = net();
    assert!(!text_of(finished(net(), Ending::default()), Shown { details: true, fit: None }).contains("inned"));
    hold(&mut gathering, 0x9000, Kind::Pinned, MIB, "");
    let text = screen(finished(gathering, Ending::default()));
    assert!(text.contains("peak 1.0 MiB pinned, 148.0 MiB pageable memory of blobs\n"), "{text}");
    assert!(text.contains("\npinned memory at the peak, by holder\n"), "{text}");
}

#[test]
fn a_time_that_was_not_measured_is_called_so_and_a_sum_over_threads_too() {
    let mut gathering = net();
    let bytes = 3 * MIB;
    let copied = What::Copied { to: Side::Device, bytes, path: Path::Pageable, cause: Cause::Access(Access::Read) };
    for thread in [1, 2] {
        gathering.take(&Event { object: 64, thread, ..at(1000, 250_000_000, copied) });
    }
    gathering.take(&Event {
        object: 64,
        ..at(1100, 5, What::Started { to: Side::Host, bytes, path: Path::Pinned, copy: 1 })
    });
    let text = text_of(finished(gathering, ended(MIB, 2_000_000_000)), Shown { details: true, fit: None });
    let shown =
        "2 copies (6.0 MiB) took 500.0 ms: 25.0 % of the 2.0 s of the run, summed over 2 threads; copies on streams: 1";
    assert!(text.replace('\n', " ").contains(&format!("{shown} (3.0 MiB), time not measured")), "{text}");
    assert!(
        text.contains("peak 148.0 MiB of blobs; the process 1.0 MiB: not all of the blobs' memory was ever used\n"),
        "{text}"
    );
}

#[test]
fn advice_is_told_where_it_saves_a_thousandth_of_the_peak_with_what_has_to_be_changed() {
    let place = |layers: &str, bytes| InPlace { layers: layers.into(), change: "there".into(), count: 2, bytes };
    let with = |in_place: Vec<InPlace>, details| {
        let process = Process { in_place, ..finished(net(), ended(MIB, 1_000_000)) };
        text_of(process, Shown { details, fit: None })
    };
    let text = with(vec![place("relu1", MIB), place("relu2", MIB)], false);
    assert!(text.contains("\n  1. prototxt: in-place, possible, 4 layers, 2.0 MiB to save ("), "{text}");
    assert_eq!(text.matches("Give each output the name of the input").count(), 1, "{text}");
    let small = with(vec![place("relu1", 999)], false);
    assert!(
        small.contains("nothing worth doing: no advice saves a thousandth of the peak (1 smaller: --details)"),
        "{small}"
    );
    assert!(!small.contains("Give each"), "{small}");
    assert!(with(vec![place("relu1", 999)], true).contains("Give each output"));
}

/// A convolution whose next layers could be in place, in training.
fn not_shared() -> Gathering {
    let mut gathering = net();
    for (object, name) in
        [(640, "norm output"), (704, "norm output gradient"), (768, "relu output"), (832, "relu output gradient")]
    {
        hold(&mut gathering, object, Kind::Pageable, 32 * MIB, name);
    }
    let layers = "Input\tdata\t0\tdata\nConvolution\tconv1\t1\tdata\tconv1\nBatchNorm\tnorm\t1\tconv1\tnorm\n\
                  ReLU\trelu\t1\tnorm\trelu\nInnerProduct\tfc6\t1\trelu\tfc6\n";
    (0..2).for_each(|_| gathering.net(layers));
    gathering
}

#[test]
fn layers_that_could_be_in_place_are_told_with_what_to_write_and_the_types_of_layers_with_what_they_hold() {
    let text = screen(finished(not_shared(), ended(300 * MIB, 1_000_000_000)));
    assert!(
        text.contains("\n\nmemory at the peak, by type of layer\n   128.0 MiB  46.4 %  Convolution, 1 layer\n"),
        "{text}"
    );
    assert!(text.contains("    64.0 MiB  23.2 %  BatchNorm, 1 layer\n    64.0 MiB  23.2 %  ReLU, 1 layer\n"), "{text}");
    assert!(text.contains("\n  1. prototxt: in-place, possible, 2 layers, 96.0 MiB to save (34.8 %)\n"), "{text}");
    assert!(text.contains("\n       - 96.0 MiB: norm, relu: write \"conv1\" for \"norm\", \"relu\"\n"), "{text}");
    assert!(!text.contains("nothing worth doing") && !text.contains("beginning"), "{text}");
}

/// A net of 64 items in training, with what three plans would need of its 128 MiB.
fn with_plans([gradients, all, parked]: [u64; 3]) -> Gathering {
    let mut gathering = net();
    let plan = |mebibytes: u64| format!("\t{}\t{}\t{}\t{}", 128 * MIB, mebibytes * MIB, 256 * MIB, 2 * mebibytes * MIB);
    gathering.net(&format!("\tsharing\t-\t1\t7\t64{}{}{}", plan(gradients), plan(all), plan(parked)));
    gathering
}

/// The first screen, in one line.
fn in_one_line(gathering: Gathering, resident: u64) -> String {
    let text = screen(finished(gathering, ended(resident * MIB, 1_000_000_000)));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_value_of_share_is_shown_if_it_needs_a_tenth_less_than_the_next_one() {
    let begin = |plans| {
        let text = in_one_line(with_plans(plans), 200);
        let from = text.find("--share").expect("a value");
        text[from..text.find("memory at the peak").expect("a list")].to_string()
    };
    assert_eq!(
        begin([80, 60, 20]),
        "--share=parked would need 40.0 MiB of these 148.0 MiB; --share=all, which encodes nothing, 80.0 MiB; \
         --share=gradients, which leaves the activations readable, 100.0 MiB with --share=parked, one more item would cost \
         320.0 KiB; 1.0 GiB would hold batch 3046 "
    );
    let training = begin([80, 75, 20]);
    assert!(
        training.starts_with("--share=parked would need 40.0 MiB of these 148.0 MiB; --share=gradients, "),
        "{training}"
    );
    let test = begin([127, 20, 20]);
    assert!(
        test.starts_with(
            "--share=all would need 40.0 MiB of these 148.0 MiB with --share=all, one more item would cost"
        ),
        "{test}"
    );
    assert!(begin([70, 69, 68]).starts_with("--share=gradients would need 90.0 MiB of these 148.0 MiB with"));
    let small = in_one_line(with_plans([127, 126, 125]), 200);
    assert!(!small.contains("--share") && small.ends_with("nothing worth doing"), "{small}");
}

#[test]
fn the_first_advice_is_to_share_with_the_bytes_of_the_process() {
    let share = "worth doing 1. command: --share=parked, possible 108.0 MiB to save (54.0 %): the process would need 92.0 MiB \
                 instead of 200.0 MiB Give syncedmem run the option";
    let text = in_one_line(with_plans([80, 60, 20]), 200);
    assert!(text.contains(share) && !text.contains("nothing worth") && !text.contains(" 2. "), "{text}");
    let unused = in_one_line(with_plans([80, 60, 20]), 100);
    assert!(
        unused.contains("108.0 MiB to save (73.0 %): its blobs would need 40.0 MiB instead of 148.0 MiB"),
        "{unused}"
    );

    let mut gathering = not_shared();
    gathering.net(&format!("\tsharing\t-\t1\t7\t64{}", format!("\t{}\t{}", 200 * MIB, 100 * MIB).repeat(6)));
    let process = finished(gathering, ended(300 * MIB, 1_000_000_000));
    let text = screen(process.clone());
    let places =
        ["worth doing; the first makes the second save less\n\n  1. command: --share", "\n  2. prototxt: in-place"];
    let places = places.map(|part| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}")));
    assert!(places.is_sorted());
    let trace = Trace { processes: vec![process], ..Trace::default() };
    let advice = document::of(&trace, None)["processes"][0]["advice"].clone();
    let first: Vec<_> = ["rule", "at", "bytes", "worth_doing"].map(|field| advice[0][field].clone()).into();
    assert_eq!(first, [json!("share"), json!("--share=gradients"), json!(100 * MIB), json!(true)]);
    assert_eq!(advice[1]["rule"], "in-place");
    let page = page::of(&trace, Shown::default());
    let places = [
        "<h4>command: --share=gradients <",
        "the process would need 200.0 MiB instead of 300.0 MiB.</p>",
        "<h4>prototxt: in-place <",
    ];
    let places = places.map(|part| page.find(part).unwrap_or_else(|| panic!("{part} is not in {page}")));
    assert!(places.is_sorted() && !page.contains("Nothing worth doing"), "{places:?}");
}

#[test]
fn where_the_largest_holders_hold_little_layers_are_summed_by_the_beginning_of_their_names() {
    let mut gathering = Gathering::default();
    for number in 1..=60 {
        let sort = if number % 3 == 0 { "bn" } else { "res" };
        let name = format!("{sort}{}{} output", number % 4, number / 4);
        hold(&mut gathering, number * 64, Kind::Pageable, MIB, &name);
    }
    let text = screen(finished(gathering, Ending::default()));
    let groups =
        "\n\nmemory at the peak, by the beginning of the layers' names\n    40.0 MiB  66.7 %  res…, 40 layers\n";
    assert!(text.contains(groups) && text.contains("    20.0 MiB  33.3 %  bn…, 20 layers\n"), "{text}");
}

#[test]
fn the_details_have_the_account_and_all_holders() {
    let mut gathering = net();
    for number in 0..20 {
        hold(&mut gathering, 0x10000 + number * 64, Kind::Pageable, 8, &format!("small {number}"));
    }
    let process = finished(gathering, Ending::default());
    let first = screen(process.clone());
    assert!(first.contains("14 others") && !first.contains("objects made"), "{first}");
    let text = text_of(process, Shown { details: true, fit: None });
    for line in [
        "objects made: 24, ended: 0",
        "pageable memory: 148.0 MiB at its peak, 148.0 MiB now",
        "         8 B   0.0 %  small 19",
        "  pageable memory from the system                   24   148.0 MiB        240 ns",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line:?} is not in\n{text}");
    }
}
