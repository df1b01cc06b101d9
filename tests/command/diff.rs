//! `syncedmem report --json` and `syncedmem diff`, on traces of real runs.

use serde_json::Value;

use crate::caffe_like::{Said, Workshop, command, said};
use crate::support::assert_has;

/// Exits with 0 if the sums of two blobs are right; the first has as many floats as its argument says.
const PROGRAM: &str = r#"
    #include "caffe.h"
    int main(int arguments, char **argument) { return !(sum_of_ones(atol(argument[1])) && sum_of_ones(1000)); }
"#;

/// A workshop with the traces `8.trace` and `16.trace`, of blobs of 8000 and 16000 floats.
fn two_batches() -> Workshop {
    let workshop = Workshop::with("program", PROGRAM);
    for batch in ["8", "16"] {
        workshop.syncedmem(&["run", &format!("--trace={batch}.trace"), "--", "./program", &format!("{batch}000")]).ok();
    }
    workshop
}

/// A report, of which docs/report.md names each field.
pub fn json(said: &Said) -> Value {
    fn is_documented(value: &Value) {
        const DOCUMENT: &str = include_str!("../../docs/report.md");
        if let Value::Array(values) = value {
            values.iter().for_each(is_documented);
        }
        for (field, value) in value.as_object().into_iter().flatten() {
            assert!(DOCUMENT.contains(&format!("`{field}`")), "{field}");
            is_documented(value);
        }
    }
    let report = serde_json::from_str(&said.output).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    is_documented(&report);
    report
}

#[test]
fn a_report_as_json_has_the_figures_of_the_run() {
    let workshop = two_batches();
    let result = workshop.syncedmem(&["report", "8.trace", "--json"]);
    let report = json(&result);
    assert_eq!(
        (&report["syncedmem_report"], &report["trace"], &report["whole"]),
        (&1.into(), &"8.trace".into(), &true.into())
    );
    let process = &report["processes"][0];
    assert_eq!(
        (&process["program"], &process["objects"]["made"], &process["objects"]["ended"]),
        (&"program".into(), &2.into(), &2.into())
    );
    // Blocks may be larger than what was asked for, by an eighth at most.
    let peak = process["memory"]["pageable"]["peak_bytes"].as_u64().unwrap();
    assert!((32_000..=36_000).contains(&peak), "{peak}");
    let holders = process["holders"].as_array().unwrap();
    assert_eq!(holders.iter().map(|holder| holder["peak_bytes"]["pageable"].as_u64().unwrap()).sum::<u64>(), peak);
    let fills: Vec<_> = process["work"].as_array().unwrap().iter().filter(|work| work["what"] == "fill").collect();
    assert_eq!((fills.len(), &fills[0]["side"], &fills[0]["bytes"]), (1, &"host".into(), &36_000.into()));
    workshop.syncedmem(&["report", "8.trace", "--json", "-o", "8.report.json"]);
    assert_eq!(std::fs::read_to_string(workshop.path("8.report.json")).unwrap(), result.output);
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let result = two_batches().syncedmem(&["diff", "8.trace", "8.trace"]);
    assert_eq!(result.error, "");
    let output = result.ok();
    assert!(output.contains("memory at its peak: no change") && !output.contains("change  "), "{output}");
}

#[test]
fn a_larger_batch_differs_by_what_it_holds_and_fills() {
    let workshop = two_batches();
    let result = workshop.syncedmem(&["diff", "8.trace", "16.trace"]);
    assert_eq!(result.status, Some(1), "{}", result.error);
    assert_has(
        &result.output,
        &[
            "A: 8.trace, memory of program",
            "B: 16.trace",
            "memory at its peak",
            "objects made: no change",
            "work, times: no change",
        ],
    );
    // Name, both amounts, and the change.
    let line =
        |name: &str| result.output.lines().filter(|line| line.trim_start().starts_with(name)).collect::<String>();
    assert_has(&line("fill of the host with zeros"), &["35.2 KiB", "66.4 KiB", "+31.3 KiB", "+88.9 %"]);
    let back = workshop.syncedmem(&["diff", "16.trace", "8.trace"]);
    assert!(back.output.contains("-50.0 %"), "{}", back.output);
}

#[test]
fn one_run_may_come_from_standard_input_and_not_both() {
    let workshop = two_batches();
    let trace = std::fs::File::open(workshop.path("16.trace")).unwrap();
    let result = said(command().args(["diff", "8.trace", "-"]).stdin(trace).current_dir(workshop.path("")));
    assert!(result.status == Some(1) && result.output.contains("B: standard input"), "{result:?}");
    workshop.syncedmem(&["diff", "-", "-"]).fails(1, &["name a file for one of them"]);
}
