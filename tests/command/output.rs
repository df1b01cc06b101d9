//! The output of every command: it arrives whole, or there is an error, and what was there before is still there.

use std::fs::{self, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use crate::caffe_like::{Said, Workshop, command, said};
use crate::help::{PAGES, prepared};

/// Each command with standard output as its output, by the files that the examples of the help name.
const PRINTS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["help"],
    &["doctor"],
    &["doctor", "bin/caffe"],
    &["report", "train.trace"],
    &["report", "train.trace", "--text"],
    &["report", "train.trace", "--json"],
    &["report", "train.trace", "-o", "-"],
    &["report", "train.trace", "-o", "/dev/stdout"],
    &["export", "train.trace", "-o", "/dev/stdout"],
    &["diff", "train.trace", "train.trace"],
    &["model", "inspect", "lenet.caffemodel"],
    &["model", "inspect", "lenet.caffemodel", "--json"],
    &["model", "inspect", "lenet.caffemodel", "--ranges"],
    &["model", "check", "lenet.caffemodel"],
    &["model", "check", "lenet.caffemodel", "--json"],
    &["model", "diff", "lenet.caffemodel", "lenet.caffemodel"],
    &["model", "diff", "lenet.caffemodel", "lenet.caffemodel", "--json"],
    &["model", "export", "lenet.caffemodel", "--to", "npz"],
    &["model", "import", "some.npz", "--from", "npz", "--like", "lenet.caffemodel", "-o", "new.caffemodel"],
];

/// Runs each of them, and the help of each command, in a workshop with those files.
fn with_each(output: impl Fn() -> Stdio, check: impl Fn(&[&str], Said)) {
    let workshop = prepared();
    let run = |arguments: &[&str]| {
        let result = said(command().args(arguments).current_dir(workshop.path("")).stdout(output()));
        check(arguments, result);
    };
    PRINTS.iter().for_each(|arguments| run(arguments));
    for page in &PAGES[1..] {
        run(&[page, &["--help"][..]].concat());
        // `run` has the output of its program, `model` only that of the commands below it, and `share` none.
        let is_printed =
            PRINTS.iter().any(|arguments| arguments.starts_with(page)) || ["run", "share"].contains(&page[0]);
        assert!(is_printed, "{page:?} is not among the commands");
    }
}

#[test]
fn a_standard_output_that_takes_nothing_is_an_error_of_every_command() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap().into();
    with_each(full, |arguments, result| {
        let error = "syncedmem: standard output cannot be written: No space left on device (os error 28); make room, or direct it elsewhere\n";
        assert_eq!((result.status, result.error.as_str()), (Some(1), error), "{arguments:?}");
    });
}

#[test]
fn a_reader_that_has_read_enough_is_no_error_of_any_command() {
    // A pipe whose other end is closed, in the only form that std has.
    let closed = || OwnedFd::from(UnixStream::pair().unwrap().0).into();
    with_each(closed, |arguments, result| {
        assert_eq!((result.status, result.error.as_str()), (Some(0), ""), "{arguments:?}");
    });
}

#[test]
fn a_limit_on_the_length_of_files_is_an_error_and_leaves_what_was_there() {
    let workshop = prepared();
    const OLD: [&str; 6] = ["page.html", "t.txt", "t.json", "m.npz", "m.safetensors", "m.caffemodel"];
    OLD.iter().for_each(|name| drop(workshop.source(name, "before")));
    let names = workshop.names();
    for arguments in [
        "report train.trace -o page.html",
        "report train.trace --json -o t.txt",
        "export train.trace -o t.json",
        "model export lenet.caffemodel --to npz -o m.npz",
        "model export lenet.caffemodel --to safetensors -o m.safetensors",
        "model import some.npz --from npz --like lenet.caffemodel -o m.caffemodel",
    ] {
        let result = workshop.shell_here(&format!("ulimit -f 0; exec \"$0\" {arguments}"));
        result.fails(1, &["(ulimit -f)"]);
        assert_eq!(result.error.lines().count(), 1, "{}", result.error);
        assert_eq!(workshop.names(), names, "{arguments}");
    }
    for name in OLD {
        assert_eq!(fs::read_to_string(workshop.path(name)).unwrap(), "before", "{name}");
    }
    workshop.shell_here("ulimit -f 0; exec \"$0\" share pages").fails(1, &["(ulimit -f)"]);
    assert_eq!(workshop.shell_here("find pages -type f").ok(), "");
}

#[test]
fn a_limit_on_the_length_of_files_does_not_change_the_status_of_a_program() {
    let workshop = Workshop::with_program();
    workshop.source("memory.txt", "before");
    fs::create_dir(workshop.path("tmp")).unwrap();
    // The first limit leaves no recording; with the second, the command alone may not write.
    let scripts = [("ulimit -f 0", "./program 7"), ("ulimit -Sf 0", "ulimit -Sf unlimited; ./program 7")];
    for option in ["--trace=t.trace", "--output=memory.txt", "--report"] {
        for (limit, script) in scripts {
            let script = format!("{limit}; TMPDIR=tmp exec \"$0\" run {option} -- sh -c '{script}'");
            let result = workshop.shell_here(&script);
            assert_eq!((result.status, result.output.as_str()), (Some(7), ""), "{option}: {}", result.error);
            assert!(limit != "ulimit -f 0" || result.error.contains("(ulimit -f)"), "{option}: {}", result.error);
            workshop.leaves_nothing();
            let is_left = |name: &String| name.contains("-run-") || name.starts_with('.');
            assert!(!workshop.names().iter().any(is_left), "{option}: {:?}", workshop.names());
        }
    }
    assert!(workshop.path("t.trace").exists(), "a file that has its length already is renamed");
    assert_eq!(fs::read_to_string(workshop.path("memory.txt")).unwrap(), "before");
    // The program has the system's default, and dies of it.
    let result = workshop.shell_here("ulimit -f 0; TMPDIR=tmp exec \"$0\" run -- sh -c 'echo x > y'");
    assert_eq!(result.signal, Some(libc::SIGXFSZ), "{result:?}");
}

#[test]
fn a_page_goes_through_links_and_into_pipes_and_keeps_its_mode() {
    let workshop = prepared();
    let page = workshop.syncedmem(&["report", "train.trace", "-o", "-"]).ok();
    let read = |name: &str| fs::read_to_string(workshop.path(name)).unwrap();
    fs::create_dir(workshop.path("site")).unwrap();
    for (link, target) in [("latest.html", "site/real.html"), ("again.html", "latest.html")] {
        symlink(target, workshop.path(link)).unwrap();
    }
    // The first time, the file that it leads to is not there yet.
    for _ in 0..2 {
        workshop.syncedmem(&["report", "train.trace", "-o", "again.html"]).ok();
        assert!(read("site/real.html") == page && workshop.path("latest.html").is_symlink());
        fs::set_permissions(workshop.path("site/real.html"), fs::Permissions::from_mode(0o640)).unwrap();
    }
    let mode = |name: &str| fs::metadata(workshop.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("site/real.html"), 0o640);
    workshop.shell_here("umask 077; exec \"$0\" report train.trace -o new.html").ok();
    assert_eq!(mode("new.html"), 0o600);
    let script = "mkfifo pipe; cat pipe > piped.html & \"$0\" report train.trace -o pipe > name; wait; cat name";
    assert_eq!(workshop.shell_here(script).ok(), "pipe\n");
    assert!(read("piped.html") == page);
    // The shell's own descriptors: nothing of the others is lost.
    let script = "(echo before; \"$0\" report train.trace -o /dev/stdout; echo behind) > all.html";
    workshop.shell_here(script).ok();
    assert!(read("all.html") == format!("before\n{page}behind\n"));
    workshop.shell_here("(echo before; \"$0\" report train.trace -o /dev/fd/3 3>&1 > /dev/null) > all.html").ok();
    assert!(read("all.html") == format!("before\n{page}"));
    workshop.syncedmem(&["report", "train.trace", "-o", "site"]).fails(1, &["Is a directory"]);
}

/// It makes an object, names it by its second argument, and exits.
const NAMES: &str = r#"
    #include "caffe.h"
    __attribute__((weak)) int syncedmem_create(size_t, void **);
    __attribute__((weak)) int syncedmem_set_name(void *, const char *);
    __attribute__((weak)) int syncedmem_mutable_cpu_data(void *, void **);
    int main(int arguments, char **argument) {
      void *memory, *data;
      if (!syncedmem_create) return 9;
      syncedmem_create(atol(argument[1]), &memory);
      syncedmem_set_name(memory, argument[2]);
      return syncedmem_mutable_cpu_data(memory, &data);
    }
"#;

#[test]
fn no_name_steers_a_terminal_or_begins_a_line() {
    const NAME: &str = "x\u{1b}[2J\nBEGINS\u{9b}31m\u{202e}\t\r\u{7f}";
    let workshop = Workshop::with(NAME, NAMES);
    let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    let is_plain = |result: &Said| {
        for text in [&result.output, &result.error] {
            assert!(!text.contains(steers) && !text.lines().any(|line| line.starts_with("BEGINS")), "{text:?}");
        }
    };
    let (program, trace) = (format!("./{NAME}"), format!("--trace={NAME}.trace"));
    for (size, trace) in [("1000", trace.as_str()), ("2000", "--trace=b.trace")] {
        let mut run = workshop.command(&[trace, "--report"], &[&program, size, NAME]);
        let result = said(run.env("SYNCEDMEM_MISSPELT", NAME).env("SYNCEDMEM_PIN", NAME));
        assert!(
            result.status == Some(0) && result.error.contains("x\\x1b[2J\\nBEGINS\\u009b31m\\u202e\\t\\r\\x7f"),
            "{result:?}"
        );
        is_plain(&result);
    }
    std::fs::write(workshop.path(&format!("{NAME}.npz")), "none").unwrap();
    let (trace, npz) = (format!("{NAME}.trace"), format!("{NAME}.npz"));
    let (trace, npz) = (trace.as_str(), npz.as_str());
    let commands: [&[&str]; 17] = [
        &["report", trace, "--text", "--details"],
        &["report", trace, "--json"],
        &["report", trace],
        &["report", NAME],
        &["report", trace, "-o", trace],
        &["report", trace, "--fit", NAME],
        &["diff", trace, "b.trace"],
        &["diff", "b.trace", NAME],
        &["export", trace, "-o", "/dev/stdout"],
        &["export", NAME],
        &["run", "--", &format!("{program}!")],
        &["run", "--on-error", NAME, "true"],
        &["doctor", &program],
        &["doctor", &format!("{program}!")],
        &["model", "inspect", npz],
        &["model", "check", npz],
        &[NAME],
    ];
    for arguments in commands {
        println!("{arguments:?}");
        let result = said(command().args(arguments).current_dir(workshop.path("")).env("SYNCEDMEM_PIN", NAME));
        assert!(!result.output.is_empty() || !result.error.is_empty(), "{result:?}");
        is_plain(&result);
    }
}
