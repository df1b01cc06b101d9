//! Frames of call sites in a report: what a report knows of a program with debug information, without, and stripped.

use std::process::Command;

use serde_json::Value;

use crate::caffe_like::{Workshop, command, said};

/// `main` calls `build`, which makes the object in line 6.
const PROGRAM: &str = "\
void _ZN5caffe12SyncedMemoryC1Em(void *, unsigned long);
void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(void *);
void _ZN5caffe12SyncedMemoryD1Ev(void *);
static __attribute__((noinline)) int build(void) {
  long memory[8];
  _ZN5caffe12SyncedMemoryC1Em(memory, 100000);
  *(int *)_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(memory) = 1;
  _ZN5caffe12SyncedMemoryD1Ev(memory);
  return 0;
}
int main(void) { return build() + 0 * (int)sizeof(int); }
";

/// A workshop with `program`, compiled with these options, and its recording `t.trace`.
fn recorded(options: &[&str]) -> Workshop {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source("program.c", PROGRAM);
    let mut arguments = vec!["program.c", "-O0", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN", "-Wl,--build-id"];
    arguments.extend(options);
    workshop.compile("program", &arguments);
    let told = said(command().args(["run", "--trace=t.trace", "--", "./program"]).current_dir(workshop.path("")));
    assert_eq!(told.status, Some(0), "{}", told.error);
    workshop
}

fn report(workshop: &Workshop, options: &[&str]) -> String {
    let told = said(command().args(["report", "t.trace"]).args(options).current_dir(workshop.path("")));
    assert_eq!(told.status, Some(0), "{}", told.error);
    told.output
}

/// The site that made the object, as JSON.
fn maker(workshop: &Workshop) -> Value {
    let report: Value = serde_json::from_str(&report(workshop, &["--json"])).unwrap();
    let sites = report["processes"][0]["sites"].as_array().unwrap();
    sites.iter().find(|site| site["made"] == 1).unwrap_or_else(|| panic!("{sites:?}")).clone()
}

#[test]
fn a_program_with_debug_information_shows_files_and_lines() {
    let workshop = recorded(&["-g"]);
    let details = report(&workshop, &["--text", "--details"]);
    for wanted in [
        "call sites, those that took the most time first",
        "      build at ",
        "program.c:6 (program)\n",
        "      main at ",
    ] {
        assert!(details.contains(wanted), "{wanted}: {details}");
    }
    let site = maker(&workshop);
    assert_eq!((site["frames"][0]["function"].as_str(), site["frames"][0]["line"].as_u64()), (Some("build"), Some(6)));
    assert!(site["frames"][0]["file"].as_str().unwrap().ends_with("program.c"), "{site}");
    assert!(report(&workshop, &["-o-"]).contains(">build at program.c:6</span>"), "the flame graph of the page");
}

#[test]
fn a_function_that_no_file_exports_has_its_name_from_the_symbol_table() {
    let workshop = recorded(&[]);
    let site = maker(&workshop);
    assert_eq!((site["name"].as_str(), site["frames"][0]["line"].as_u64()), (Some("build (program)"), None), "{site}");
    assert!(report(&workshop, &["--text"]).contains("build (program)"));
}

#[test]
fn a_stripped_program_shows_addresses_and_with_its_debug_file_names_and_lines() {
    let workshop = recorded(&["-g"]);
    let binutils = |program: &str, arguments: &[&str]| {
        assert!(Command::new(program).args(arguments).current_dir(workshop.path("")).status().unwrap().success());
    };
    binutils("objcopy", &["--only-keep-debug", "program", "program.debug"]);
    binutils("objcopy", &["--strip-all", "program"]);
    let site = maker(&workshop);
    assert!(site["name"].as_str().unwrap().starts_with("the program+0x"), "{site}");
    assert_eq!((site["frames"][0]["function"].as_str(), site["frames"][0]["module"].as_str()), (None, Some("program")));
    binutils("objcopy", &["--add-gnu-debuglink=program.debug", "program"]);
    let site = maker(&workshop);
    assert_eq!(
        (site["name"].as_str(), site["frames"][0]["line"].as_u64()),
        (Some("build (program)"), Some(6)),
        "{site}"
    );
}

#[test]
fn a_program_that_was_built_anew_is_not_asked() {
    let workshop = recorded(&["-g"]);
    workshop.compile("program", &["program.c", "-g", "-O1", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN", "-Wl,--build-id"]);
    let site = maker(&workshop);
    assert!(site["name"].as_str().unwrap().starts_with("the program+0x"), "{site}");
    assert_eq!(site["frames"][0]["line"].as_u64(), None, "{site}");
}
