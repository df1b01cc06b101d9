//! The report that `SYNCEDMEM_REPORT` asks for, and the makers of objects in a trace, of C++ programs that are built here
//! with the class as Caffe declares it: linked with the library and with it in the program, ending in every way that a
//! program can.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{Folder, assert_has, traced};

/// What each program does, by its first argument.
const PROGRAM: &str = r#"
#include GENERATION
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using caffe::SyncedMemory;

namespace zoo {
__attribute__((noinline)) SyncedMemory* weights() { return new SyncedMemory(3 << 20); }
__attribute__((noinline)) SyncedMemory* data() { return new SyncedMemory(1 << 20); }
__attribute__((noinline)) void* touch(SyncedMemory* memory) {
  void* address = memory->mutable_cpu_data();
  asm volatile("" : "+r"(address));
  return address;
}
__attribute__((noinline)) void first() { touch(new SyncedMemory(64 << 10)); }
__attribute__((noinline)) void second() { touch(new SyncedMemory(32 << 10)); }
}  // namespace zoo

int main(int, char** arguments) {
  const char* how = arguments[1];
  if (!strcmp(how, "never")) return 3;
  SyncedMemory* weights = zoo::weights();
  SyncedMemory* data = zoo::data();
  zoo::touch(weights);
  zoo::touch(data);
  if (!strcmp(how, "out-of-memory")) zoo::touch(new SyncedMemory(64 << 20));
  if (!strcmp(how, "in turn")) {
    for (int i = 0; i < 160; i++) (i % 2 ? zoo::second : zoo::first)();
  }
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "_exit")) _exit(4);
  if (!strcmp(how, "fork")) {
    pid_t child = fork();
    if (!child) {
      zoo::touch(zoo::data());
      exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  if (!strcmp(how, "fork-idle")) {
    pid_t child = fork();
    if (!child) exit(0);
    waitpid(child, nullptr, 0);
  }
  delete weights;
  delete data;
  return 5;
}
"#;

const OUTLINED: &str = "bvlc_master";
const INLINED: &str = "bvlc_rc2";

/// The folder of the library as users get it.
fn libraries() -> &'static Path {
    crate::support::as_shipped::library().parent().unwrap()
}

/// How a program has the library.
#[derive(Clone, Copy, PartialEq)]
enum Linked {
    Shared,
    Static,
}

/// A program in its own folder.
struct Program(Folder);

impl Program {
    /// With the class as a generation of Caffe declares it.
    fn new(generation: &str, linked: Linked, flags: &[&str]) -> Program {
        let program = Program(Folder::new());
        program.0.source("zoo.cpp", PROGRAM);
        let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp_tests");
        let generation = format!("-DGENERATION=\"generations/{generation}.hpp\"");
        let include = format!("-I{}", headers.display());
        let mut arguments = vec!["-std=c++11", "-O2", "zoo.cpp", &generation, &include];
        arguments.extend(flags);
        let archive = libraries().join("libsyncedmem.a");
        match linked {
            Linked::Shared => {
                // The program names the library by its soname.
                std::fs::copy(libraries().join("libsyncedmem.so"), program.0.path("libsyncedmem.so.0")).unwrap();
                arguments.push("libsyncedmem.so.0");
            }
            Linked::Static => {
                arguments.push(archive.to_str().unwrap());
                arguments.extend(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"]);
            }
        }
        program.0.compile("zoo", &arguments);
        program
    }

    fn report(&self) -> PathBuf {
        self.0.path("report")
    }

    /// Runs it with the report going to a file.
    fn run(&self, how: &str) -> Output {
        self.run_with(how, &[("SYNCEDMEM_REPORT", self.report().to_str().unwrap())])
    }

    fn run_with(&self, how: &str, environment: &[(&str, &str)]) -> Output {
        let mut run = Command::new(self.0.path("zoo"));
        run.arg(how).env("LD_LIBRARY_PATH", &*self.0).envs(environment.iter().copied()).output().unwrap()
    }

    /// Runs it with a trace; returns who held the memory at the peak.
    fn traced(&self, how: &str) -> BTreeMap<String, (u64, u64)> {
        let trace = self.0.path("trace");
        self.run_with(how, &[("SYNCEDMEM_TRACE", trace.to_str().unwrap())]);
        traced::at_peak(&trace)
    }

    /// The reports in the file, each from its first line on.
    fn reports(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.report()).unwrap_or_default();
        const BEGIN: &str = "libsyncedmem: memory of zoo (process ";
        assert!(text.is_empty() || text.starts_with(BEGIN), "{text}");
        text.split(BEGIN).skip(1).map(|report| format!("{BEGIN}{report}")).collect()
    }
}

#[test]
fn a_report_is_written_when_the_program_returns() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &["-rdynamic"]);
    let run = zoo.run("return");
    assert_eq!((run.status.code(), run.stderr.as_slice()), (Some(5), b"".as_slice()));
    let reports = zoo.reports();
    assert_eq!(reports.len(), 1);
    assert_has(
        &reports[0],
        &[
            "\ncalls of Caffe (accesses: those that needed work): construct=2 destroy=2 mutable_cpu_data=2\n",
            "\nobjects made: 2, ended: 2\n",
            "\npageable memory: 4.0 MiB at its peak, 0 B now\n",
            "\n  pageable memory from the system                    2     4.0 MiB",
        ],
    );
    assert!(!reports[0].contains("device"), "{}", reports[0]);
    assert!(reports[0].lines().all(|line| line.chars().count() <= 110), "{}", reports[0]);
}

#[test]
fn a_run_replaces_the_report_of_an_earlier_one_and_no_other_file() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &[]);
    zoo.run("fork");
    assert_eq!(zoo.reports().len(), 2, "a child's and its parent's");
    zoo.run("return");
    assert_eq!(zoo.reports().len(), 1);
    std::fs::write(zoo.report(), "notes\n").unwrap();
    zoo.run("return");
    assert!(std::fs::read_to_string(zoo.report()).unwrap().starts_with("notes\nlibsyncedmem: memory of zoo"));
    let own = zoo.0.path("report-%p");
    zoo.run_with("fork", &[("SYNCEDMEM_REPORT", own.to_str().unwrap())]);
    let names = zoo.0.names();
    assert_eq!(names.iter().filter(|name| name.starts_with("report-")).count(), 2, "{names:?}");
}

#[test]
fn makers_are_named_where_they_have_names_and_else_by_their_place() {
    for linked in [Linked::Shared, Linked::Static] {
        let zoo = Program::new(OUTLINED, linked, &["-rdynamic"]);
        let holders = zoo.traced("return");
        let expected = [("zoo::weights", (3 << 20, 1)), ("zoo::data", (1 << 20, 1))];
        assert_eq!(holders, expected.map(|(who, held)| (format!("{who}, from main (the program)"), held)).into());

        let nameless = Program::new(OUTLINED, linked, &["-s"]);
        let holders = nameless.traced("return");
        assert_eq!(holders.len(), 2, "{holders:?}");
        for place in holders.keys() {
            let offset = place.strip_prefix("the program+0x").unwrap_or_else(|| panic!("{holders:?}"));
            assert!(u64::from_str_radix(offset, 16).is_ok_and(|offset| offset > 0), "{place}");
        }
    }
}

#[test]
fn makers_that_are_called_from_one_place_in_turn_are_told_apart() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &["-rdynamic"]);
    let holders = zoo.traced("in turn");
    for (who, held) in [("zoo::first, from main", (80 << 16, 80)), ("zoo::second, from main", (80 << 15, 80))] {
        assert!(holders.iter().any(|(place, &of)| place.starts_with(who) && of == held), "{holders:?}");
    }
}

#[test]
fn of_inlined_constructors_the_first_access_is_named() {
    let zoo = Program::new(INLINED, Linked::Shared, &["-rdynamic"]);
    // Both by the same caller, from the same function: one holder.
    let expected = ("zoo::touch, from main (the program)".to_owned(), (4 << 20, 2));
    assert_eq!(zoo.traced("return"), [expected].into());
    zoo.run("return");
    let report = zoo.reports().remove(0);
    assert_has(&report, &[": destroy=2 mutable_cpu_data=2\n", "\nobjects made: 0, ended: 2\n"]);
}

#[test]
fn a_report_comes_before_the_library_ends_the_process() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &["-rdynamic"]);
    let report = zoo.report();
    let run = zoo
        .run_with("out-of-memory", &[("SYNCEDMEM_REPORT", report.to_str().unwrap()), ("SYNCEDMEM_HOST_LIMIT", "8M")]);
    assert_eq!(run.status.signal(), Some(6), "{run:?}");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("host allocation of size 67108864 failed"), "{said}");
    let reports = zoo.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("\nobjects made: 3, ended: 0\n"), "{}", reports[0]);
    let failed = reports[0].lines().find(|line| line.contains("allocation for the host that failed")).unwrap();
    assert_eq!(failed.split_whitespace().collect::<Vec<_>>()[6..9], ["1", "64.0", "MiB"], "{failed}");
}

#[test]
fn a_process_that_ends_without_the_library_leaves_none_and_is_not_disturbed() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &[]);
    let never = zoo.run("never");
    assert_eq!((never.status.code(), never.stderr.as_slice()), (Some(3), b"".as_slice()));
    assert_eq!(zoo.run("_exit").status.code(), Some(4));
    assert_eq!(zoo.run("abort").status.signal(), Some(6));
    assert!(!zoo.report().exists(), "{:?}", zoo.reports());
}

#[test]
fn a_forked_child_reports_what_it_did_and_nothing_of_its_parents() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &["-rdynamic"]);
    zoo.run("fork");
    let reports = zoo.reports();
    assert_eq!(reports.len(), 2, "{reports:?}");
    // The child's is first: the parent waits for it.
    assert!(reports[0].contains("\nobjects made: 1, ended: 0\n"), "{}", reports[0]);
    assert_has(
        &reports[0],
        &[": construct=1 mutable_cpu_data=1\n", "\npageable memory: 5.0 MiB at its peak, 5.0 MiB now\n"],
    );
    assert!(reports[1].contains("\nobjects made: 2, ended: 2\n"), "{}", reports[1]);
    std::fs::remove_file(zoo.report()).unwrap();
    zoo.run("fork-idle");
    assert_eq!(zoo.reports().len(), 1, "a child that did nothing has nothing to report");
}

#[test]
fn what_cannot_be_written_to_its_file_goes_to_standard_error() {
    let zoo = Program::new(OUTLINED, Linked::Shared, &[]);
    let missing = zoo.0.join("no-such-folder/report");
    let run = zoo.run_with("return", &[("SYNCEDMEM_REPORT", missing.to_str().unwrap())]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(
        said.starts_with(&format!(
            "libsyncedmem: SYNCEDMEM_REPORT={}: there is no such folder; the report follows here\n",
            missing.display()
        )),
        "{said}"
    );
    assert!(said.contains("libsyncedmem: memory of zoo (process "), "{said}");
    assert_eq!(run.status.code(), Some(5));
    let run = zoo.run_with("return", &[("SYNCEDMEM_REPORT", "stderr")]);
    assert!(run.stderr.starts_with(b"libsyncedmem: memory of zoo (process "));
}
