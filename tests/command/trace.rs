//! `syncedmem run --trace` and `--report`: no file is lost that is something else, or whose successor never comes to be, and
//! none hangs the command.

use std::os::unix::fs::PermissionsExt;

use crate::caffe_like::{Said, Workshop, command, said};

/// `syncedmem run --trace FILE -- PROGRAM`.
fn traced(workshop: &Workshop, file: &str, program: &str) -> Said {
    said(command().args(["run", "--trace", file, "--", program]).current_dir(workshop.path("")))
}

/// A program on a `libcaffe.so` whose calls can be replaced, and a trace of it.
fn with_a_trace() -> (Workshop, String, String) {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    let program = workshop.program(&[]).to_str().unwrap().to_string();
    assert_eq!(traced(&workshop, "t.json", &program).status, Some(0));
    let trace = std::fs::read_to_string(workshop.path("t.json")).unwrap();
    assert!(trace.contains("process_name"), "{trace}");
    (workshop, program, trace)
}

#[test]
fn a_file_that_is_no_trace_is_refused_and_left_as_it_is() {
    let (workshop, program, _) = with_a_trace();
    for (name, text) in
        [("model.caffemodel", "weights of a week"), ("other.json", "[\n{}]"), ("rows.csv", "a,b\n1,2\n")]
    {
        workshop.source(name, text);
        let told = traced(&workshop, name, &program);
        assert_eq!(told.status, Some(125), "{}", told.error);
        assert!(told.error.contains("there is something in it, and not a trace; name another file"), "{}", told.error);
        assert_eq!(std::fs::read_to_string(workshop.path(name)).unwrap(), text);
    }
}

#[test]
fn an_earlier_trace_gives_way_to_that_of_a_program_that_was_started() {
    let (workshop, program, before) = with_a_trace();
    assert_eq!(traced(&workshop, "t.json", &program).status, Some(0));
    let after = std::fs::read_to_string(workshop.path("t.json")).unwrap();
    assert_eq!(after.matches("\"process_name\"").count(), 1, "it is begun anew");
    assert_ne!(before, after);
    let [first, again] = [0, 1].map(|_| traced(&workshop, "rows.csv", &program));
    assert_eq!((first.status, again.status), (Some(0), Some(0)), "{}", again.error);
    let rows = std::fs::read_to_string(workshop.path("rows.csv")).unwrap();
    assert_eq!((rows.matches("Thread,").count(), rows.matches("allocate,").count()), (1, 1), "{rows}");
}

#[test]
fn an_earlier_trace_stays_where_the_program_cannot_be_started() {
    let (workshop, _, before) = with_a_trace();
    let bad = workshop.source("bad", "\x7fELF, but no program");
    std::fs::set_permissions(&bad, PermissionsExt::from_mode(0o755)).unwrap();
    let plain = workshop.source("plain", "not to be executed");
    for program in ["no-such-program", bad.to_str().unwrap(), plain.to_str().unwrap()] {
        let told = traced(&workshop, "t.json", program);
        assert!(matches!(told.status, Some(126 | 127)), "{}", told.error);
        assert!(std::fs::read_to_string(workshop.path("t.json")).unwrap() == before, "{program}");
        traced(&workshop, "new.json", program);
        assert!(!workshop.path("new.json").exists(), "{program}: a trace of nothing is left behind");
        let empty = workshop.source("empty.json", "");
        traced(&workshop, "empty.json", program);
        assert_eq!(std::fs::metadata(empty).unwrap().len(), 0, "{program}");
    }
}

#[test]
fn a_trace_without_its_end_is_reported_as_cut_and_a_whole_one_is_not() {
    let (workshop, _, trace) = with_a_trace();
    let report = |name: &str| said(command().args(["report", "--text"]).arg(workshop.path(name))).output;
    assert!(!report("t.json").contains("no end in the trace"), "{}", report("t.json"));
    // As a full disk leaves it: whole blocks, and not all of them.
    let last = trace.len() - 512;
    workshop.source("cut.json", &trace[..last]);
    assert!(report("cut.json").contains("1 process has no end in the trace"), "{}", report("cut.json"));
}

#[test]
fn a_report_does_not_wait_for_the_reader_of_a_fifo_and_follows_no_link() {
    let workshop = Workshop::new();
    let (fifo, link) = (workshop.path("fifo"), workshop.path("link"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::os::unix::fs::symlink("other", &link).unwrap();
    for (file, why) in
        [(&fifo, "it is not a regular file; name one"), (&link, "it is a symbolic link, which is not followed")]
    {
        let told = said(command().args(["run", &format!("--report={}", file.display()), "--", "echo", "ran"]));
        assert_eq!((told.status, told.output.as_str()), (Some(125), ""), "{}", told.error);
        assert!(told.error.contains(why), "{}", told.error);
    }
}

#[test]
fn a_trace_is_not_left_behind_where_the_report_cannot_be_written() {
    let workshop = Workshop::new();
    let options = ["run", "--trace=t.json", "--report=/no/such/folder/r", "--", "echo"];
    assert_eq!(said(command().args(options).current_dir(workshop.path(""))).status, Some(125));
    assert!(!workshop.path("t.json").exists());
}

#[test]
fn nothing_is_read_back_from_a_device_that_takes_the_report() {
    let (workshop, program, _) = with_a_trace();
    for device in ["/dev/null", "/dev/full", "/dev/zero"] {
        let told =
            said(command().args(["run", &format!("--report={device}"), "--", &program]).current_dir(workshop.path("")));
        assert_eq!(told.status, Some(0), "{}", told.error);
        assert!(!told.error.contains("never called"), "{}", told.error);
    }
}

#[test]
fn a_name_with_a_line_in_it_begins_no_line() {
    let told = said(command().args(["run", "--", "./no\nsyncedmem: all is well"]));
    assert_eq!((told.status, told.error.lines().count()), (Some(127), 1), "{}", told.error);
}
