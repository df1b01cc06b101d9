//! `syncedmem report` as it is typed: where the report goes, and what is said when there is none.

use std::fs;
use std::process::Stdio;

use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Noticed, Origin, What};
use syncedmem_trace::recording::header::End;

use crate::caffe_like::{Workshop, command, said};
use syncedmem_trace::recording::sample::{Recording, at, process};

/// An object with a block of 4 KiB.
fn recorded() -> Vec<u8> {
    let recording = Recording::new(&process(7));
    recording.event(at(1000, 0, What::Made { bytes: 4096, noticed: Noticed::Construction }));
    let (kind, origin) = (Kind::Pageable, Origin::Fresh);
    recording.event(at(2000, 500, What::Allocated { kind, bytes: 4096, block: 32, origin }));
    recording.end(End::default());
    recording.bytes()
}

/// A workshop with that as `train.trace`.
fn traced() -> Workshop {
    let workshop = Workshop::new();
    write(&workshop, "train.trace", &recorded());
    workshop
}

fn write(workshop: &Workshop, name: &str, contents: &[u8]) {
    fs::write(workshop.path(name), contents).unwrap();
}

fn read(workshop: &Workshop, name: &str) -> String {
    fs::read_to_string(workshop.path(name)).unwrap()
}

#[test]
fn the_page_goes_beside_the_trace_and_its_name_is_said() {
    let workshop = traced();
    let result = workshop.syncedmem(&["report", "train.trace"]);
    assert_eq!((result.error.as_str(), result.output.as_str()), ("", "train.html\n"));
    let page = read(&workshop, "train.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("data-fact=\"peak.pageable\" data-v=\"4096\""));
}

#[test]
fn the_page_and_the_text_go_to_the_file_that_the_option_names_or_to_standard_output() {
    let workshop = traced();
    workshop.syncedmem(&["report", "train.trace", "-o", "a.html"]).ok();
    let page = workshop.syncedmem(&["report", "train.trace", "--output", "-"]).ok();
    assert!(page == read(&workshop, "a.html") && !workshop.path("train.html").exists());
    let text = workshop.syncedmem(&["report", "train.trace", "--text"]).ok();
    assert!(text.starts_with("libsyncedmem: memory of caffe (process 7)\n"), "{text}");
    workshop.syncedmem(&["report", "train.trace", "--text", "-o", "a.txt"]).ok();
    assert_eq!(read(&workshop, "a.txt"), text);
}

#[test]
fn a_trace_comes_from_standard_input_and_its_page_goes_to_standard_output() {
    let workshop = traced();
    let page = workshop.shell_here("\"$0\" report - < train.trace").ok();
    assert!(page.starts_with("<!doctype html>") && page.contains("standard input"), "{page}");
    let text = workshop.syncedmem(&["report", "train.trace", "--text"]).ok();
    assert_eq!(workshop.shell_here("\"$0\" report - --text < train.trace").ok(), text);
    assert_eq!(workshop.shell_here("cat train.trace | \"$0\" report - --text").ok(), text);
    assert_eq!(workshop.names(), ["caffe.h", "train.trace"]);
    said(command().args(["report", "-"]).stdin(Stdio::null())).fails(1, &["standard input: it is empty"]);
}

#[test]
fn a_compressed_trace_is_told_by_its_contents() {
    let workshop = traced();
    let text = workshop.syncedmem(&["report", "train.trace", "--text"]).ok();
    // Files that were compressed one by one and joined are one file, as gzip(1) takes them.
    let script = "
        head -c 200 train.trace > first; tail -c +201 train.trace > second
        gzip -k train.trace; cp train.trace.gz no-name-for-it; (gzip -c first; gzip -c second) > joined.gz
        head -c 100 train.trace.gz > cut.gz";
    workshop.shell_here(script).ok();
    for name in ["train.trace.gz", "no-name-for-it", "joined.gz"] {
        assert_eq!(workshop.syncedmem(&["report", name, "--text"]).ok(), text, "{name}");
    }
    assert_eq!(workshop.syncedmem(&["report", "train.trace.gz"]).ok(), "train.html\n");
    workshop.syncedmem(&["report", "cut.gz"]).fails(1, &["cut.gz: it cannot be read"]);
}

#[test]
fn what_cannot_be_read_or_written_is_said_with_what_to_do() {
    let workshop = traced();
    for (arguments, what) in [
        (&["nowhere.trace"][..], "nowhere.trace: it cannot be read"),
        (&["train.trace", "-o", "none/a.html"], "name another file with --output"),
        (&["train.trace", "-o", "./train.trace"], "is the trace itself"),
    ] {
        workshop.syncedmem(&[&["report"], arguments].concat()).fails(1, &[what]);
    }
    assert!(fs::read(workshop.path("train.trace")).unwrap() == recorded(), "it is never written over");
}
