//! `syncedmem run --trace` and `--report`: no file is lost that is something else, or whose successor never comes to be, and
//! none hangs the command.

use std::os::unix::fs::PermissionsExt;

use syncedmem_trace::recording::header::MAGIC;

use crate::caffe_like::{Said, Workshop};

/// `syncedmem run --trace FILE -- PROGRAM`.
fn traced(workshop: &Workshop, file: &str, program: &str) -> Said {
    workshop.syncedmem(&["run", "--trace", file, "--", program])
}

/// `program`, and a trace of it.
fn with_a_trace() -> (Workshop, Vec<u8>) {
    let workshop = Workshop::with_program();
    traced(&workshop, "t.trace", "./program").ok();
    let trace = std::fs::read(workshop.path("t.trace")).unwrap();
    assert!(trace.starts_with(&MAGIC));
    (workshop, trace)
}

#[test]
fn a_file_that_is_no_trace_is_refused_and_left_as_it_is() {
    let workshop = Workshop::with_program();
    for (name, text, why) in [
        ("model.caffemodel", "weights of a week", "there is something in it, and not a trace; name another file"),
        (
            "other.json",
            "[\n{}]",
            "a trace is not JSON; give it another name, and export it later: syncedmem export FILE",
        ),
    ] {
        workshop.source(name, text);
        traced(&workshop, name, "./program").fails(125, &[why]);
        assert_eq!(std::fs::read_to_string(workshop.path(name)).unwrap(), text);
    }
}

#[test]
fn an_earlier_trace_gives_way_to_that_of_a_program_that_was_started() {
    let (workshop, before) = with_a_trace();
    let names = || workshop.names().into_iter().filter(|name| name.starts_with("t.")).collect::<Vec<_>>();
    traced(&workshop, "t.trace", "./program").ok();
    assert_ne!(before, std::fs::read(workshop.path("t.trace")).unwrap());
    let run_of_two =
        || workshop.syncedmem(&["run", "--trace", "t.trace", "--", "sh", "-c", "./program; ./program"]).ok();
    run_of_two();
    let first = names();
    assert_eq!((first.len(), first[0].as_str()), (2, "t.trace"), "{first:?}");
    run_of_two();
    assert_eq!(names().len(), 2, "the second process of the earlier run is gone too: {:?}", names());
}

#[test]
fn an_earlier_trace_stays_where_the_program_cannot_be_started() {
    let (workshop, before) = with_a_trace();
    let bad = workshop.source("bad", "\x7fELF, but no program");
    std::fs::set_permissions(&bad, PermissionsExt::from_mode(0o755)).unwrap();
    workshop.source("plain", "not to be executed");
    let names = workshop.names();
    for program in ["no-such-program", "./bad", "./plain"] {
        for trace in ["t.trace", "new.trace"] {
            let result = traced(&workshop, trace, program);
            assert!(matches!(result.status, Some(126 | 127)), "{}", result.error);
        }
        assert!(std::fs::read(workshop.path("t.trace")).unwrap() == before, "{program}");
        assert_eq!(workshop.names(), names, "{program}: a trace of nothing is left behind");
    }
}

#[test]
fn a_report_does_not_wait_for_the_reader_of_a_fifo_and_follows_no_link() {
    let workshop = Workshop::new();
    assert!(std::process::Command::new("mkfifo").arg(workshop.path("fifo")).status().unwrap().success());
    std::os::unix::fs::symlink("other", workshop.path("link")).unwrap();
    for (file, why) in
        [("fifo", "it is not a regular file; name one"), ("link", "it is a symbolic link, which is not followed")]
    {
        workshop.syncedmem(&["run", &format!("--output={file}"), "--", "echo", "ran"]).fails(125, &[why]);
    }
}

#[test]
fn a_trace_is_not_left_behind_where_the_report_cannot_be_written() {
    let workshop = Workshop::new();
    let options = ["run", "--trace=t.trace", "--output=/no/such/folder/r", "--", "echo"];
    assert_eq!(workshop.syncedmem(&options).status, Some(125));
    assert!(!workshop.path("t.trace").exists());
}
