//! `syncedmem report` as it is typed: where the report goes, and what is said when there is none.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use std::process::{Command, Output, Stdio};

use syncedmem_trace::event::{Noticed, Origin, What};
use syncedmem_trace::kind::Kind;
use syncedmem_trace::recording::header::End;

use crate::support::command_file::command_file;
use crate::support::recording::{Recording, at, process};
use crate::support::*;

/// An object with a block of 4 KiB.
fn recorded() -> Vec<u8> {
    let recording = Recording::new(&process(7));
    recording.event(at(1000, 0, What::Made { bytes: 4096, noticed: Noticed::Construction }));
    let (kind, origin) = (Kind::Pageable, Origin::Fresh);
    recording.event(at(2000, 500, What::Allocated { kind, bytes: 4096, block: 32, origin }));
    recording.end(End::default());
    recording.bytes()
}

/// A folder with a trace.
struct Traced(Folder);

impl Traced {
    fn new() -> Traced {
        let folder = Folder::new();
        fs::write(folder.path("train.trace"), recorded()).expect("a file");
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
    let output = folder.report(&["train.trace"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout), "train.html\n");
    assert!(output.stderr.is_empty(), "{output:?}");
    let page = folder.read("train.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("data-fact=\"pageable.peak\" data-v=\"4096\""));
}

#[test]
fn the_page_goes_to_the_file_that_the_option_names() {
    let folder = Traced::new();
    assert!(folder.report(&["train.trace", "-o", "a.html"]).status.success());
    let output = folder.report(&["train.trace", "--output", "-"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), folder.read("a.html"));
    assert!(!folder.0.join("train.html").exists());
}

#[test]
fn text_goes_to_standard_output_or_to_a_file() {
    let folder = Traced::new();
    let output = folder.report(&["train.trace", "--text"]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).starts_with("libsyncedmem: memory of caffe (process 7)\n"), "{output:?}");
    assert!(folder.report(&["train.trace", "--text", "-o", "a.txt"]).status.success());
    assert_eq!(folder.read("a.txt"), text(&output.stdout));
}

#[test]
fn a_trace_comes_from_standard_input_and_its_page_goes_to_standard_output() {
    let folder = Traced::new();
    let from_input = |arguments: &[&str]| {
        let mut command = Command::new(command_file());
        command.arg("report").args(arguments).stdin(fs::File::open(folder.0.path("train.trace")).expect("the trace"));
        command.output().expect("the command starts")
    };
    let page = from_input(&["-"]);
    assert!(page.status.success() && page.stderr.is_empty(), "{page:?}");
    let written = text(&page.stdout);
    assert!(written.starts_with("<!doctype html>") && written.contains("standard input"), "{written}");
    let told = folder.report(&["train.trace", "--text"]);
    assert_eq!(text(&from_input(&["-", "--text"]).stdout), text(&told.stdout));
    let mut pipe = Command::new("sh");
    pipe.args(["-c", "cat train.trace | \"$0\" report - --text"]).arg(command_file()).current_dir(&*folder.0);
    assert_eq!(text(&pipe.output().expect("a shell").stdout), text(&told.stdout));
    assert_eq!(folder.0.names(), ["train.trace"]);
    let mut nothing = Command::new(command_file());
    nothing.args(["report", "-"]).stdin(Stdio::null());
    fails_with(&nothing.output().expect("the command starts"), "standard input: it is empty");
}

#[test]
fn a_compressed_trace_is_told_by_its_contents() {
    let folder = Traced::new();
    let told = folder.report(&["train.trace", "--text"]);
    let compressed = Command::new("gzip").arg("-c").arg(folder.0.path("train.trace")).output().expect("gzip").stdout;
    // Files that were compressed one by one and joined are one file, as gzip(1) takes them.
    let whole = recorded();
    let (first, second) = whole.split_at(200);
    fs::write(folder.0.path("first"), first).expect("a file");
    fs::write(folder.0.path("second"), second).expect("a file");
    let gzip = |name| Command::new("gzip").arg("-c").arg(folder.0.path(name)).output().expect("gzip").stdout;
    for (name, contents) in [
        ("train.trace.gz", compressed.clone()),
        ("no-name-for-it", compressed.clone()),
        ("joined.gz", [gzip("first"), gzip("second")].concat()),
    ] {
        fs::write(folder.0.path(name), contents).expect("a file");
        let output = folder.report(&[name, "--text"]);
        assert_eq!(text(&output.stdout), text(&told.stdout), "{name}: {output:?}");
    }
    let page = folder.report(&["train.trace.gz"]);
    assert_eq!(text(&page.stdout), "train.html\n", "{page:?}");
    fs::write(folder.0.path("cut.gz"), &compressed[..compressed.len() / 2]).expect("a file");
    fails_with(&folder.report(&["cut.gz"]), "cut.gz: it cannot be read");
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    let folder = Traced::new();
    // A pipe whose other end is closed, in the only form that std has.
    let (ours, gone) = UnixStream::pair().expect("a pair of sockets");
    drop(gone);
    let mut command = Command::new(command_file());
    command.args(["report", "train.trace", "-o", "-"]).current_dir(&*folder.0).stdout(OwnedFd::from(ours));
    let output = command.output().expect("the command starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_trace_is_never_written_over() {
    let folder = Traced::new();
    fails_with(&folder.report(&["train.trace", "-o", "./train.trace"]), "is the trace itself");
    assert!(fs::read(folder.0.path("train.trace")).expect("the trace") == recorded());
}

#[test]
fn what_cannot_be_read_or_written_is_said_with_what_to_do() {
    let folder = Traced::new();
    fails_with(&folder.report(&["nowhere.trace"]), "nowhere.trace: it cannot be read");
    fails_with(&folder.report(&["train.trace", "-o", "none/a.html"]), "name another file with --output");
    fs::write(folder.0.join("other.json"), "{\"a\": 1}\n").expect("a file");
    fails_with(&folder.report(&["other.json"]), "no recording; open it with the tool that it was exported for");
    fs::write(folder.0.join("empty.trace"), "").expect("a file");
    fails_with(&folder.report(&["empty.trace"]), "it is empty");
}
