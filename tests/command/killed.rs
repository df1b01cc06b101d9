//! `syncedmem run` of programs that end in the middle: killed by a signal, or by `_exit`.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use crate::caffe_like::{Workshop, command, said};
use crate::run::{leaves_nothing, run, shell};

/// A program that uses two blobs, the second after it says that it is ready, and then ends as its argument says.
fn dying() -> (Workshop, PathBuf) {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source(
        "program.c",
        r#"
        #include <signal.h>
        #include <stdlib.h>
        #include <unistd.h>
        void _ZN5caffe12SyncedMemoryC1Em(void *, size_t);
        void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(void *);
        static long small[8], large[8];
        int main(int arguments, char **argument) {
          _ZN5caffe12SyncedMemoryC1Em(small, 4 << 10);
          _ZN5caffe12SyncedMemory16mutable_cpu_dataEv(small);
          _ZN5caffe12SyncedMemoryC1Em(large, 3 << 20);
          _ZN5caffe12SyncedMemory16mutable_cpu_dataEv(large);
          int signal = atoi(argument[1]);
          if (signal == 0) _exit(7);
          if (signal == SIGSEGV) *(volatile char *)8 = 1;
          return raise(signal);
        }
        "#,
    );
    let program = workshop.compile("dies", &["program.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"]);
    (workshop, program)
}

#[test]
fn a_program_that_a_signal_ends_is_reported_with_what_was_growing() {
    let (workshop, program) = dying();
    for signal in [libc::SIGKILL, libc::SIGSEGV, libc::SIGABRT] {
        let output = run(&workshop, &[], &[program.to_str().unwrap(), &signal.to_string()]).output().unwrap();
        assert_eq!(output.status.signal(), Some(signal));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let first = format!("dies was killed by signal {signal} at 3.0 MiB, growing: ");
        assert!(error.trim_start().starts_with(&first), "{error}");
        assert!(error.contains("peak 3.0 MiB of blobs"), "{error}");
        leaves_nothing(&workshop);
    }
}

#[test]
fn a_program_that_ends_by_underscore_exit_is_reported_as_whole() {
    let (workshop, program) = dying();
    let told = said(&mut run(&workshop, &[], &[program.to_str().unwrap(), "0"]));
    assert_eq!(told.status, Some(7));
    assert!(told.error.trim_start().starts_with("libsyncedmem: memory of dies") && told.error.contains("\npeak "));
}

#[test]
fn a_program_that_is_killed_under_a_shell_is_reported_with_the_shells_status_for_it() {
    let (workshop, program) = dying();
    let told = shell(&workshop, &[], &format!("{} 9; exit $?", program.display()));
    assert_eq!(told.status, Some(128 + 9));
    assert!(told.error.contains("dies was killed by signal 9 at 3.0 MiB, growing: "), "{}", told.error);
}

#[test]
fn a_killed_program_among_others_is_reported_as_one_without_an_end() {
    let (workshop, program) = dying();
    workshop.program(&[]);
    let told = shell(&workshop, &[], &format!("./program; {} 9; ./program", program.display()));
    assert_eq!(told.status, Some(0));
    assert_eq!(told.error.matches("libsyncedmem: memory of program").count(), 2, "{}", told.error);
    assert!(told.error.contains("dies did not end its recording (killed, _exit, exec, or it still runs) at 3.0 MiB"));
}

#[test]
fn the_trace_of_a_killed_program_is_kept_and_exported() {
    let (workshop, program) = dying();
    for name in ["t.trace", "t.json", "t.csv"] {
        let output = run(&workshop, &["--trace", name], &[program.to_str().unwrap(), "9"]).output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGKILL));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("dies was killed by signal 9") && error.contains("the trace is in /"), "{error}");
        leaves_nothing(&workshop);
    }
    let read = |name: &str| std::fs::read_to_string(workshop.path(name)).unwrap();
    assert_eq!((read("t.csv").matches("allocate").count(), read("t.json").matches("\"allocated\"").count()), (2, 2));
    for to in ["json", "csv"] {
        let exported =
            said(command().args(["export", "t.trace", "--to", to, "-o", "-"]).current_dir(workshop.path("")));
        assert_eq!(exported.output.lines().count(), read(&format!("t.{to}")).lines().count(), "{}", exported.error);
    }
}
