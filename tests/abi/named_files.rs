//! Files and libraries that a setting names: a program with more rights than its caller ignores them, and none can hang or end a
//! program, redirect it to another file, or control a terminal.

use crate::support::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Uses an object and prints whether the system calls the program privileged. With an argument it fails as Caffe does.
const PROGRAM: &str = r#"
    #include <stdio.h>
    #include <sys/auxv.h>
    void construct(void *, size_t) __asm__("_ZN5caffe12SyncedMemoryC1Em");
    void destroy(void *) __asm__("_ZN5caffe12SyncedMemoryD1Ev");
    void *mutable_cpu_data(void *) __asm__("_ZN5caffe12SyncedMemory16mutable_cpu_dataEv");
    #ifdef PRIVILEGED
    unsigned long getauxval(unsigned long type) { return type == AT_SECURE; }
    #endif
    int main(int arguments, char **argument) {
      _Alignas(8) char storage[64];
      construct(storage, arguments > 1 ? (size_t)1 << 60 : 4096);
      mutable_cpu_data(storage);
      destroy(storage);
      printf("privileged %lu\n", getauxval(AT_SECURE));
      return 0;
    }
"#;

/// The library that the environment names for NVTX. It writes a file when it is loaded.
const TOOL: &str = r#"
    #include <fcntl.h>
    #include <stdlib.h>
    __attribute__((constructor)) static void loaded(void) { open(getenv("LOADED"), O_CREAT, 0600); }
"#;

/// A folder that any user may read, with the program in it.
struct Place(Folder);

impl Place {
    fn new(flags: &[&str]) -> Place {
        let place = Place(Folder::new());
        fs::set_permissions(&*place.0, fs::Permissions::from_mode(0o755)).unwrap();
        // A privileged program ignores LD_LIBRARY_PATH and $ORIGIN, so the path is linked in.
        fs::copy(crate::support::as_shipped::library(), place.path("libsyncedmem.so.0")).unwrap();
        place.0.source("tool.c", TOOL);
        place.0.compile("tool.so", &["-shared", "-fPIC", "tool.c"]);
        let folder = format!("-Wl,-rpath,{}", place.0.display());
        let mut all = vec!["program.c", "-rdynamic", "libsyncedmem.so.0", &folder];
        all.extend(flags);
        place.0.source("program.c", PROGRAM);
        place.0.compile("program", &all);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// The program, with every setting that names a file.
    fn named(&self) -> Run {
        let mut command = Command::new(self.path("program"));
        for (variable, name) in [("SYNCEDMEM_TRACE", "trace"), ("SYNCEDMEM_REPORT", "report"), ("LOADED", "loaded")] {
            command.env(variable, self.path(name));
        }
        run(command.env("NVTX_INJECTION64_PATH", self.path("tool.so")))
    }

    fn made(&self) -> Vec<&'static str> {
        ["trace", "report", "loaded"].into_iter().filter(|name| self.path(name).exists()).collect()
    }
}

struct Run {
    output: String,
    error: String,
    status: ExitStatus,
}

/// Runs a command, and fails if it hangs.
fn run(command: &mut Command) -> Run {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(HANGS_AFTER.into()) {
            child.kill().unwrap();
            panic!("the program hangs: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { output: text(&output.stdout), error: text(&output.stderr), status: output.status }
}

#[test]
fn a_program_with_more_rights_than_its_caller_heeds_no_setting() {
    let place = Place::new(&[]);
    let ran = place.named();
    assert_eq!(ran.output, "privileged 0\n");
    assert_eq!(place.made(), ["trace", "report", "loaded"], "otherwise every one is heeded: {}", ran.error);
    drop(place);

    let place = Place::new(&[]);
    let is_set = set_group(&place.path("program"));
    let mut ran = place.named();
    let place = if is_set && ran.output == "privileged 1\n" {
        place
    } else {
        // The user is not root and has no other group, or the file system has no set-group-ID: the test fakes the system's answer.
        let place = Place::new(&["-DPRIVILEGED"]);
        ran = place.named();
        place
    };
    assert_eq!(ran.output, "privileged 1\n");
    assert_eq!((place.made(), ran.error.as_str()), (vec![], ""));
}

/// Makes a program set-group-ID to a group that is not the caller's current one: root may use any, others one of their groups.
fn set_group(program: &Path) -> bool {
    let id = |option| String::from_utf8(Command::new("id").arg(option).output().unwrap().stdout).unwrap();
    let (own, listed) = (id("-g"), id("-G"));
    let other = listed.split_whitespace().find(|group| *group != own.trim());
    let group = if own.trim() == "0" { Some("1") } else { other };
    group.is_some_and(|group| {
        let changed = Command::new("chgrp").arg(group).arg(program).status().unwrap().success();
        changed && fs::set_permissions(program, PermissionsExt::from_mode(0o2755)).is_ok()
    })
}

#[test]
fn a_fifo_without_a_reader_hangs_neither_the_exit_nor_the_abort() {
    let place = Place::new(&[]);
    let fifo = place.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for variable in ["SYNCEDMEM_REPORT", "SYNCEDMEM_TRACE"] {
        let ran = run(Command::new(place.path("program")).env(variable, &fifo));
        assert!(ran.status.success(), "{}", ran.error);
        let said = format!("libsyncedmem: {variable}={}: it is not a regular file; name one", fifo.display());
        assert!(ran.error.starts_with(&said), "{}", ran.error);
        assert_eq!(ran.error.lines().count() > 1, variable != "SYNCEDMEM_TRACE", "what it had to say: {}", ran.error);
    }
    let ran = run(Command::new(place.path("program")).arg("abort").env("SYNCEDMEM_REPORT", &fifo));
    assert_eq!(ran.status.signal(), Some(libc::SIGABRT), "{}", ran.error);
    assert!(ran.error.contains("it is not a regular file"), "{}", ran.error);
}

#[test]
fn the_standard_streams_may_be_named_as_files() {
    let place = Place::new(&[]);
    let ran = run(Command::new(place.path("program")).env("SYNCEDMEM_REPORT", "/dev/stdout"));
    assert!(ran.output.contains("libsyncedmem: memory of ") && ran.error.is_empty(), "{}{}", ran.output, ran.error);
    let ran = run(Command::new(place.path("program")).env("SYNCEDMEM_REPORT", "/dev/stderr"));
    assert!(ran.error.starts_with("libsyncedmem: memory of ") && ran.output == "privileged 0\n", "{}", ran.error);
}

#[test]
fn the_limit_of_a_files_length_ends_no_program() {
    let place = Place::new(&[]);
    for variable in ["SYNCEDMEM_REPORT", "SYNCEDMEM_TRACE"] {
        // Standard error is also a file that may not grow.
        for redirected in ["", " 2>error"] {
            let script = format!("ulimit -f 0; {variable}=file exec ./program{redirected}");
            let ran = run(Command::new("sh").args(["-c", &script]).current_dir(&*place.0));
            assert!(ran.status.success(), "{script}: {}", ran.status);
            assert_eq!(ran.output, "privileged 0\n");
            let said = format!("libsyncedmem: {variable}=file: the process may make no longer file (ulimit -f)");
            assert!(!redirected.is_empty() || ran.error.starts_with(&said), "{}", ran.error);
        }
    }
}

#[test]
fn a_link_is_not_followed_to_another_file() {
    let place = Place::new(&[]);
    let (link, other) = (place.path("link"), place.path("other"));
    fs::write(&other, "mine").unwrap();
    symlink(&other, &link).unwrap();
    for variable in ["SYNCEDMEM_REPORT", "SYNCEDMEM_TRACE"] {
        let ran = run(Command::new(place.path("program")).env(variable, &link));
        assert!(
            ran.status.success() && ran.error.contains("it is a symbolic link, which is not followed"),
            "{}",
            ran.error
        );
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
}

#[test]
fn files_are_made_by_the_umask() {
    let place = Place::new(&[]);
    let script = "umask 027; SYNCEDMEM_TRACE=trace SYNCEDMEM_REPORT=report exec ./program";
    assert!(run(Command::new("sh").args(["-c", script]).current_dir(&*place.0)).status.success());
    for name in ["trace", "report"] {
        let mode = fs::metadata(place.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{name}");
    }
}

/// A text by another user that would clear the screen and begin a new line.
const EVIL: &str = "x\u{1b}[2J\nlibsyncedmem: all is well\u{9b}31m";

#[test]
fn control_characters_of_a_setting_are_printed_escaped() {
    let place = Place::new(&[]);
    let words =
        ["SYNCEDMEM_PIN", "SYNCEDMEM_HOST_LIMIT", "SYNCEDMEM_POOL_AGE"].map(|variable| (variable, EVIL.to_string()));
    let files = ["SYNCEDMEM_TRACE", "SYNCEDMEM_REPORT"].map(|variable| (variable, format!("/no/such/folder/{EVIL}")));
    for (variable, value) in words.into_iter().chain(files) {
        let ran = run(Command::new(place.path("program")).env(variable, &value));
        let first = ran.error.lines().next().unwrap_or_default();
        assert!(first.starts_with(&format!("libsyncedmem: {variable}=")), "{:?}", ran.error);
        assert!(first.contains(r"x\x1b[2J\nlibsyncedmem: all is well\u009b31m"), "{:?}", ran.error);
        assert!(ran.error.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", ran.error);
    }
}

#[test]
fn the_name_of_a_program_steers_no_terminal() {
    let place = Place::new(&[]);
    let program = place.path(EVIL);
    // A copy would fail: while another test forks, its child has the new file open for writing, and it cannot be executed.
    fs::rename(place.path("program"), &program).unwrap();
    let ran = run(Command::new(&program).env("SYNCEDMEM_REPORT", "stderr"));
    assert!(ran.status.success() && !ran.error.is_empty());
    assert!(ran.error.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", ran.error);
}
