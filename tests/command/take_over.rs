//! `SYNCEDMEM_TAKE_OVER=1`: a Caffe whose own calls the dynamic linker does not see runs on the library all the same, or as it was.

use std::ffi::OsStr;
use std::process::Command;

use crate::caffe_like::*;
use crate::support::assert_has;
use crate::support::command_file::command_file;
use crate::support::harness::skip;
use crate::take_over_names::net;

fn library() -> String {
    command_file().with_file_name("libsyncedmem.so").display().to_string()
}

/// The program's standard error has the library's report.
fn asking(program: impl AsRef<OsStr>) -> Command {
    let mut program = Command::new(program);
    program.env("SYNCEDMEM_TAKE_OVER", "1").env("SYNCEDMEM_REPORT", "stderr");
    program
}

/// Runs a program of the workshop with the library preloaded.
fn taken(workshop: &Workshop, program: &str, arguments: &[&str]) -> Said {
    let mut program = asking(workshop.path(program));
    said(program.args(arguments).current_dir(workshop.path("")).env("LD_PRELOAD", library()))
}

#[track_caller]
fn is_taken(said: &Said) {
    assert_eq!(said.status, Some(0), "{said:?}");
    said.has(&["construct=1 destroy=1 cpu_data=1 mutable_cpu_data=1", "objects made: 1, ended: 1"]);
    assert!(!said.error.contains("taken over"), "{}", said.error);
}

/// It runs as without the library.
#[track_caller]
fn is_refused(said: &Said, why: &str) {
    assert_eq!(said.status, Some(0), "{said:?}");
    let error = said.error.replace('\n', " ");
    assert!(error.contains(" is not taken over: ") && error.contains(why), "{why:?} is not in: {error}");
    assert!(!error.contains("construct="), "{error}");
}

/// Compilers align functions from here on, as for every Caffe that is released.
pub const OPTIMISED: &str = "-O2";
/// A jump and the landing mark need 18 bytes, and some functions of the lookalike have 16.
const MARKED: [&str; 3] = [OPTIMISED, "-fcf-protection", "-falign-functions=32"];

#[test]
fn a_libcaffe_that_is_bound_within_itself_is_taken_over() {
    let workshop = Workshop::new();
    for options in [
        &[OPTIMISED, "-Wl,-Bsymbolic-functions"][..],
        &["-O3", "-Wl,-Bsymbolic"],
        // Only the blob is exported: the functions have names in the full table alone.
        &[OPTIMISED, "-Wl,--version-script=exports"],
        &[OPTIMISED, "-Wl,-Bsymbolic-functions", "-s"],
    ] {
        println!("{options:?}");
        workshop.source("exports", "{ global: _ZN5caffe4Blob*; local: *; };");
        workshop.caffe(options);
        workshop.program(&[]);
        is_taken(&taken(&workshop, "program", &[]));
    }
}

#[test]
fn a_caffe_inside_the_program_is_taken_over() {
    let workshop = Workshop::new();
    for options in
        [&[OPTIMISED][..], &["-O3", "-rdynamic", "-s"], &[OPTIMISED, "-no-pie"], &[OPTIMISED, "-Wl,-z,noseparate-code"]]
    {
        println!("{options:?}");
        workshop.program_with_caffe_inside(options);
        is_taken(&taken(&workshop, "program", &[]));
    }
}

#[test]
fn the_landing_mark_of_a_function_is_kept() {
    let workshop = Workshop::new();
    workshop.program_with_caffe_inside(&MARKED);
    is_refused(&taken(&workshop, "program", &[]), "has 16 bytes, and a jump needs 18");
    // Padding to 16 alone is looked for, so the functions themselves are longer.
    let more = [&MARKED[..], &["-fno-optimize-sibling-calls", "-fstack-protector-all"]].concat();
    workshop.program_with_caffe_inside(&more);
    is_taken(&taken(&workshop, "program", &[]));
}

#[test]
fn a_file_that_sets_a_limit_runs_as_it_was_and_the_limit_is_named() {
    let workshop = Workshop::new();
    let symbolic = "-Wl,-Bsymbolic-functions";
    let part = "_ZN5caffe12SyncedMemory8cpu_dataEv.part.0";
    let divided = format!("__asm__(\".type {part}, @function\\n{part}: ret\\n.size {part}, 1\");");
    let folded = "-Wl,--defsym=_ZN5caffe12SyncedMemory6ResizeEm=_ZN5caffe12SyncedMemory8cpu_dataEv";
    for (more, option, why) in [
        ("void *_ZN5caffe12SyncedMemory8prv_dataEv(void) { return 0; }", symbolic, "it is Intel's Caffe"),
        ("void _ZN5caffe12SyncedMemoryC1EmPNS_6deviceE(void) {}", symbolic, "it is an OpenCL branch"),
        (&divided, symbolic, "the compiler has divided _ZN5caffe12SyncedMemory8cpu_dataEv"),
        ("", folded, "6ResizeEm into one function"),
    ] {
        println!("{why}");
        workshop.source("more.c", more);
        workshop.caffe(&[OPTIMISED, symbolic, option, "more.c"]);
        workshop.program(&[]);
        is_refused(&taken(&workshop, "program", &[]), why);
    }
}

/// In C: one function, and another that begins so many bytes behind its entry.
fn overlapping(one: &str, other: &str, bytes: usize) -> String {
    format!(
        "__asm__(\".globl {one}, {other}\\n.type {one}, @function\\n.type {other}, @function\\n.balign 16\\n\
         {one}: .fill 40, 1, 0x90\\nret\\n.size {one}, 41\\n.set {other}, {one} + {bytes}\\n.size {other}, 41 - {bytes}\");"
    )
}

#[test]
fn functions_that_a_jump_would_change_in_the_middle_are_left_as_they_are() {
    let workshop = Workshop::new();
    let (one, other) = ("_ZN5caffe12SyncedMemory12set_cpu_dataEPv", "_ZN5caffe12SyncedMemory12set_gpu_dataEPv");
    for (other, bytes, why) in [
        (
            other,
            2,
            "set_cpu_dataEPv and _ZN5caffe12SyncedMemory12set_gpu_dataEPv overlap: a jump in one would change the other",
        ),
        (other, 20, "set_cpu_dataEPv and _ZN5caffe12SyncedMemory12set_gpu_dataEPv overlap"),
        (
            "another",
            13,
            "another function begins within the first 14 bytes of _ZN5caffe12SyncedMemory12set_cpu_dataEPv",
        ),
    ] {
        println!("{other} + {bytes}");
        workshop.source("more.c", &overlapping(one, other, bytes));
        workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "more.c"]);
        workshop.program(&[]);
        is_refused(&taken(&workshop, "program", &[]), why);
        let doctor = workshop.syncedmem(&["doctor", "./program"]);
        assert_eq!(doctor.status, Some(1), "{doctor:?}");
        let result = doctor.output.replace('\n', " ");
        assert!(result.contains("cannot be taken over: ") && result.contains(why), "{result}");
    }
    // Nothing of the first function after the jump is executed any more, and the second is unchanged.
    workshop.source("more.c", &overlapping(one, "another", 14));
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "more.c"]);
    workshop.program(&[]);
    is_taken(&taken(&workshop, "program", &[]));
}

/// It opens a file and calls a function of it: `later FILE TIMES`, in as many threads at once as its third argument says.
const LATER: &str = r#"
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static char **argument;
    static void *use(void *unused) {
      (void)unused;
      for (int left = atoi(argument[2]); left > 0; --left) {
        void *caffe = dlopen(argument[1], RTLD_NOW | RTLD_LOCAL);
        int (*sum)(size_t) = caffe ? (int (*)(size_t))dlsym(caffe, "_ZN5caffe4BlobIfE3sumEv") : 0;
        if (!sum || !sum(1000)) { fprintf(stderr, "%s\n", sum ? "a wrong sum" : dlerror()); _exit(98); }
        dlclose(caffe);
      }
      return 0;
    }
    int main(int arguments, char **given) {
      argument = given;
      int forks = arguments > 4;
      if (forks) {
        int status = 0;
        if (fork() == 0) { use(0); exit(0); }
        wait(&status);
        return status ? 97 : 0;
      }
      pthread_t threads[8];
      int count = atoi(given[3]);
      for (int i = 0; i < count; ++i) pthread_create(&threads[i], 0, use, 0);
      for (int i = 0; i < count; ++i) pthread_join(threads[i], 0);
      return 0;
    }
"#;

#[test]
fn a_caffe_that_is_opened_later_is_taken_over_each_time_in_every_thread_and_in_a_forked_child() {
    let workshop = Workshop::new();
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions"]);
    workshop.source("later.c", LATER);
    workshop.compile("later", &["later.c", "-ldl", "-pthread"]);
    for (arguments, calls) in [
        (&["./libcaffe.so", "1", "1"][..], 1),
        // It is unloaded between.
        (&["./libcaffe.so", "20", "1"], 20),
        (&["./libcaffe.so", "50", "8"], 400),
        (&["./libcaffe.so", "1", "1", "in a forked child"], 1),
    ] {
        println!("{arguments:?}");
        let said = taken(&workshop, "later", arguments);
        assert_eq!(said.status, Some(0), "{said:?}");
        said.has(&[&format!("construct={calls} destroy={calls} ")]);
        assert!(!said.error.contains("taken over"), "{}", said.error);
    }
}

#[test]
fn run_takes_over_what_needs_it_and_the_report_says_so() {
    let workshop = Workshop::new();
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions"]);
    workshop.program(&[]);
    let result = workshop.run(&[], &["./program", "3"]);
    assert_eq!(result.status, Some(3), "{result:?}");
    let taken = "libcaffe.so was taken over by entry patch: 6 of 6 functions\n";
    result.has(&["libsyncedmem: memory of program", taken, "3.9 KiB"]);
    assert!(!result.error.contains("directly"), "{}", result.error);
    workshop.syncedmem(&["doctor", "./program"]).ok();
    // What a program opens is known only when it runs.
    workshop.source("later.c", LATER);
    workshop.compile("later", &["later.c", "-ldl", "-pthread"]);
    let result = workshop.run(&["--take-over", "--trace=t", "--report"], &["./later", "./libcaffe.so", "2", "2"]);
    assert_eq!(result.status, Some(0), "{result:?}");
    result.has(&[taken]);
    let details = workshop.syncedmem(&["report", "t", "--text", "--details"]).ok();
    assert_has(&details, &["libcaffe.so (taken over by entry patch: 6 of 6 functions)"]);
    let export = workshop.syncedmem(&["report", "t", "--json"]).ok();
    assert_has(&export, &["\"functions_taken_over\": 6"]);
    // A Caffe whose calls a preload reaches needs no change.
    workshop.caffe(&[OPTIMISED]);
    let result = workshop.run(&[], &["./program"]);
    assert!(result.error.contains("memory of program") && !result.error.contains("taken over"), "{}", result.error);
}

/// Loads the library as Python does.
#[test]
fn a_library_that_is_opened_when_threads_run_takes_over_nothing_that_they_may_execute() {
    let workshop = Workshop::new();
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions"]);
    let source = r#"
        #include "caffe.h"
        #include <dlfcn.h>
        #include <pthread.h>
        static void *wait_for_ever(void *unused) { for (;;) pause(); return unused; }
        int main(int arguments, char **argument) {
          pthread_t thread;
          if (arguments > 2) pthread_create(&thread, 0, wait_for_ever, 0);
          if (!dlopen(argument[1], RTLD_NOW)) return 98;
          return sum_of_ones(1000) ? 0 : 99;
        }
    "#;
    workshop.link("opens", source, &["-ldl", "-pthread"]);
    is_taken(&said(asking(workshop.path("opens")).arg(library())));
    let result = said(asking(workshop.path("opens")).args([&library(), "a thread"]));
    assert_eq!(result.status, Some(0), "{result:?}");
    result.has(&["nothing that is loaded now is taken over: the library was loaded when several threads ran"]);
    assert!(!result.error.contains("construct="), "{}", result.error);
}

#[test]
fn code_that_another_library_has_changed_is_left_alone() {
    let workshop = Workshop::new();
    workshop.program_with_caffe_inside(&[OPTIMISED]);
    std::fs::copy(library(), workshop.path("second.so")).unwrap();
    let both = format!("{}:{}", library(), workshop.path("second.so").display());
    let result = said(asking(workshop.path("program")).env("LD_PRELOAD", both));
    assert_eq!(result.status, Some(0), "{result:?}");
    result.has(&["8cpu_dataEv in memory differs from the file", "construct=1 destroy=1 cpu_data=1 mutable_cpu_data=1"]);
    result.has(&["the dynamic linker's function for debuggers is another one than is known, or has a breakpoint"]);
}

/// `forbid PROGRAM` runs it like a system that lets no page that was writable become executable.
const FORBID: &str = r#"
    #include <linux/filter.h>
    #include <linux/seccomp.h>
    #include <stddef.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int main(int arguments, char **argument) {
      struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      };
      struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 97;
      execv(argument[1], argument + 1);
      return 96;
    }
"#;

#[test]
fn where_the_system_forbids_to_change_code_nothing_is_changed_and_the_reason_is_said() {
    let workshop = Workshop::new();
    workshop.source("net.c", &net("mov $7, %eax"));
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "net.c"]);
    workshop.program(&[]);
    workshop.source("forbid.c", FORBID);
    workshop.compile("forbid", &["forbid.c"]);
    let mut program = asking(workshop.path("forbid"));
    let result = said(program.arg(workshop.path("program")).env("LD_PRELOAD", both_libraries()));
    is_refused(&result, "the system forbids to change code: permission denied");
    result.has(&["what is loaded from now on is not taken over", "have no names: the system forbids to make code"]);
}

pub fn both_libraries() -> String {
    format!("{}:{}", command_file().with_file_name("libsyncedmem_net.so").display(), library())
}

/// The program under a debugger or a checker that starts it, with both libraries preloaded.
fn watched(workshop: &Workshop, watcher: &str, arguments: &[String]) -> Said {
    if Command::new(watcher).arg("--version").output().is_err() {
        skip(format!("{watcher} is not installed"));
    }
    said(asking(watcher).args(arguments).arg(workshop.path("program")))
}

#[test]
fn valgrind_and_the_address_sanitizer_see_the_take_over_and_complain_of_nothing() {
    let workshop = Workshop::new();
    workshop.source("net.c", &net("mov $7, %eax"));
    workshop.caffe(&[OPTIMISED, "-Wl,-Bsymbolic-functions", "net.c"]);
    workshop.program(&[]);
    let options = ["--quiet", "--error-exitcode=9", "--trace-children=yes", "env"].map(String::from);
    let result =
        watched(&workshop, "valgrind", &[&options[..], &[format!("LD_PRELOAD={}", both_libraries())]].concat());
    is_taken(&result);
    workshop.program_with_caffe_inside(&[OPTIMISED, "-fsanitize=address"]);
    let mut program = asking(workshop.path("program"));
    is_taken(&said(program.env("LD_PRELOAD", both_libraries()).env("ASAN_OPTIONS", "verify_asan_link_order=0")));
}

#[test]
fn without_the_setting_nothing_is_changed() {
    let workshop = Workshop::new();
    workshop.program_with_caffe_inside(&[OPTIMISED]);
    let mut program = asking(workshop.path("program"));
    let result = said(program.env("LD_PRELOAD", library()).env_remove("SYNCEDMEM_TAKE_OVER"));
    assert_eq!((result.status, result.error.as_str()), (Some(0), ""));
}
