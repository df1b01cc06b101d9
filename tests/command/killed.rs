//! `syncedmem run` of programs that end in the middle: killed by a signal, or by `_exit`.

use crate::caffe_like::Workshop;

/// A workshop with `dies`, a program that uses two blobs, and then ends as its argument says.
fn dying() -> Workshop {
    Workshop::with(
        "dies",
        r#"
        #include "caffe.h"
        static struct memory small, large;
        int main(int arguments, char **argument) {
          construct(&small, 4 << 10);
          mutable_cpu_data(&small);
          construct(&large, 3 << 20);
          mutable_cpu_data(&large);
          int signal = atoi(argument[1]);
          if (signal == 0) _exit(7);
          if (signal == SIGSEGV) *(volatile char *)8 = 1;
          return raise(signal);
        }
        "#,
    )
}

#[test]
fn a_program_that_a_signal_ends_is_reported_with_what_was_growing() {
    let workshop = dying();
    for signal in [libc::SIGKILL, libc::SIGSEGV, libc::SIGABRT] {
        let result = workshop.run(&[], &["./dies", &signal.to_string()]);
        assert_eq!(result.signal, Some(signal));
        let first = format!("dies was killed by signal {signal} at 3.0 MiB, growing: ");
        assert!(result.error.trim_start().starts_with(&first), "{}", result.error);
        result.has(&["peak 3.0 MiB of blobs"]);
        workshop.leaves_nothing();
    }
}

#[test]
fn a_program_that_ends_by_underscore_exit_is_reported_as_whole() {
    let result = dying().run(&[], &["./dies", "0"]);
    assert_eq!(result.status, Some(7));
    assert!(result.error.trim_start().starts_with("libsyncedmem: memory of dies") && result.error.contains("\npeak "));
}

#[test]
fn a_program_that_is_killed_under_a_shell_is_reported_with_the_shells_status_for_it() {
    let result = dying().shell(&[], "./dies 9; exit $?");
    result.fails(128 + 9, &["dies was killed by signal 9 at 3.0 MiB, growing: "]);
}

#[test]
fn a_killed_program_among_others_is_reported_as_one_without_an_end() {
    let workshop = dying();
    workshop.program(&[]);
    let result = workshop.shell(&[], "./program; ./dies 9; ./program");
    result.fails(0, &["dies did not end its recording (killed, _exit, exec, or it still runs) at 3.0 MiB"]);
    assert_eq!(result.error.matches("libsyncedmem: memory of program").count(), 2, "{}", result.error);
}

#[test]
fn the_trace_of_a_killed_program_is_kept_and_exported() {
    let workshop = dying();
    let result = workshop.run(&["--trace", "t.trace"], &["./dies", "9"]);
    assert_eq!(result.signal, Some(libc::SIGKILL));
    result.has(&["dies was killed by signal 9", "the trace is in /"]);
    workshop.leaves_nothing();
    let exported = workshop.syncedmem(&["export", "t.trace", "-o", "-"]).ok();
    assert_eq!(exported.matches("\"allocated\"").count(), 2, "{exported}");
}
