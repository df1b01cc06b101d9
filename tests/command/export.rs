//! `syncedmem export`: records by the rules of the format, checked with a JSON parser that is not this project's.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use syncedmem_trace::event::Event;
use syncedmem_trace::recording::header::About;

use crate::caffe_like::{command, said};
use crate::events::{self, nested};
use crate::support::folder::Folder;
use syncedmem_trace::recording::sample::{Recording, process};

fn recorded(about: &About<&str>, events: &[Event]) -> Recording {
    let recording = Recording::new(about);
    recording.site(1, "place \"with\" \\ and \n\u{1b}[2J");
    events.iter().for_each(|&event| recording.event(event));
    recording
}

/// What the command writes of the recordings in a folder.
fn records(folder: &Folder) -> Vec<Value> {
    let result = said(command().args(["export", ".", "--to", "json", "-o", "-"]).current_dir(&**folder));
    assert_eq!(result.error, "");
    let text = result.ok();
    let all: Vec<Value> = serde_json::from_str(&text).expect("a JSON array");
    assert_eq!(text.lines().count(), all.len() + 2, "one line for each record, and one for each bracket");
    all.iter().for_each(is_a_record);
    all
}

#[test]
fn slices_nest_and_each_flow_has_both_ends_on_every_thread() {
    let folder = Folder::new();
    let events = events::a_run(3, 8);
    recorded(&process(7), &events).write(&folder.path("a"));
    recorded(&About { start: 200, ..process(8) }, &events).write(&folder.path("b"));
    let records = records(&folder);
    let slices = slices(&records);
    assert!(nested(slices.clone()) > 0, "some slices lie in others");
    assert_eq!(flows_are_bound(&records, &slices), 2 * 3 * 8);
    let is_event =
        |record: &&Value| "Xi".contains(record["ph"].as_str().unwrap()) && record["args"]["object"].is_string();
    assert_eq!(records.iter().filter(is_event).count(), 2 * events.len());
    let sites: Vec<_> = records.iter().filter_map(|record| record["args"]["place"].as_str()).collect();
    assert_eq!(sites, ["place \"with\" \\ and \n\u{1b}[2J"; 2]);
    let counters = records.iter().filter(|record| record["ph"] == "C");
    let end = records.iter().find(|record| record["name"] == "syncedmem_end").unwrap();
    let most = counters.map(|record| record["args"]["device"].as_u64()).max();
    assert_eq!(most, Some(end["args"]["peaks"]["device"].as_u64()), "the counters reach the peak that was counted");
}

#[test]
fn every_event_is_a_record_by_the_rules() {
    let events = events::all_events();
    // A recording of the smallest size holds a part of them.
    for (number, part) in events.chunks(700).enumerate() {
        let folder = Folder::new();
        recorded(&process(7), part).write(&folder.path("a"));
        let records = records(&folder);
        assert!(records.len() >= part.len() / 2, "part {number}");
    }
}

fn is_a_record(record: &Value) {
    let line = &record.to_string();
    let is_number = |key: &str| assert!(record[key].as_f64().is_some_and(|number| number >= 0.0), "{key}: {line}");
    let phase = record["ph"].as_str().expect(line);
    is_number("pid");
    is_number("tid");
    assert!(record["name"].as_str().is_some_and(|name| !name.is_empty()), "{line}");
    if phase != "M" {
        is_number("ts");
    }
    match phase {
        "X" => is_number("dur"),
        "i" => assert!(matches!(record["s"].as_str(), Some("g" | "p" | "t")), "{line}"),
        "s" | "f" => {
            let id = record["id"].as_str().expect(line);
            u64::from_str_radix(id.strip_prefix("0x").expect(line), 16).expect(line);
            assert_eq!(record["bp"].as_str(), (phase == "f").then_some("e"), "{line}");
        }
        "C" => {
            let series = record["args"].as_object().expect(line);
            assert!(!series.is_empty() && series.values().all(Value::is_number), "{line}");
        }
        "M" => {
            match record["name"].as_str() {
                Some("process_name" | "thread_name") => assert!(record["args"]["name"].is_string(), "{line}"),
                // Viewers pass over what they do not know there.
                Some("syncedmem_end") => assert!(record["args"].is_object(), "{line}"),
                _ => panic!("{line}"),
            }
        }
        _ => panic!("unknown phase: {line}"),
    }
}

/// A slice: its begin and end in nanoseconds.
type Slice = (u64, u64);

/// Process and thread.
type Track = (u64, u64);

fn nanoseconds(value: &Value) -> u64 {
    // The times in these tests are small enough for this to be exact.
    (value.as_f64().unwrap() * 1000.0).round() as u64
}

fn track(record: &Value) -> Track {
    (record["pid"].as_u64().unwrap(), record["tid"].as_u64().unwrap())
}

fn slices(records: &[Value]) -> HashMap<Track, Vec<Slice>> {
    let mut slices: HashMap<Track, Vec<Slice>> = HashMap::new();
    for record in records.iter().filter(|record| record["ph"] == "X") {
        let begin = nanoseconds(&record["ts"]);
        slices.entry(track(record)).or_default().push((begin, begin + nanoseconds(&record["dur"])));
    }
    slices
}

/// Each end of a flow lies in a slice of its thread, and no flow ends that did not begin.
fn flows_are_bound(records: &[Value], slices: &HashMap<Track, Vec<Slice>>) -> usize {
    let mut begun = HashSet::new();
    let mut ended = 0;
    for record in records.iter().filter(|record| record["ph"] == "s" || record["ph"] == "f") {
        let time = nanoseconds(&record["ts"]);
        let around = slices[&track(record)].iter().any(|&(begin, end)| begin <= time && time < end);
        assert!(around, "no slice around {record}");
        let key = ["cat", "name", "id"].map(|key| record[key].to_string());
        if record["ph"] == "s" {
            assert!(begun.insert(key), "begun twice: {record}");
        } else {
            assert!(begun.contains(&key), "it never began: {record}");
            ended += 1;
        }
    }
    ended
}
