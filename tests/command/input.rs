//! What `syncedmem report`, `export` and `diff` read: recordings alone, and those of runs that have not ended or were cut off.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use syncedmem_trace::event::{Noticed, What};

use crate::caffe_like::{Said, Workshop, command, said};
use crate::run::send;
use syncedmem_trace::recording::sample::{LAYOUT, Recording, at, process};

/// The commands that read a trace, with the file.
fn readers(file: &str) -> [Vec<&str>; 4] {
    [
        vec!["report", file, "--text"],
        vec!["report", file, "-o", "page.html"],
        vec!["export", file, "-o", "-"],
        vec!["diff", file, file],
    ]
}

/// With a TMPDIR of its own, in which nothing may be longer than this.
fn within(workshop: &Workshop, blocks: u32, arguments: &[&str], input: Stdio) -> Said {
    let temporary = workshop.path("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh"]).arg(command().get_program()).args(arguments);
    said(shell.env("TMPDIR", temporary).current_dir(workshop.path("")).stdin(input))
}

#[test]
fn what_is_no_recording_is_refused_by_its_beginning_and_never_copied() {
    let workshop = Workshop::new();
    // 16 MiB of zeros as 70 KiB: gzip of other things.
    workshop.shell_here("head -c 16777216 /dev/zero | gzip -1 > zeros.gz; mkdir folder; echo hello > folder/text").ok();
    fs::write(workshop.path("brace"), [b'{', 0xff].repeat(4096)).unwrap();
    fs::write(workshop.path("text.json"), format!("[{}", "é".repeat(4096))).unwrap();
    let why = "it is not a recording of libsyncedmem";
    for (file, why) in [
        ("zeros.gz", why),
        ("/dev/zero", why),
        ("brace", why),
        ("text.json", "it is an export, not a recording"),
        ("/dev/null", "it is empty"),
        ("folder", "this folder has no recording"),
    ] {
        for arguments in readers(file) {
            within(&workshop, 0, &arguments, Stdio::null()).fails(1, &[&format!("{file}: {why}")]);
        }
    }
    for device in ["/dev/zero", "zeros.gz"] {
        let input = File::open(workshop.path("").join(device)).unwrap();
        within(&workshop, 0, &["report", "-"], input.into()).fails(1, &[&format!("standard input: {why}")]);
    }
    assert!(!workshop.path("page.html").exists());
}

#[test]
fn a_recording_is_unpacked_up_to_the_bytes_that_its_header_gives_it() {
    let workshop = Workshop::new();
    let recording = Recording::new(&process(7));
    recording.event(at(1, 1, What::Made { bytes: 64, noticed: Noticed::Construction }));
    let (bytes, most) = (recording.bytes(), LAYOUT.bytes());
    let write = |name: &str, length: u64| {
        let mut file = File::create(workshop.path(name)).unwrap();
        file.write_all(&bytes).unwrap();
        file.set_len(length).unwrap();
    };
    write("whole", most);
    write("longer", most + 1);
    write("bomb", 16 << 20);
    workshop.shell_here("gzip -1 whole longer bomb").ok();
    workshop.syncedmem(&["report", "whole.gz", "--text"]).ok();
    let told = within(&workshop, 8, &["report", "whole.gz"], Stdio::null());
    told.fails(1, &["there is no space for a copy in ", "(ulimit -f); set TMPDIR to a folder with space"]);
    let why = format!("it is longer than the {most} bytes that its header names");
    for file in ["longer.gz", "bomb.gz"] {
        for arguments in readers(file) {
            within(&workshop, 2 * most as u32 / 512, &arguments, Stdio::null()).fails(1, &[&why]);
        }
    }
}

/// A run that records to `t.trace`, and holds until its input ends.
fn going_on(workshop: &Workshop) -> Child {
    let mut command = workshop.command(&["--trace", "t.trace"], &["./holds"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "holds\n");
    child
}

fn holding() -> Workshop {
    Workshop::with(
        "holds",
        r#"
        #include "caffe.h"
        int main(void) {
          struct memory m;
          construct(&m, 3 << 20);
          mutable_cpu_data(&m);
          char c;
          if (write(1, "holds\n", 6) != 6) return 1;
          return read(0, &c, 1);
        }
        "#,
    )
}

#[test]
fn the_recording_of_a_run_that_goes_on_or_was_cut_off_is_found_beside_its_name() {
    let workshop = holding();
    let mut child = going_on(&workshop);
    let (number, page) = (child.id(), |workshop: &Workshop| fs::read_to_string(workshop.path("page.html")).unwrap());
    let is_read = |note: &str| {
        let [text, to_page, exported, diff] = readers("t.trace").map(|arguments| workshop.syncedmem(&arguments));
        assert!(text.output.contains(note) && text.output.contains("peak 3.0 MiB"), "{text:?}");
        to_page.ok();
        assert!(page(&workshop).contains(note));
        exported.has(&[note]);
        assert!(exported.ok().contains("\"allocated\""));
        assert!(diff.output.contains(note), "{diff:?}");
    };
    is_read(&format!("the run of process {number} goes on: this is what it has recorded to t.trace-run-{number}-"));
    send(&child, libc::SIGKILL);
    child.wait().unwrap();
    is_read(&format!("the run of process {number} was cut off: this is what it had recorded to t.trace-run-{number}-"));
    // A later run that ends has its file, and nothing is said of the one before.
    drop(going_on(&workshop).wait_with_output().unwrap());
    let told = workshop.syncedmem(&["report", "t.trace", "--text"]);
    assert!(!told.output.contains("the run of process"), "{told:?}");
    // One that goes on is named beside an earlier one.
    let mut child = going_on(&workshop);
    let note = format!("this is an earlier run: that of process {} goes on, and records to t.trace-run-", child.id());
    assert!(workshop.syncedmem(&["report", "t.trace", "--text"]).output.contains(&note));
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_run_that_has_recorded_nothing_yet_is_said() {
    let workshop = Workshop::new();
    let mut command = workshop.command(&["--trace", "t.trace"], &["sh", "-c", "echo runs; read line"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    for arguments in readers("t.trace") {
        let what = format!("the run of process {} goes on: ", child.id());
        let told = workshop.syncedmem(&arguments);
        told.fails(1, &[&what]);
        assert!(told.error.contains("nothing yet"), "{}", told.error);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(OpenOptions::new().read(true).open(workshop.path("t.trace")).is_err());
}
