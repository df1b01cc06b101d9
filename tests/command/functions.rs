//! Names of functions that a program does not export, in a report.

use serde_json::Value;

use crate::caffe_like::Workshop;

/// `main` calls `build`, which makes the object.
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

/// The name of the site that made the object, if the program becomes what `then` makes of it after its run.
fn maker(then: &str) -> String {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.link("program", PROGRAM, &["-O0", "-Wl,--build-id"]);
    workshop.syncedmem(&["run", "--trace=t.trace", "--", "./program"]).ok();
    workshop.shell_here(then).ok();
    let report: Value = serde_json::from_str(&workshop.syncedmem(&["report", "t.trace", "--json"]).ok()).unwrap();
    let sites = report["processes"][0]["sites"].as_array().unwrap();
    let site = sites.iter().find(|site| site["made"] == 1).unwrap_or_else(|| panic!("{sites:?}"));
    site["name"].as_str().unwrap().to_string()
}

#[test]
fn a_function_that_its_program_does_not_export_has_its_name() {
    assert_eq!(maker("true"), "build (program)");
}

#[test]
fn a_program_that_was_stripped_or_replaced_by_anything_shows_addresses() {
    for then in ["strip program", "rm program && mkfifo program", "cp /bin/sh program", "rm program"] {
        assert!(maker(then).starts_with("the program+0x"), "{then}");
    }
}
