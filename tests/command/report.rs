//! `syncedmem report` as it is typed: where the report goes, and what is said when there is none.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use std::process::{Command, Output};

use crate::support::command_file::command_file;
use crate::support::*;

const TRACE: &str = r#"[
{"ph":"M","pid":7,"tid":7,"name":"process_name","cat":"syncedmem","args":{"name":"caffe","syncedmem":"0.1.0","format":1}},
{"ph":"i","pid":7,"tid":7,"ts":1.000,"s":"t","name":"object made","cat":"syncedmem","args":{"what":"made","object":"0x10","site":1,"bytes":4096,"noticed":"construction"}},
{"ph":"X","pid":7,"tid":7,"ts":2.000,"dur":0.500,"name":"allocate pageable","cat":"syncedmem","args":{"what":"allocated","object":"0x10","kind":"pageable","bytes":4096,"block":"0x20","origin":"fresh"}},
"#;

/// A folder with a trace.
struct Traced(Folder);

impl Traced {
    fn new() -> Traced {
        let folder = Folder::new();
        folder.source("train.json", TRACE);
        Traced(folder)
    }

    fn report(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(command_file());
        command.arg("report").args(arguments).current_dir(&*self.0).output().expect("the command starts")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.path(file)).expect("a file")
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn fails_with(output: &Output, what: &str) {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains(what), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn the_page_goes_beside_the_trace_and_its_name_is_said() {
    let folder = Traced::new();
    let output = folder.report(&["train.json"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), "train.html\n");
    assert!(output.stderr.is_empty(), "{output:?}");
    let page = folder.read("train.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("data-fact=\"pageable.peak\" data-v=\"4096\""));
}

#[test]
fn the_page_goes_to_the_file_that_the_option_names() {
    let folder = Traced::new();
    assert!(folder.report(&["train.json", "-o", "a.html"]).status.success());
    let output = folder.report(&["train.json", "--output", "-"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), folder.read("a.html"));
    assert!(!folder.0.join("train.html").exists());
}

#[test]
fn text_goes_to_standard_output_or_to_a_file() {
    let folder = Traced::new();
    let output = folder.report(&["train.json", "--text"]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).starts_with("libsyncedmem: memory of caffe (process 7)\n"), "{output:?}");
    assert!(folder.report(&["train.json", "--text", "-o", "a.txt"]).status.success());
    assert_eq!(folder.read("a.txt"), text(&output.stdout));
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let folder = Traced::new();
    // A pipe whose other end is closed, in the only form that std has.
    let (ours, gone) = UnixStream::pair().expect("a pair of sockets");
    drop(gone);
    let mut command = Command::new(command_file());
    command.args(["report", "train.json", "-o", "-"]).current_dir(&*folder.0).stdout(OwnedFd::from(ours));
    let output = command.output().expect("the command starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_trace_is_never_written_over() {
    let folder = Traced::new();
    fails_with(&folder.report(&["train.json", "-o", "./train.json"]), "is the trace itself");
    assert_eq!(folder.read("train.json"), TRACE);
}

#[test]
fn what_cannot_be_read_or_written_is_said_with_what_to_do() {
    let folder = Traced::new();
    fails_with(&folder.report(&["nowhere.json"]), "nowhere.json: it cannot be read");
    fails_with(&folder.report(&["train.json", "-o", "none/a.html"]), "name another file with --output");
    fs::write(folder.0.join("other.json"), "{\"a\": 1}\n").expect("a file");
    fails_with(&folder.report(&["other.json"]), "line 1:");
    fs::write(folder.0.join("empty.json"), "").expect("a file");
    fails_with(&folder.report(&["empty.json"]), "it is empty");
}
