//! The rules of the Trace Event Format, as far as they concern what is written: checked with a JSON parser that knows
//! nothing of the reader.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

/// Bytes of a block.
const BLOCK: usize = 512;

/// What a trace was found to hold.
#[derive(Debug, Default)]
pub struct Found {
    /// How many records there are of each phase.
    pub phases: BTreeMap<String, usize>,
    /// Flows that have both ends.
    pub flows: usize,
    /// Slices inside another one.
    pub nested: usize,
    /// Lines in all.
    pub records: Vec<Value>,
}

/// Checks a whole trace, and panics with the line that breaks a rule.
pub fn check(text: &str) -> Found {
    let mut found = check_lines(text);
    found.nested = slices_nest(&found.records);
    found.flows = flows_are_bound(&found.records);
    found
}

/// Checks each record by itself: for events that were made up without regard to their times.
pub fn check_lines(text: &str) -> Found {
    assert!(text.starts_with("[\n"), "it does not begin with a bracket");
    assert_eq!(text.len() % BLOCK, 0, "it does not end with a block");
    is_in_blocks(text);
    // A strict parser needs the closing bracket in place of the last comma.
    let strict = format!("{}]", text.trim_end().trim_end_matches(','));
    let all: Value = serde_json::from_str(&strict).expect("with its bracket it is JSON");
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(all.as_array().unwrap().len(), lines.len(), "one line for each record");
    let mut found = Found::default();
    for line in lines {
        assert!(line.ends_with("},"), "{line}");
        let record: Value = serde_json::from_str(line.trim_end_matches(',')).expect(line);
        is_a_record(&record, line);
        *found.phases.entry(record["ph"].as_str().unwrap().to_string()).or_default() += 1;
        found.records.push(record);
    }
    found
}

/// No line crosses the border of a block.
fn is_in_blocks(text: &str) {
    for block in text.as_bytes().chunks(BLOCK) {
        assert_eq!(block.last(), Some(&b'\n'), "{}", String::from_utf8_lossy(block));
    }
}

fn is_a_record(record: &Value, line: &str) {
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
                Some(syncedmem_trace::format::chrome::END) => assert!(record["args"].is_object(), "{line}"),
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

/// On each thread, two slices are apart or one is inside the other.
fn slices_nest(records: &[Value]) -> usize {
    let mut nested = 0;
    for (track, mut slices) in slices(records) {
        slices.sort_by_key(|&(begin, end)| (begin, std::cmp::Reverse(end)));
        let mut open: Vec<Slice> = Vec::new();
        for slice in slices {
            while open.last().is_some_and(|outer| outer.1 <= slice.0) {
                open.pop();
            }
            if let Some(outer) = open.last() {
                assert!(slice.1 <= outer.1, "on {track:?} {slice:?} sticks out of {outer:?}");
                nested += 1;
            }
            open.push(slice);
        }
    }
    nested
}

/// Each end of a flow lies in a slice of its thread, and no flow ends that did not begin.
fn flows_are_bound(records: &[Value]) -> usize {
    let slices = slices(records);
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
