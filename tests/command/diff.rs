//! `syncedmem report --json` and `syncedmem diff`, on traces of real runs.

use serde_json::Value;

use crate::caffe_like::{Said, Workshop, command, said};

/// Exits with 0 if the sums of two blobs are right; the first has as many floats as its argument says.
const PROGRAM: &str = r#"
    #include <stdlib.h>
    int _ZN5caffe4BlobIfE3sumEv(size_t);
    int main(int arguments, char **argument) {
      return !(_ZN5caffe4BlobIfE3sumEv(atol(argument[1])) && _ZN5caffe4BlobIfE3sumEv(1000));
    }
"#;

/// Runs the command in a workshop.
fn syncedmem(workshop: &Workshop, arguments: &[&str]) -> Said {
    said(command().args(arguments).current_dir(workshop.path("")))
}

/// A workshop with the traces `8.trace` and `16.trace`, of blobs of 8000 and 16000 floats.
fn two_batches() -> Workshop {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source("program.c", PROGRAM);
    workshop.compile("program", &["program.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"]);
    for batch in ["8", "16"] {
        let (trace, floats) = (format!("--trace={batch}.trace"), format!("{batch}000"));
        let told = syncedmem(&workshop, &["run", &trace, "--", "./program", &floats]);
        assert_eq!(told.status, Some(0), "{}", told.error);
    }
    workshop
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.output).unwrap_or_else(|error| panic!("{error}: {}{}", said.output, said.error))
}

#[test]
fn a_report_as_json_has_the_figures_of_the_run() {
    let workshop = two_batches();
    let told = syncedmem(&workshop, &["report", "8.trace", "--json"]);
    let report = json(&told);
    assert_eq!((report["syncedmem_report"].as_u64(), report["trace"].as_str()), (Some(1), Some("8.trace")));
    assert_eq!(report["whole"].as_bool(), Some(true), "{}", report["notes"]);
    let process = &report["processes"][0];
    assert_eq!(process["program"].as_str(), Some("program"));
    assert_eq!((process["objects"]["made"].as_u64(), process["objects"]["ended"].as_u64()), (Some(2), Some(2)));
    // Blocks may be larger than what was asked for, by an eighth at most.
    let peak = process["memory"]["pageable"]["peak_bytes"].as_u64().unwrap();
    assert!((32_000..=36_000).contains(&peak), "{peak}");
    let held: u64 =
        process["holders"].as_array().unwrap().iter().map(|h| h["peak_bytes"]["pageable"].as_u64().unwrap()).sum();
    assert_eq!(held, peak);
    let fills: Vec<_> = process["work"].as_array().unwrap().iter().filter(|work| work["what"] == "fill").collect();
    assert_eq!((fills.len(), fills[0]["side"].as_str(), fills[0]["bytes"].as_u64()), (1, Some("host"), Some(36_000)));
    syncedmem(&workshop, &["report", "8.trace", "--json", "-o", "8.report.json"]);
    assert_eq!(std::fs::read_to_string(workshop.path("8.report.json")).unwrap(), told.output);
}

#[test]
fn a_run_does_not_differ_from_itself_nor_from_its_report() {
    let workshop = two_batches();
    syncedmem(&workshop, &["report", "8.trace", "--json", "-o", "8.report.json"]);
    for other in ["8.trace", "8.report.json"] {
        let told = syncedmem(&workshop, &["diff", "8.trace", other]);
        assert_eq!((told.status, told.error.as_str()), (Some(0), ""));
        assert!(told.output.contains("memory at its peak: no change"), "{}", told.output);
        assert!(!told.output.contains("change  "), "{}", told.output);
    }
}

#[test]
fn a_larger_batch_differs_by_what_it_holds_and_fills() {
    let workshop = two_batches();
    let told = syncedmem(&workshop, &["diff", "8.trace", "16.trace"]);
    assert_eq!(told.status, Some(1), "{}", told.error);
    for wanted in
        ["A: 8.trace, memory of program", "B: 16.trace", "memory at its peak", "pageable", "work, times: no change"]
    {
        assert!(told.output.contains(wanted), "{wanted}: {}", told.output);
    }
    let found = json(&syncedmem(&workshop, &["diff", "8.trace", "16.trace", "--json"]));
    let sections = found["processes"][0]["sections"].as_array().unwrap();
    let figure = |of: &str, unit: &str, name: &str| {
        let section = sections.iter().find(|section| section["of"] == of && section["unit"] == unit).unwrap();
        let figure = section["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == name).unwrap();
        (figure["a"].as_u64().unwrap(), figure["b"].as_u64().unwrap())
    };
    assert_eq!(figure("work", "bytes", "fill of the host"), (36_000, 68_000));
    assert_eq!(figure("work", "count", "fill of the host"), (2, 2));
    assert_eq!(figure("objects", "count", "objects made"), (2, 2));
    let (a, b) = figure("peak", "bytes", "peak");
    assert!(a < b, "{a} {b}");
    let back = syncedmem(&workshop, &["diff", "16.trace", "8.trace"]);
    assert!(back.output.contains("-50.0 %"), "{}", back.output);
}

#[test]
fn one_run_may_come_from_standard_input_and_not_both() {
    let workshop = two_batches();
    let trace = std::fs::File::open(workshop.path("16.trace")).unwrap();
    let told = said(command().args(["diff", "8.trace", "-"]).stdin(trace).current_dir(workshop.path("")));
    assert_eq!(told.status, Some(1), "{}", told.error);
    assert!(told.output.contains("B: standard input"), "{}", told.output);
    let both = syncedmem(&workshop, &["diff", "-", "-"]);
    assert_eq!(both.status, Some(1));
    assert!(both.error.contains("name a file for one of them"), "{}", both.error);
}

#[test]
fn what_is_no_run_is_an_error_that_names_the_file() {
    let workshop = two_batches();
    workshop.source("other.json", "{\"layers\": []}");
    for (file, why) in [("other.json", "it is no report"), ("nowhere.json", "it cannot be read")] {
        let told = syncedmem(&workshop, &["diff", "8.trace", file]);
        assert_eq!((told.status, told.output.as_str()), (Some(1), ""));
        assert!(told.error.contains(&format!("{file}: {why}")), "{}", told.error);
    }
}
