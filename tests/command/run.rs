//! `syncedmem run`: the program runs unchanged, its memory is reported, and the command says why the library was never called.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::caffe_like::{Said, Workshop, command, said};

/// `syncedmem run OPTIONS -- PROGRAM ARGUMENTS`, with a temporary folder of its own.
pub fn run(workshop: &Workshop, options: &[&str], program: &[&str]) -> Command {
    let temporary = workshop.path("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = command();
    command.arg("run").args(options).arg("--").args(program).env("TMPDIR", temporary).current_dir(workshop.path(""));
    command
}

pub fn shell(workshop: &Workshop, options: &[&str], script: &str) -> Said {
    said(&mut run(workshop, options, &["sh", "-c", script]))
}

/// A program on a `libcaffe.so` whose calls can be replaced.
pub fn caffe() -> (Workshop, PathBuf) {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    let program = workshop.program(&[]);
    (workshop, program)
}

#[track_caller]
pub fn leaves_nothing(workshop: &Workshop) {
    let left: Vec<_> = std::fs::read_dir(workshop.path("tmp")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_account_is_printed_behind_what_the_program_wrote() {
    let (workshop, program) = caffe();
    let program = program.to_str().unwrap();
    let told = said(&mut run(&workshop, &[], &["sh", "-c", &format!("echo hello; echo there >&2; {program}")]));
    assert_eq!(told.status, Some(0), "{}", told.error);
    assert_eq!(told.output, "hello\n", "standard output is the program's alone");
    let (before, report) = told.error.split_once("libsyncedmem: memory of program (process ").expect(&told.error);
    assert_eq!(before, "there\n\n");
    // 1000 floats, and the zeros of the first access.
    assert!(report.contains("\npeak 3.9 KiB of blobs; the process "), "{report}");
    assert!(report.contains("\n1 fill (3.9 KiB) took ") && report.contains(" of the run\n"), "{report}");
    assert!(!report.contains("objects made"), "only the details have the account: {report}");
    let details = said(&mut run(&workshop, &["--details"], &[program])).error;
    assert!(details.contains("objects made: 1") && details.contains("fill of the host with zeros"), "{details}");
    leaves_nothing(&workshop);
}

#[test]
fn several_programs_report_one_after_the_other() {
    let (workshop, program) = caffe();
    let program = program.display();
    let told = shell(&workshop, &[], &format!("{program}; {program} 3"));
    assert_eq!(told.status, Some(3));
    assert_eq!(told.error.matches("libsyncedmem: memory of program").count(), 2, "{}", told.error);
}

#[test]
fn the_exit_status_is_the_programs_own() {
    let (workshop, program) = caffe();
    for status in [0, 1, 42, 255] {
        let told = said(&mut run(&workshop, &[], &[program.to_str().unwrap(), &status.to_string()]));
        assert_eq!(told.status, Some(status), "{}", told.error);
    }
}

#[test]
fn a_signal_that_ends_the_program_ends_the_command_too() {
    let workshop = Workshop::new();
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGABRT] {
        let mut command = run(&workshop, &[], &["sh", "-c", &format!("kill -{signal} $$")]);
        let output = command.output().unwrap();
        assert_eq!(output.status.signal(), Some(signal));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(&format!("sh was killed by signal {signal} before it recorded anything")), "{error}");
        leaves_nothing(&workshop);
    }
}

#[test]
fn signals_reach_the_program() {
    let workshop = Workshop::new();
    // It says that it is ready, and then waits for the signal.
    let script = "trap 'echo got; exit 5' TERM HUP INT USR1; echo ready; while :; do sleep 0.01; done";
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGUSR1] {
        let mut command = run(&workshop, &[], &["sh", "-c", script]);
        heed(&mut command, signal);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        send(&child, signal);
        assert_eq!(lines.next().unwrap().unwrap(), "got", "signal {signal}");
        assert_eq!(child.wait().unwrap().code(), Some(5));
    }
}

/// A signal that is ignored where the tests were started, as SIGINT is in a shell's background, would not be heeded here.
#[expect(unsafe_code, reason = "signal(2), between fork and exec")]
fn heed(command: &mut Command, signal: i32) {
    let to_the_default = move || {
        // SAFETY: signal is async-signal-safe, and this one has a default.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: nothing but that is done in the child.
    unsafe { command.pre_exec(to_the_default) };
}

#[expect(unsafe_code, reason = "kill(2)")]
fn send(child: &Child, signal: i32) {
    // SAFETY: it is our own child, which was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let workshop = Workshop::new();
    let mut outer = Command::new("sh");
    let inner = run(&workshop, &[], &["sh", "-c", "kill -HUP $PPID; kill -HUP $$; echo alive"]);
    outer.arg("-c").arg("trap '' HUP; \"$@\"").arg("sh").arg(inner.get_program()).args(inner.get_args());
    let told = said(outer.env("TMPDIR", workshop.path("tmp")));
    assert_eq!((told.output.as_str(), told.status), ("alive\n", Some(0)), "{}", told.error);
}

#[test]
fn arguments_and_input_are_the_programs() {
    let workshop = Workshop::new();
    let mut command = run(&workshop, &[], &["sh", "-c", "echo \"$@\"; cat", "name", "--trace", "-x", "a b"]);
    let input = workshop.source("input", "from the input");
    let told = said(command.stdin(std::fs::File::open(input).unwrap()));
    assert_eq!(told.output, "--trace -x a b\nfrom the input");
    // Behind the program's name everything is the program's, even without the two dashes.
    let told = said(crate::caffe_like::command().args([
        "run",
        "--pin",
        "never",
        "sh",
        "-c",
        "echo $SYNCEDMEM_PIN $1",
        "sh",
        "--pin",
    ]));
    assert_eq!(told.output, "never --pin\n", "{}", told.error);
}

#[test]
fn flags_become_the_settings_of_the_library() {
    let workshop = Workshop::new();
    let options = [
        "--on-error=throw",
        "--pin=never",
        "--pools=off",
        "--pinned-limit=2G",
        "--host-limit",
        "512M",
        "--accesses",
        "--compare",
        "--junk-fill",
        "--mode",
        "gpu",
        "--pool-age",
        "2.5",
        "--host-blocks=malloc",
        "--huge-pages=advise",
        "--pinned-blocks=registered",
        "--reuse=stream",
        "--stage-from=0",
        "--pageable-pool=1K",
        "--pinned-pool=2K",
        "--device-pool=3K",
        "--trace-size=64M",
    ];
    let told = shell(&workshop, &options, "env | grep ^SYNCEDMEM_ | grep -v TRACE= | sort");
    let wanted = [
        "ACCOUNT=accesses",
        "COMPARE=on",
        "DEVICE_POOL=3K",
        "HOST_BLOCKS=malloc",
        "HOST_LIMIT=512M",
        "HUGE_PAGES=advise",
        "JUNK_FILL=on",
        "MODE=gpu",
        "ON_ERROR=throw",
        "PAGEABLE_POOL=1K",
        "PIN=never",
        "PINNED_BLOCKS=registered",
        "PINNED_LIMIT=2G",
        "PINNED_POOL=2K",
        "POOLS=off",
        "POOL_AGE=2.5",
        "REUSE=stream",
        "STAGE_FROM=0",
        "TRACE_SIZE=64M",
    ];
    let wanted: String = wanted.iter().map(|line| format!("SYNCEDMEM_{line}\n")).collect();
    assert_eq!(told.output, wanted);
}

#[test]
fn a_setting_that_is_none_is_refused_before_anything_runs() {
    let workshop = Workshop::new();
    for (option, hint) in [
        ("--pin=perhaps", "[possible values: auto, always, never]"),
        ("--host-limit=1.5G", "give digits, and K, M, G or T"),
        ("--pool-age=soon", "give a number of seconds"),
        ("--no-such-option", "unexpected argument '--no-such-option'"),
    ] {
        let told = shell(&workshop, &[option], "echo ran");
        assert_eq!((told.status, told.output.as_str()), (Some(2), ""), "{option}");
        assert!(told.error.contains(hint), "{}", told.error);
    }
}

#[test]
fn a_preload_that_was_there_stays_behind_ours() {
    let workshop = Workshop::new();
    let other = workshop.compile("other.so", &["-shared", "-fPIC", workshop.source("o.c", "int o;").to_str().unwrap()]);
    let mut command = run(&workshop, &[], &["sh", "-c", "echo $LD_PRELOAD"]);
    let told = said(command.env("LD_PRELOAD", &other));
    let preloaded: Vec<_> = told.output.trim().split(':').collect();
    let [names, ours, theirs] = preloaded[..] else { panic!("{preloaded:?}") };
    assert!(names.ends_with("libsyncedmem_names.so") && ours.ends_with("libsyncedmem.so"), "{preloaded:?}");
    assert_eq!(theirs, other.to_str().unwrap());
}

#[test]
fn without_names_the_library_alone_is_preloaded() {
    let told = shell(&Workshop::new(), &["--no-names"], "echo $LD_PRELOAD");
    assert!(told.output.ends_with("libsyncedmem.so\n") && !told.output.contains(':'), "{}", told.output);
}

#[test]
fn the_report_can_go_to_a_file_in_place_of_what_is_there() {
    let (workshop, program) = caffe();
    let file = workshop.source("memory.txt", "from before\n".repeat(1000).as_str());
    let told = said(&mut run(&workshop, &["--report=memory.txt"], &[program.to_str().unwrap()]));
    assert!(told.error.contains("the report is in /") && !told.error.contains("of blobs"), "{}", told.error);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("libsyncedmem: memory of program") && !text.contains("from before"), "{text}");
}

#[test]
fn a_report_from_before_is_not_taken_for_one_of_this_run() {
    let workshop = Workshop::new();
    workshop.source("memory.txt", "from before\n");
    let told = said(&mut run(&workshop, &["--report=memory.txt"], &["true"]));
    assert!(told.error.contains("never called the library"), "{}", told.error);
}

#[test]
fn a_trace_has_all_programs_that_ran_one_after_the_other() {
    let (workshop, program) = caffe();
    let program = program.display();
    let told = shell(&workshop, &["--trace", "t.trace"], &format!("{program}; cd /; {program}"));
    assert_eq!(told.status, Some(0));
    assert!(told.error.contains("look at it with: syncedmem report /"), "{}", told.error);
    assert!(!told.error.contains("of blobs"), "with a trace the report is asked for: {}", told.error);
    let report = |file: &str| said(command().args(["report", "--text"]).arg(workshop.path(file))).output;
    assert_eq!(report("t.trace").matches("memory of program").count(), 2, "{}", report("t.trace"));
    let told = shell(&workshop, &["--trace", "t.trace", "--report"], &program.to_string());
    assert!(told.error.contains("of blobs") && told.error.contains("the trace is in"), "{}", told.error);
    assert_eq!(report("t.trace").matches("memory of program").count(), 1, "a new run begins the trace anew");
}

#[test]
fn a_program_that_executes_itself_again_and_again_is_in_the_trace_each_time() {
    let workshop = Workshop::new();
    workshop.caffe(&[]);
    workshop.source(
        "program.c",
        r#"
        #include <unistd.h>
        void _ZN5caffe12SyncedMemoryC1Em(void *, size_t);
        void *_ZN5caffe12SyncedMemory16mutable_cpu_dataEv(void *);
        static long blob[8];
        int main(int arguments, char **argument) {
          _ZN5caffe12SyncedMemoryC1Em(blob, 4 << 10);
          _ZN5caffe12SyncedMemory16mutable_cpu_dataEv(blob);
          return argument[1] ? execv(argument[0], argument + 1) : 0;
        }
        "#,
    );
    let program = workshop.compile("turns", &["program.c", "-L.", "-lcaffe", "-Wl,-rpath,$ORIGIN"]);
    let name = program.to_str().unwrap();
    assert_eq!(said(&mut run(&workshop, &["--trace", "t.trace"], &[name; 4])).status, Some(0));
    let report = said(command().args(["report", "--text"]).arg(workshop.path("t.trace"))).output;
    assert_eq!(report.matches("memory of turns").count(), 4, "{report}");
}

#[test]
fn a_trace_is_where_it_is_asked_for_even_in_a_folder_with_percent_signs() {
    let (workshop, program) = caffe();
    let folder = workshop.path("50%p %%");
    std::fs::create_dir(&folder).unwrap();
    for name in ["t.trace", "t-%p.trace", "t.json"] {
        let mut command = run(&workshop, &["--trace", name], &[program.to_str().unwrap()]);
        let told = said(command.env("TMPDIR", &folder).current_dir(&folder));
        assert!(told.error.contains(&format!("50%p %%/{name}")), "{}", told.error);
        assert!(folder.join(name).exists(), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
}

#[test]
fn a_limit_on_the_size_of_files_is_said_and_ends_no_program() {
    let (workshop, program) = caffe();
    // The shell counts in blocks of 512 or 1024 bytes: enough for a recording's header, and not for its texts.
    let told = shell(&workshop, &[], &format!("ulimit -f 1000; {}", program.display()));
    assert_eq!(told.status, Some(0), "{}", told.error);
    assert!(
        told.error.contains("program (process ") && told.error.contains("nothing was recorded: "),
        "{}",
        told.error
    );
    leaves_nothing(&workshop);
}

#[test]
fn a_trace_that_cannot_be_written_is_said_before_the_program_starts() {
    let workshop = Workshop::new();
    let told = shell(&workshop, &["--trace", "/no/such/folder/t.trace"], "echo ran");
    assert_eq!((told.status, told.output.as_str()), (Some(125), ""));
    assert!(
        told.error.contains("/no/such/folder/t.trace cannot be written: there is no such folder"),
        "{}",
        told.error
    );
}

#[test]
fn a_program_that_is_not_there_or_cannot_be_run_has_the_status_that_shells_give() {
    let workshop = Workshop::new();
    let told = said(&mut run(&workshop, &[], &["no-such-program"]));
    assert_eq!(told.status, Some(127));
    assert!(
        told.error.contains("no-such-program could not be started") && told.error.contains("PATH"),
        "{}",
        told.error
    );
    let text = workshop.source("text", "hello");
    let told = said(&mut run(&workshop, &[], &[text.to_str().unwrap()]));
    assert_eq!(told.status, Some(126), "{}", told.error);
    leaves_nothing(&workshop);
}

#[test]
fn a_library_that_is_named_wrongly_is_an_error_and_another_one_is_used_where_it_is_named() {
    let workshop = Workshop::new();
    let told = shell(&workshop, &["--library", "/etc"], "echo ran");
    assert_eq!((told.status, told.output.as_str()), (Some(125), ""));
    assert!(told.error.contains("--library: /etc is no libsyncedmem.so"), "{}", told.error);
    let told = said(run(&workshop, &[], &["true"]).env("SYNCEDMEM_LIBRARY", "/etc/passwd"));
    assert_eq!(told.status, Some(125));
    assert!(told.error.contains("SYNCEDMEM_LIBRARY: /etc/passwd is no libsyncedmem.so"), "{}", told.error);
    // A copy of it, in its folder.
    let found = said(command().arg("doctor")).output;
    let line = found.lines().find(|line| line.starts_with("libsyncedmem")).unwrap();
    let path = line.split_whitespace().nth(1).unwrap().trim_end_matches(',');
    std::fs::create_dir(workshop.path("copy")).unwrap();
    std::fs::copy(path, workshop.path("copy/libsyncedmem.so.0")).unwrap();
    let told = shell(&workshop, &["--no-names", "--library", "copy"], "echo $LD_PRELOAD");
    assert!(told.output.ends_with("/copy/libsyncedmem.so.0\n"), "{}{}", told.output, told.error);
    std::fs::rename(workshop.path("copy"), workshop.path("a copy")).unwrap();
    let told = shell(&workshop, &["--library", "a copy"], "echo ran");
    assert_eq!(told.status, Some(125));
    assert!(told.error.contains("has a space or a colon in its path"), "{}", told.error);
}

#[test]
fn a_standard_error_that_takes_nothing_changes_no_exit_status() {
    let (workshop, program) = caffe();
    let script = format!("{}; exit 7", program.to_str().unwrap());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = run(&workshop, &[], &["sh", "-c", &script]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(7));
}
