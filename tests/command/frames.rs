//! Frames of call sites in a report. crates/command/src/report/frames/tests.rs has what they are found from.

use serde_json::Value;

use crate::caffe_like::Workshop;
use crate::support::assert_has;

/// `main` calls `build`, which makes the object in line 4.
const PROGRAM: &str = "\
#include \"caffe.h\"
static __attribute__((noinline)) int build(void) {
  struct memory memory;
  construct(&memory, 100000);
  *(int *)mutable_cpu_data(&memory) = 1;
  destroy(&memory);
  return 0;
}
int main(void) { return build() + 0 * (int)sizeof(int); }
";

/// A workshop with `program`, compiled with these options, and its recording `t.trace`.
fn recorded(options: &[&str]) -> Workshop {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.link("program", PROGRAM, &[&["-O0", "-Wl,--build-id"], options].concat());
    workshop.syncedmem(&["run", "--trace=t.trace", "--", "./program"]).ok();
    workshop
}

/// The site that made the object, as JSON.
fn maker(workshop: &Workshop) -> Value {
    let report: Value = serde_json::from_str(&workshop.syncedmem(&["report", "t.trace", "--json"]).ok()).unwrap();
    let sites = report["processes"][0]["sites"].as_array().unwrap();
    sites.iter().find(|site| site["made"] == 1).unwrap_or_else(|| panic!("{sites:?}")).clone()
}

#[test]
fn a_program_with_debug_information_shows_files_and_lines() {
    let workshop = recorded(&["-g"]);
    let details = workshop.syncedmem(&["report", "t.trace", "--text", "--details"]).ok();
    assert_has(
        &details,
        &[
            "call sites, those that took the most time first",
            "      build at ",
            "program.c:4 (program)\n",
            "      main at ",
        ],
    );
    let site = maker(&workshop);
    let frame = &site["frames"][0];
    assert_eq!(
        (&site["name"], &frame["function"], &frame["line"]),
        (&"build (program)".into(), &"build".into(), &4.into())
    );
    assert!(frame["file"].as_str().unwrap().ends_with("program.c"), "{site}");
    let page = workshop.syncedmem(&["report", "t.trace", "-o-"]).ok();
    assert!(page.contains(">build at program.c:4</span>"), "the flame graph");
}

#[test]
fn a_stripped_program_shows_addresses() {
    let site = maker(&recorded(&["-s"]));
    assert!(site["name"].as_str().unwrap().starts_with("the program+0x"), "{site}");
    let frame = &site["frames"][0];
    assert_eq!((&frame["function"], &frame["module"]), (&Value::Null, &"program".into()));
}
