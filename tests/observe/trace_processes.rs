//! However a process ends, forks or shares its file with others, the trace is whole.

use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::alone;
use crate::trace::reader::Item;
use crate::trace::*;
use syncedmem::observe::trace::{self as writer, FileError};
use syncedmem_trace::event::{Event, Site};
use syncedmem_trace::format::Live;

/// The processes that begin, in the order in which they do.
fn processes(items: &[Item]) -> Vec<u32> {
    let begun =
        items.iter().filter_map(|item| if let Item::Process { process, .. } = item { Some(*process) } else { None });
    begun.collect()
}

/// Forks: the child does `work` and ends at once.
fn forked(work: impl FnOnce()) -> u32 {
    let child = unsafe { libc::fork() };
    if child == 0 {
        writer::after_fork_in_child();
        // One that waits for ever is ended, and its status says so.
        unsafe { libc::alarm(10) };
        work();
        unsafe { libc::_exit(0) };
    }
    child as u32
}

fn wait(child: u32) -> i32 {
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child as i32, &mut status, 0) }, child as i32);
    status
}

/// A process of four threads that record until it is ended, once it has said on its standard output that they do.
fn busy_process(path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["trace_processes::four_threads_record_until_they_are_ended", "--exact", "--ignored", "--nocapture"])
        .env("TRACE_TO", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("recording")), "it did not begin");
    child
}

fn four_threads_record_until_they_are_ended() {
    let Some(path) = std::env::var_os("TRACE_TO") else { return };
    writer::start(&c_path(Path::new(&path))).unwrap();
    let run = events::a_run(4, 64);
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let run = &run;
            scope.spawn(move || {
                let me = unsafe { libc::gettid() } as u32;
                // It ends by itself if its parent has gone.
                for round in 0u64..300 {
                    for event in run.iter().filter(|event| event.thread == 100 + thread) {
                        let bytes = [round * 1000, u64::from(thread), 77];
                        // Each thread its own numbers, so that what is missing would be noticed.
                        let event = Event { start: round * 1_000_000_000 + event.start, thread: me, ..*event };
                        writer::record(&event, &Live { bytes });
                    }
                }
            });
        }
        println!("recording");
    });
}

fn a_kill_at_any_moment_leaves_every_line_whole() {
    let folder = Folder::new();
    let path = folder.path("t.json");
    let mut moments = 0;
    for round in 0..40 {
        let mut child = busy_process(&path);
        // Whenever: the records are microseconds apart, so a few steps of the loop below are enough to be anywhere.
        let size = 512 * (40 + 7 * round);
        while std::fs::metadata(&path).unwrap().len() < size {}
        child.kill().unwrap();
        child.wait().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.len() % 512, 0, "the last block is whole");
        for line in text.lines().skip(1).filter(|line| !line.trim().is_empty()) {
            serde_json::from_str::<serde_json::Value>(line.strip_suffix(',').expect(line)).expect(line);
        }
        let (items, notes) = read(&path);
        assert_eq!((notes.damaged, notes.incomplete), (0, false));
        assert_eq!(notes.unended, (1, child.id()));
        moments += items.len();
    }
    assert!(moments > 40 * 40);
}

fn an_abort_leaves_what_was_recorded() {
    let folder = Folder::new();
    let path = folder.path("t.json");
    let name = path.to_str().unwrap().to_string();
    alone(&[("TRACE_TO", &name)], || {
        let path = std::env::var("TRACE_TO").unwrap();
        let child = forked(|| {
            writer::start(&c_path(Path::new(&path))).unwrap();
            (1..=100).for_each(record);
            unsafe { libc::abort() };
        });
        assert!(libc::WIFSIGNALED(wait(child)));
        let text = std::fs::read_to_string(&path).unwrap();
        rules::check(&text);
        assert_eq!(starts(&read(Path::new(&path)).0, child), (1..=100).collect::<Vec<u64>>());
    });
}

fn an_exit_leaves_what_was_recorded() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let child = forked(|| {
            writer::start(&c_path(&path)).unwrap();
            record(1);
            unsafe { libc::exit(0) };
        });
        wait(child);
        let (items, notes) = read(&path);
        assert_eq!(starts(&items, child), [1]);
        assert_eq!(notes.unended, (0, 0), "its trace is known to be whole");
    });
}

fn a_forked_child_goes_on_in_the_same_file_under_its_own_number() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        writer::start(&c_path(&path)).unwrap();
        writer::site(Site(1), "main (program)");
        record(1);
        let mut grandchild = 0;
        let child = forked(|| {
            record(2);
            // Its own number is its exit status no more: the file has it.
            let inner = forked(|| record(3));
            wait(inner);
            record(4);
        });
        wait(child);
        let silent = forked(|| {});
        wait(silent);
        record(5);
        writer::stop();
        rules::check(&std::fs::read_to_string(&path).unwrap());
        let (items, _) = read(&path);
        let me = std::process::id();
        let mut processes = Vec::new();
        for item in &items {
            if let Item::Process { process, parent, .. } = item {
                processes.push((*process, *parent));
                if *parent == Some(child) {
                    grandchild = *process;
                }
            }
        }
        assert_eq!(
            processes,
            [(me, None), (child, Some(me)), (grandchild, Some(child))],
            "the silent one said nothing"
        );
        assert_eq!(starts(&items, me), [1, 5]);
        assert_eq!(starts(&items, child), [2, 4]);
        assert_eq!(starts(&items, grandchild), [3]);
        let places = items.iter().filter(|item| matches!(item, Item::Site { place, .. } if place == "main (program)"));
        assert_eq!(places.count(), 3, "children inherit it");
    });
}

fn with_its_number_in_the_name_each_process_has_a_file_of_its_own() {
    alone(&[], || {
        let folder = Folder::new();
        writer::start(&c_path(&folder.path("100%% %p.json"))).unwrap();
        record(1);
        let child = forked(|| record(2));
        wait(child);
        let silent = forked(|| {});
        wait(silent);
        record(3);
        writer::stop();
        let me = std::process::id();
        let name = |process: u32| format!("100% {process}.json");
        let mut names = [name(me), name(child)];
        names.sort();
        assert_eq!(folder.names(), names, "a child that records nothing makes no file");
        assert_eq!(starts(&read(&folder.path(&name(me))).0, me), [1, 3]);
        let (items, _) = read(&folder.path(&name(child)));
        assert_eq!(starts(&items, child), [2]);
        assert!(matches!(&items[0], Item::Process { parent: Some(parent), .. } if *parent == me));
    });
}

fn forks_under_threads_that_record_leave_a_whole_file() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        writer::start(&c_path(&path)).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let mut children = Vec::new();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (1..100_000).take_while(|_| !stop.load(relaxed)).for_each(record));
            }
            for _ in 0..100 {
                let child = forked(|| (1..=20).for_each(record));
                children.push((child, wait(child)));
                if children.last().is_some_and(|(_, status)| *status != 0) {
                    break;
                }
            }
            stop.store(true, relaxed);
        });
        writer::stop();
        rules::check_lines(&std::fs::read_to_string(&path).unwrap());
        let (items, notes) = read(&path);
        assert_eq!((notes.damaged, notes.incomplete), (0, false));
        for (child, status) in children {
            assert_eq!(status, 0);
            assert_eq!(starts(&items, child), (1..=20).collect::<Vec<u64>>());
        }
    });
}

fn two_processes_share_a_file_that_the_next_one_begins_anew() {
    let folder = Folder::new();
    let path = folder.path("t.json");
    let mut one = busy_process(&path);
    let mut two = busy_process(&path);
    let records = |text: &str, of: &Child| text.matches(&format!("\"ph\":\"X\",\"pid\":{},", of.id())).count();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let text = std::fs::read_to_string(&path).unwrap();
        if records(&text, &one) > 100 && records(&text, &two) > 100 {
            break;
        }
        assert!(Instant::now() < deadline, "not both record");
    }
    two.kill().unwrap();
    two.wait().unwrap();
    one.kill().unwrap();
    one.wait().unwrap();
    let (items, notes) = read(&path);
    assert_eq!((notes.damaged, notes.incomplete), (0, false));
    assert_eq!(processes(&items), [one.id(), two.id()], "the second one left what it found");
    assert!(events_of(&items, one.id()).len() > 100 && events_of(&items, two.id()).len() > 100);
    let mut three = busy_process(&path);
    three.kill().unwrap();
    three.wait().unwrap();
    let (items, _) = read(&path);
    assert_eq!(processes(&items), [three.id()]);
}

fn a_lock_that_another_program_keeps_to_itself_is_not_waited_for_for_ever() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
        assert_eq!(writer::start(&c_path(&path)), Err(FileError::Locked));
        assert!(!writer::is_on());
    });
}

crate::support::harness::tests![
    a_kill_at_any_moment_leaves_every_line_whole,
    an_abort_leaves_what_was_recorded,
    an_exit_leaves_what_was_recorded,
    a_forked_child_goes_on_in_the_same_file_under_its_own_number,
    with_its_number_in_the_name_each_process_has_a_file_of_its_own,
    forks_under_threads_that_record_leave_a_whole_file,
    two_processes_share_a_file_that_the_next_one_begins_anew,
    a_lock_that_another_program_keeps_to_itself_is_not_waited_for_for_ever;
    ignored: four_threads_record_until_they_are_ended
];
