//! However a process ends, forks, executes another program or shares a file's name with others, what it recorded is there.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::support::beside;
use crate::support::skip;
use crate::trace::reader::Item;
use crate::trace::*;
use syncedmem::observe::trace as writer;
use syncedmem_trace::event::Site;
use syncedmem_trace::recording::header::Header;

/// Forks: the child does `work` and ends at once. Returns its number, and its status.
fn forked(work: impl FnOnce()) -> (u32, i32) {
    let child = unsafe { libc::fork() };
    if child == 0 {
        writer::after_fork_in_child();
        // One that waits for ever is ended, and its status says so.
        unsafe { libc::alarm(120) };
        work();
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    (child as u32, status)
}

/// This program again, in one of the tests below that are not called as tests.
fn process(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("trace_processes::{test}"), "--exact", "--ignored", "--nocapture"]);
    command.env("TRACE_TO", path).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// A process of four threads that record until it is ended, once each of them has recorded.
fn busy_process(path: &Path) -> Child {
    let mut child = process("four_threads_record_until_they_are_ended", path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("recording")), "it did not begin");
    child
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Each thread records the numbers from 1 on, shifted by its own, and goes on until there would be no room for all of them; then it waits for
/// its end.
#[test(ignored)]
fn four_threads_record_until_they_are_ended() {
    let Some(path) = std::env::var_os("TRACE_TO") else { skip("other tests start it") };
    writer::start(&c_path(Path::new(&path))).unwrap();
    // It ends by itself if its parent has gone.
    unsafe { libc::alarm(120) };
    let begun = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 1..=4u64 {
            let begun = &begun;
            scope.spawn(move || {
                for number in 1..=200_000 {
                    record(thread << SHIFT | number);
                    if number == 100 && begun.fetch_add(1, Relaxed) == 3 {
                        println!("recording");
                    }
                }
                loop {
                    std::thread::park();
                }
            });
        }
    });
}

/// Bits of a number below those of its thread.
const SHIFT: u32 = 40;

#[test]
fn a_kill_at_any_moment_loses_no_finished_event() {
    let folder = Folder::new();
    for round in 0..12 {
        let path = folder.path(&format!("t{round}"));
        let mut child = busy_process(&path);
        end(&mut child);
        let read = Recorded::of(&path);
        assert!(read.header.end.is_none() && read.header.cut.is_none());
        assert_eq!(read.header.about.process, child.id());
        assert!(read.unfinished.len() <= 4, "at most one of each thread: {:?}", read.unfinished);
        for thread in 1..=4u64 {
            let mine: Vec<u64> = read.starts().into_iter().filter(|start| start >> SHIFT == thread).collect();
            let expected = (1..=mine.len() as u64).map(|number| thread << SHIFT | number);
            assert!(mine.len() >= 100 && mine.iter().copied().eq(expected), "thread {thread}: {}", mine.len());
        }
    }
}

#[test(alone)]
fn an_exit_marks_the_recording_as_whole() {
    let folder = Folder::new();
    let path = folder.path("t");
    forked(|| {
        writer::start(&c_path(&path)).unwrap();
        record(1);
        unsafe { libc::exit(0) };
    });
    let read = Recorded::of(&path);
    assert_eq!(read.starts(), [1]);
    let end = read.header.end.unwrap();
    assert!(end.time >= read.header.about.start && end.peak_resident > 1 << 20, "{end:?}");
}

#[test(alone)]
fn a_forked_child_has_a_file_of_its_own_from_its_first_event_on() {
    let folder = Folder::new();
    let path = folder.path("t");
    writer::start(&c_path(&path)).unwrap();
    writer::site(Site(1), "main (program)");
    record(1);
    let (child, _) = forked(|| {
        record(2);
        forked(|| record(3));
        record(4);
    });
    forked(|| {});
    record(5);
    writer::stop();
    let me = std::process::id();
    assert_eq!(folder.names().len(), 3, "the silent one has none: {:?}", folder.names());
    assert_eq!(starts(&path), [1, 5]);
    let own = folder.path(&format!("t.{child}"));
    assert_eq!(starts(&own), [2, 4]);
    let names = folder.names();
    let grandchild = names.iter().find(|name| **name != "t" && **name != format!("t.{child}")).unwrap();
    assert_eq!(starts(&folder.path(grandchild)), [3]);
    let [first, second, third] = ["t", &format!("t.{child}"), grandchild].map(|name| header(&folder.path(name)));
    assert_eq!([first.about.parent, second.about.parent, third.about.parent], [0, me, child]);
    assert_eq!(first.about.run, first.about.identity);
    assert_eq!([second.about.run, third.about.run], [first.about.run; 2]);
    // Together they are one trace, and a child knows the places that its parent knew.
    let items = read(&path);
    let places = items.iter().filter(|item| matches!(item, Item::Site { place, .. } if place == "main (program)"));
    assert_eq!(places.count(), 3);
}

fn header(path: &Path) -> Header {
    Recorded::of(path).header
}

#[test(alone)]
fn with_its_number_in_the_name_each_process_has_a_file_of_its_own() {
    let folder = Folder::new();
    writer::start(&c_path(&folder.path("100%% %p"))).unwrap();
    record(1);
    let (child, _) = forked(|| record(2));
    forked(|| {});
    record(3);
    writer::stop();
    let me = std::process::id();
    let name = |process: u32| format!("100% {process}");
    let mut names = [name(me), name(child)];
    names.sort();
    assert_eq!(folder.names(), names, "a child that records nothing makes no file");
    assert_eq!(starts(&folder.path(&name(me))), [1, 3]);
    assert_eq!(starts(&folder.path(&name(child))), [2]);
    assert_eq!(header(&folder.path(&name(child))).about.parent, me);
}

#[test(alone)]
fn forks_under_threads_that_record_leave_whole_files() {
    /// So many events fit into the file, however long the forks take.
    const MOST: u64 = 1_000_000;
    let (folder, recorded) = (Folder::new(), AtomicU64::new(0));
    let work = |_, _| if recorded.fetch_add(1, Relaxed) < MOST { record(7) } else { std::thread::yield_now() };
    let fork_once = || {
        let (child, status) = forked(|| (1..=20).for_each(record));
        let own = folder.path(&format!("t.{child}"));
        assert_eq!((status, starts(&own)), (0, (1..=20).collect()), "what the child recorded");
        std::fs::remove_file(&own).unwrap();
    };
    trace_to(&folder.path("t"), || _ = beside(3, work, || (0..40).for_each(|_| fork_once())));
    let read = Recorded::of(&folder.path("t"));
    assert_eq!((read.header.next, read.unfinished.len()), (recorded.into_inner().min(MOST), 0));
}

#[test]
fn a_process_that_finds_the_file_held_has_one_of_its_own_in_the_same_run() {
    let folder = Folder::new();
    let path = folder.path("t");
    let (mut one, mut two) = (busy_process(&path), busy_process(&path));
    end(&mut two);
    end(&mut one);
    let own = folder.path(&format!("t.{}", two.id()));
    let (first, second) = (header(&path).about, header(&own).about);
    assert_eq!((first.process, second.process), (one.id(), two.id()));
    assert_eq!((first.run, second.run, second.parent), (first.identity, first.identity, 0));
    let items = read(&path);
    assert!(events_of(&items, one.id()).len() >= 400 && events_of(&items, two.id()).len() >= 400);
    // The file's process has ended, so the next one takes the file.
    let mut three = busy_process(&path);
    end(&mut three);
    assert_eq!(header(&path).about.process, three.id());
}

/// Records, and becomes the same program again, which finds its earlier image's file.
#[test(ignored)]
fn a_process_executes_itself() {
    let Some(path) = std::env::var_os("TRACE_TO") else { skip("other tests start it") };
    writer::start(&c_path(Path::new(&path))).unwrap();
    let turn: u64 = std::env::var("TURN").map_or(1, |turn| turn.parse().unwrap());
    record(turn);
    if turn < 3 {
        let again = process("a_process_executes_itself", Path::new(&path))
            .env("TURN", (turn + 1).to_string())
            .stdout(Stdio::inherit())
            .exec();
        panic!("{again}");
    }
}

#[test]
fn a_program_that_executes_another_one_keeps_what_it_recorded() {
    let folder = Folder::new();
    let path = folder.path("t");
    let mut child = process("a_process_executes_itself", &path).stdout(Stdio::null()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    let name = |times: usize| format!("t{}", format!(".{}", child.id()).repeat(times));
    assert_eq!(folder.names(), [name(0), name(1), name(2)]);
    let all = [0, 1, 2].map(|times| Recorded::of(&folder.path(&name(times))));
    assert_eq!([all[0].starts(), all[1].starts(), all[2].starts()], [[1], [2], [3]]);
    let run = all[0].header.about.identity;
    assert!(all.iter().all(|one| (one.header.about.identity, one.header.about.run) == (run, run)));
    assert_eq!(all.map(|one| one.header.end.is_some()), [false, false, true]);
}
