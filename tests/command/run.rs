//! `syncedmem run`: the program runs unchanged, its memory is reported, and the command says why the library was never called.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use crate::caffe_like::{Said, Workshop, command, said};

#[test]
fn the_account_is_printed_behind_what_the_program_wrote() {
    let workshop = Workshop::with_program();
    let told = workshop.shell(&[], "echo hello; echo there >&2; ./program");
    let (before, report) = told.error.split_once("libsyncedmem: memory of program (process ").expect(&told.error);
    assert_eq!(before, "there\n\n");
    // 1000 floats, and the zeros of the first access.
    assert!(report.contains("\npeak 3.9 KiB of blobs; the process "), "{report}");
    assert!(report.contains("\n1 fill (3.9 KiB) took ") && report.contains(" of the run\n"), "{report}");
    for other in ["objects made", "at batch", "by role"] {
        assert!(!report.contains(other), "{other}: {report}");
    }
    assert_eq!(told.ok(), "hello\n", "standard output is the program's alone");
    workshop.run(&["--details"], &["./program"]).has(&["objects made: 1", "fill of the host with zeros"]);
    workshop.leaves_nothing();
}

#[test]
fn the_exit_status_is_the_programs_own() {
    let workshop = Workshop::with_program();
    for status in [0, 1, 42, 255] {
        assert_eq!(workshop.run(&[], &["./program", &status.to_string()]).status, Some(status));
    }
}

#[test]
fn a_signal_that_ends_the_program_ends_the_command_too() {
    let workshop = Workshop::new();
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGABRT] {
        let told = workshop.shell(&[], &format!("kill -{signal} $$"));
        assert_eq!(told.signal, Some(signal));
        told.has(&[&format!("sh was killed by signal {signal} before it recorded anything")]);
        workshop.leaves_nothing();
    }
}

#[test]
fn signals_reach_the_program() {
    let workshop = Workshop::new();
    // It says that it is ready, and then waits for the signal.
    let script = "trap 'echo got; exit 5' TERM HUP INT USR1; echo ready; while :; do sleep 0.01; done";
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGUSR1] {
        let mut command = workshop.command(&[], &["sh", "-c", script]);
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
pub fn send(child: &Child, signal: i32) {
    // SAFETY: it is our own child, which was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// A command that perl starts in its own place, after it has done this.
fn behind(perl: &str, workshop: &Workshop, program: &[&str]) -> Said {
    let inner = workshop.command(&[], program);
    let mut outer = Command::new("perl");
    outer.args(["-MPOSIX", "-e", &format!("{perl}; exec @ARGV")]).arg(inner.get_program()).args(inner.get_args());
    said(outer.env("TMPDIR", workshop.path("tmp")).current_dir(workshop.path("")))
}

#[test]
fn an_alarm_that_was_set_before_is_the_programs() {
    let workshop = Workshop::new();
    let script = "trap 'echo rang; exit 3' ALRM; while :; do sleep 0.01; done";
    // Later than a shell begins on a busy machine.
    let told = behind("alarm 4", &workshop, &["sh", "-c", script]);
    assert_eq!((told.output.as_str(), told.status), ("rang\n", Some(3)), "{}", told.error);
    // The signal may come before the program's start.
    for microseconds in [1_000_000, 50_000, 20_000, 10_000, 5_000] {
        let told = behind(&format!("use Time::HiRes 'ualarm'; ualarm({microseconds})"), &workshop, &["sleep", "300"]);
        assert_eq!(told.signal, Some(libc::SIGALRM), "{told:?}");
    }
    workshop.leaves_nothing();
}

#[test]
fn a_program_has_the_mask_and_the_actions_of_signals_that_it_would_have_alone() {
    let workshop = Workshop::new();
    let state = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"];
    let set = "$SIG{$_} = 'IGNORE' for qw(CHLD XFSZ HUP); sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR2))";
    let mut alone = Command::new("perl");
    let alone = said(alone.args(["-MPOSIX", "-e", &format!("{set}; exec @ARGV")]).args(state));
    // Signals 32 and 33 are the C library's own.
    let of_programs = |told: Said| {
        let set = |line: &str| u64::from_str_radix(line.split_once('\t').unwrap().1, 16).unwrap();
        told.ok().lines().map(|line| set(line) & !(3 << 31)).collect::<Vec<_>>()
    };
    let alone = of_programs(alone);
    assert_eq!(alone.iter().filter(|set| **set != 0).count(), 2, "{alone:x?}");
    assert_eq!(of_programs(behind(set, &workshop, &state)), alone);
    // The library was not called; the status is the program's although SIGCHLD was ignored.
    assert_eq!(behind(set, &workshop, &["sh", "-c", "exit 6"]).status, Some(6));
}

#[test]
fn a_program_does_not_outlive_the_command() {
    let workshop = Workshop::new();
    for signal in [libc::SIGKILL, libc::SIGALRM, libc::SIGXCPU, libc::SIGRTMIN()] {
        let script = "echo $$; while :; do sleep 0.01; done";
        let mut command = workshop.command(&[], &["sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        send(&child, signal);
        // Ends with the last process that writes to it.
        assert_eq!(output.read_to_string(&mut String::new()).unwrap(), 0);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
    }
}

#[test]
fn a_text_without_a_first_line_for_it_is_run_by_the_shell() {
    let workshop = Workshop::with_program();
    let script = workshop.source("script", "echo script $1; ./program 4\n");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
    let told = workshop.run(&[], &["./script", "ran"]);
    assert_eq!((told.output.as_str(), told.status), ("script ran\n", Some(4)), "{}", told.error);
    told.has(&["memory of program"]);
    std::fs::write(workshop.path("script"), "exit 5\n").unwrap();
    let told = workshop.run(&[], &["./script"]);
    assert_eq!(told.status, Some(5));
    told.has(&["script recorded nothing: it is a script, run by /bin/sh"]);
}

#[test]
fn arguments_and_input_are_the_programs() {
    let workshop = Workshop::new();
    let mut command = workshop.command(&[], &["sh", "-c", "echo \"$@\"; cat", "name", "--trace", "-x", "a b"]);
    let input = workshop.source("input", "from the input");
    let told = said(command.stdin(std::fs::File::open(input).unwrap()));
    assert_eq!(told.output, "--trace -x a b\nfrom the input");
    // Behind the program's name everything is the program's, even without the two dashes.
    let told = workshop.syncedmem(&["run", "--pin", "never", "sh", "-c", "echo $SYNCEDMEM_PIN $1", "sh", "--pin"]);
    assert_eq!(told.output, "never --pin\n", "{}", told.error);
}

#[test]
fn flags_become_the_settings_of_the_library() {
    // In the order of the variables.
    let flags = [
        ("--host-blocks=malloc", "HOST_BLOCKS=malloc"),
        ("--host-limit=512M", "HOST_LIMIT=512M"),
        ("--junk-fill", "JUNK_FILL=on"),
        ("--keep=conv1,fc7", "KEEP=conv1,fc7"),
        ("--mode=gpu", "MODE=gpu"),
        ("--on-error=throw", "ON_ERROR=throw"),
        ("--pin=never", "PIN=never"),
        ("--pinned-limit=2G", "PINNED_LIMIT=2G"),
        ("--pool-age=2.5", "POOL_AGE=2.5"),
        ("--pool-budget=1K", "POOL_BUDGET=1K"),
        ("--share=off", "SHARE=off"),
        ("--trace-size=64M", "TRACE_SIZE=64M"),
    ];
    let told = Workshop::new().shell(&flags.map(|(flag, _)| flag), "env | grep ^SYNCEDMEM_ | grep -v TRACE= | sort");
    assert_eq!(told.output, flags.map(|(_, setting)| format!("SYNCEDMEM_{setting}\n")).concat());
}

#[test]
fn a_name_to_keep_may_have_any_bytes() {
    let workshop = Workshop::new();
    let told = workshop.shell_here(
        r#""$0" run --share --keep "$(printf 'a b,\276\355')" -- sh -c 'printf %s "$SYNCEDMEM_KEEP" | od -An -tx1'"#,
    );
    assert_eq!(told.output.trim(), "61 20 62 2c be ed", "{}", told.error);
}

#[test]
fn sharing_is_refused_where_free_is_to_take_each_block() {
    let workshop = Workshop::new();
    let why = "--share and --host-blocks malloc exclude each other";
    workshop.shell(&["--share", "--host-blocks=malloc"], "echo ran").fails(125, &[why, "leave out one"]);
    let variables = [("SYNCEDMEM_HOST_BLOCKS", "malloc"), ("SYNCEDMEM_SHARE", "gradients")];
    for (set, option) in variables.into_iter().zip(["--share", "--host-blocks=malloc"]) {
        let mut command = workshop.command(&[option], &["sh", "-c", "echo ran"]);
        said(command.env(set.0, set.1)).fails(125, &[why]);
    }
    assert_eq!(workshop.shell(&["--share"], "echo $SYNCEDMEM_SHARE").output, "all\n");
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
        workshop.shell(&[option], "echo ran").fails(2, &[hint]);
    }
}

#[test]
fn a_preload_that_was_there_stays_behind_ours_which_has_names_unless_they_are_not_wanted() {
    let workshop = Workshop::new();
    let other = workshop.compile("other.so", &["-shared", "-fPIC", workshop.source("o.c", "int o;").to_str().unwrap()]);
    let told = said(workshop.command(&[], &["sh", "-c", "echo $LD_PRELOAD"]).env("LD_PRELOAD", &other));
    let preloaded: Vec<_> = told.output.trim().split(':').collect();
    let [names, ours, theirs] = preloaded[..] else { panic!("{preloaded:?}") };
    assert!(names.ends_with("libsyncedmem_net.so") && ours.ends_with("libsyncedmem.so"), "{preloaded:?}");
    assert_eq!(theirs, other.to_str().unwrap());
    let told = workshop.shell(&["--no-names"], "echo $LD_PRELOAD");
    assert!(told.output.ends_with("libsyncedmem.so\n") && !told.output.contains(':'), "{told:?}");
}

#[test]
fn the_report_can_go_to_a_file_in_place_of_what_is_there() {
    let workshop = Workshop::with_program();
    let file = workshop.source("memory.txt", "from before\n".repeat(1000).as_str());
    let told = workshop.run(&["-o", "memory.txt"], &["./program"]);
    assert!(told.error.contains("the report is in /") && !told.error.contains("of blobs"), "{told:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("libsyncedmem: memory of program") && !text.contains("from before"), "{text}");
    // It is not taken for one of another run.
    workshop.run(&["-o", "memory.txt"], &["true"]).has(&["never called the library"]);
    assert!(workshop.run(&["--quiet"], &["./program"]).error.is_empty());
}

#[test]
fn a_trace_has_all_programs_that_ran_one_after_the_other() {
    let workshop = Workshop::with_program();
    let told = workshop.shell(&["--trace", "t.trace"], "program=$PWD/program; $program; cd /; $program");
    told.fails(0, &["look at it with: syncedmem report /"]);
    assert!(!told.error.contains("of blobs"), "with a trace the report is asked for: {}", told.error);
    let programs = || workshop.syncedmem(&["report", "--text", "t.trace"]).ok().matches("memory of program").count();
    assert_eq!(programs(), 2);
    workshop.run(&["--trace", "t.trace", "--report"], &["./program"]).has(&["of blobs", "the trace is in"]);
    assert_eq!(programs(), 1, "a new run begins the trace anew");
}

#[test]
fn a_trace_is_where_it_is_asked_for_even_in_a_folder_with_percent_signs() {
    let workshop = Workshop::with_program();
    let folder = workshop.path("50%p %%");
    std::fs::create_dir(&folder).unwrap();
    for name in ["t.trace", "t-%p.trace"] {
        let mut command = workshop.command(&["--trace", name], &["../program"]);
        said(command.env("TMPDIR", &folder).current_dir(&folder)).has(&[&format!("50%p %%/{name}")]);
        assert!(folder.join(name).exists(), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn a_trace_that_cannot_be_written_is_said_before_the_program_starts() {
    let told = Workshop::new().shell(&["--trace", "/no/such/folder/t.trace"], "echo ran");
    told.fails(125, &["/no/such/folder/t.trace cannot be written: there is no such folder"]);
}

#[test]
fn a_program_that_is_not_there_or_cannot_be_run_has_the_status_that_shells_give() {
    let workshop = Workshop::new();
    workshop.run(&[], &["no-such-program"]).fails(127, &["no-such-program could not be started", "PATH"]);
    workshop.source("text", "hello");
    assert_eq!(workshop.run(&[], &["./text"]).status, Some(126));
    workshop.leaves_nothing();
}

#[test]
fn a_library_that_is_named_wrongly_is_an_error_and_another_one_is_used_where_it_is_named() {
    let workshop = Workshop::new();
    let with = |library: &str, script: &str| workshop.shell(&["--no-names", "--library", library], script);
    with("/etc", "echo ran").fails(125, &["--library: /etc is not libsyncedmem.so"]);
    let told = said(workshop.command(&[], &["true"]).env("SYNCEDMEM_LIBRARY", "/etc/passwd"));
    told.fails(125, &["SYNCEDMEM_LIBRARY: /etc/passwd is not libsyncedmem.so"]);
    // A copy of it, in its folder.
    std::fs::create_dir(workshop.path("copy")).unwrap();
    let library = std::path::Path::new(command().get_program()).with_file_name("libsyncedmem.so");
    std::fs::copy(library, workshop.path("copy/libsyncedmem.so.0")).unwrap();
    let told = with("copy", "echo $LD_PRELOAD");
    assert!(told.output.ends_with("/copy/libsyncedmem.so.0\n"), "{told:?}");
    for name in ["a copy", "a:copy", "$ORIGIN", "a${LIB}b"] {
        let copy = workshop.path(name);
        std::fs::rename(workshop.path("copy"), &copy).unwrap();
        with(copy.to_str().unwrap(), "echo ran")
            .fails(125, &["has a space, a colon, $ORIGIN, $LIB or $PLATFORM in its path"]);
        std::fs::rename(copy, workshop.path("copy")).unwrap();
    }
    std::fs::rename(workshop.path("copy"), workshop.path("$dollar")).unwrap();
    assert!(with("$dollar", "echo $LD_PRELOAD").output.ends_with("/$dollar/libsyncedmem.so.0\n"));
}

#[test]
fn a_standard_error_that_takes_nothing_changes_no_exit_status() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = Workshop::with_program().command(&[], &["./program", "7"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(7));
}
