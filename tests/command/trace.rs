//! `syncedmem run --trace` and `--report`: no file is lost that is something else, or whose successor never comes to be, and
//! none hangs the command.

use std::os::unix::fs::PermissionsExt;

use syncedmem_trace::recording::header::MAGIC;

use crate::caffe_like::{Said, Workshop, command, said};

/// `syncedmem run --trace FILE -- PROGRAM`.
fn traced(workshop: &Workshop, file: &str, program: &str) -> Said {
    said(command().args(["run", "--trace", file, "--", program]).current_dir(workshop.path("")))
}

/// A program on a `libcaffe.so` whose calls can be replaced, and a trace of it.
fn with_a_trace() -> (Workshop, String, Vec<u8>) {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    let program = workshop.program(&[]).to_str().unwrap().to_string();
    assert_eq!(traced(&workshop, "t.trace", &program).status, Some(0));
    let trace = std::fs::read(workshop.path("t.trace")).unwrap();
    assert!(trace.starts_with(&MAGIC));
    (workshop, program, trace)
}

#[test]
fn a_file_that_is_no_trace_is_refused_and_left_as_it_is() {
    let (workshop, program, _) = with_a_trace();
    for (name, text) in [
        ("model.caffemodel", "weights of a week"),
        ("other.json", "[\n{}]"),
        ("rows.csv", "a,b\n1,2\n"),
        ("t.csv", "[\n"),
    ] {
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
    let names = || workshop.names().into_iter().filter(|name| name.starts_with("t.")).collect::<Vec<_>>();
    assert_eq!(traced(&workshop, "t.trace", &program).status, Some(0));
    assert_ne!(before, std::fs::read(workshop.path("t.trace")).unwrap());
    let of_two = ["sh", "-c", &format!("{program}; {program}")];
    let run_of_two =
        || said(command().args(["run", "--trace", "t.trace", "--"]).args(of_two).current_dir(workshop.path("")));
    assert_eq!(run_of_two().status, Some(0));
    let first = names();
    assert_eq!((first.len(), first[0].as_str()), (2, "t.trace"), "{first:?}");
    assert_eq!(run_of_two().status, Some(0));
    assert_eq!(names().len(), 2, "the second process of the earlier run is gone too: {:?}", names());
    for (name, allocation) in [("rows.csv", ",allocate,"), ("rows.json", "\"allocated\"")] {
        let [first, again] = [0, 1].map(|_| traced(&workshop, name, &program));
        assert_eq!((first.status, again.status), (Some(0), Some(0)), "{}", again.error);
        assert_eq!(std::fs::read_to_string(workshop.path(name)).unwrap().matches(allocation).count(), 1, "{name}");
    }
}

#[test]
fn an_earlier_trace_stays_where_the_program_cannot_be_started() {
    let (workshop, _, before) = with_a_trace();
    let bad = workshop.source("bad", "\x7fELF, but no program");
    std::fs::set_permissions(&bad, PermissionsExt::from_mode(0o755)).unwrap();
    let plain = workshop.source("plain", "not to be executed");
    let names = workshop.names();
    for program in ["no-such-program", bad.to_str().unwrap(), plain.to_str().unwrap()] {
        for trace in ["t.trace", "new.trace", "new.json"] {
            let told = traced(&workshop, trace, program);
            assert!(matches!(told.status, Some(126 | 127)), "{}", told.error);
        }
        assert!(std::fs::read(workshop.path("t.trace")).unwrap() == before, "{program}");
        assert_eq!(workshop.names(), names, "{program}: a trace of nothing is left behind");
    }
}

#[test]
fn a_trace_that_ends_early_is_reported_as_such_and_a_whole_one_is_not() {
    let (workshop, _, mut trace) = with_a_trace();
    let report = |name: &str| said(command().args(["report", "--text"]).arg(workshop.path(name))).output;
    assert!(!report("t.trace").contains("its recording"), "{}", report("t.trace"));
    // As SIGKILL leaves it: without the end mark.
    trace[8 * 11..][..8].fill(0);
    std::fs::write(workshop.path("cut.trace"), trace).unwrap();
    let cut = report("cut.trace");
    assert!(cut.contains("program did not end its recording (killed, _exit, exec, or it still runs)"), "{cut}");
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
    let options = ["run", "--trace=t.trace", "--report=/no/such/folder/r", "--", "echo"];
    assert_eq!(said(command().args(options).current_dir(workshop.path(""))).status, Some(125));
    assert!(!workshop.path("t.trace").exists());
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
