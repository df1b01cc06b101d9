//! A trace whose file cannot grow, or whose descriptor the program takes, ends with one line and harms nothing.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{alone, inside};
use crate::trace::*;
use syncedmem::observe::trace::{self as writer, FileError};

/// Mounts a file system of so many bytes on a folder, which this process alone sees; `false` where that is not permitted.
fn small_disk(on: &Path, bytes: usize) -> bool {
    let options = c_path(Path::new(&format!("size={bytes}")));
    unsafe {
        (libc::unshare(libc::CLONE_NEWNS) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) == 0)
            && libc::mount(c"none".as_ptr(), c_path(on).as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) == 0
    }
}

fn a_full_disk_ends_the_trace_with_one_line_and_not_the_program() {
    let folder = Folder::new();
    let on = folder.path("");
    let said = alone(&[("DISK", on.to_str().unwrap())], || {
        assert_eq!(writer::start(c"/dev/full"), Err(FileError::System(libc::ENOSPC)), "full from the beginning");
        let disk = std::path::PathBuf::from(std::env::var_os("DISK").unwrap());
        if !small_disk(&disk, 64 << 10) {
            eprintln!("NO DISK");
            return;
        }
        let path = disk.join("t.json");
        writer::start(&c_path(&path)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (1..200).for_each(|start| record(thread * 1000 + start)));
            }
        });
        assert!(!writer::is_on());
        rules::check_lines(&std::fs::read_to_string(&path).unwrap());
        let (items, notes) = read(&path);
        assert!(!notes.incomplete && notes.damaged == 0);
        assert_eq!(notes.unended, (1, std::process::id()), "a cut trace is not taken for a whole one");
        assert_eq!(
            events_of(&items, std::process::id()).len(),
            (64 << 10) / 512 - 2,
            "but for the bracket and the process"
        );
        writer::stop();
    });
    if inside() {
        return;
    }
    // Where mounting is not permitted, the file of the next test stands for the disk.
    if !said.contains("NO DISK") {
        assert_eq!(said.matches("libsyncedmem: the trace ends here: ").count(), 1, "{said}");
        assert!(said.contains("t.json: no space is left on the device\n"), "{said}");
    }
}

fn a_write_that_fails_ends_the_trace_with_one_line_and_not_the_program() {
    let said = alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        writer::start(&c_path(&path)).unwrap();
        // The limit is read when a trace begins, so that this one is found by the write.
        let limit = libc::rlimit { rlim_cur: 10 * 512, rlim_max: libc::RLIM_INFINITY };
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        (1..100).for_each(record);
        assert!(!writer::is_on());
        let (items, notes) = read(&path);
        assert_eq!(
            starts(&items, std::process::id()),
            (1..=8).collect::<Vec<u64>>(),
            "the bracket and the process took two"
        );
        assert!(!notes.incomplete);
    });
    assert!(inside() || said.matches("libsyncedmem: the trace ends here: ").count() == 1, "{said}");
}

fn the_limit_of_a_files_length_ends_the_trace_and_not_the_process() {
    let said = alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let limit = libc::rlimit { rlim_cur: 100_000, rlim_max: libc::RLIM_INFINITY };
        // SIGXFSZ has its default here, which ends the process.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        writer::start(&c_path(&path)).unwrap();
        (1..1000).for_each(record);
        assert!(!writer::is_on());
        let (items, notes) = read(&path);
        let read = starts(&items, std::process::id());
        assert_eq!(read, (1..=read.len() as u64).collect::<Vec<u64>>(), "it is whole up to where it ends");
        assert!(read.len() > 100 && !notes.incomplete, "{}", read.len());
        writer::stop();
        let _ = std::fs::remove_file(&path);
        let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &unlimited) }, 0);
        write(&path, &[event(1)]);
        assert_eq!(starts(&crate::trace::read(&path).0, std::process::id()), [1], "another one can be begun");
    });
    assert!(inside() || said.matches("libsyncedmem: the trace ends here: ").count() == 1, "{said}");
    assert!(inside() || said.contains("t.json: the process may make no longer file (ulimit -f)\n"), "{said}");
}

fn a_program_that_closes_every_descriptor_gets_nothing_into_its_own_files() {
    let said = alone(&[], || {
        let folder = Folder::new();
        let (path, own) = (folder.path("t.json"), folder.path("database"));
        writer::start(&c_path(&path)).unwrap();
        record(1);
        // As daemon(3)-like programs do.
        for descriptor in 3..100 {
            unsafe { libc::close(descriptor) };
        }
        let mut files = Vec::new();
        for number in 0..97 {
            files.push(
                std::fs::File::create(if number == 0 { own.clone() } else { folder.path(&format!("f{number}")) })
                    .unwrap(),
            );
        }
        record(2);
        assert!(!writer::is_on());
        writer::stop();
        drop(files);
        for name in folder.names().iter().filter(|name| *name != "t.json") {
            assert_eq!(std::fs::metadata(folder.path(name)).unwrap().len(), 0, "{name}");
        }
        assert_eq!(starts(&read(&path).0, std::process::id()), [1]);
    });
    assert!(inside() || said.contains("t.json: the program closed its descriptor\n"), "{said}");
}

fn what_a_program_prints_that_closed_its_standard_streams_is_not_in_the_trace() {
    alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t.json");
        let kept = unsafe { libc::dup(libc::STDOUT_FILENO) };
        unsafe { libc::close(libc::STDOUT_FILENO) };
        writer::start(&c_path(&path)).unwrap();
        record(1);
        let text = b"hello";
        let written = unsafe { libc::write(libc::STDOUT_FILENO, text.as_ptr().cast(), text.len()) };
        unsafe { libc::dup2(kept, libc::STDOUT_FILENO) };
        writer::stop();
        assert_eq!(written, -1, "there is no such descriptor");
        assert_eq!(starts(&read(&path).0, std::process::id()), [1]);
    });
}

fn a_descriptor_of_the_trace_is_not_inherited_by_other_programs() {
    alone(&[], || {
        let folder = Folder::new();
        writer::start(&c_path(&folder.path("t.json"))).unwrap();
        let mut listing = String::new();
        let mut child = Command::new("ls").args(["-l", "/proc/self/fd"]).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_to_string(&mut listing).unwrap();
        child.wait().unwrap();
        assert!(listing.contains("->") && !listing.contains("t.json"), "{listing}");
        writer::stop();
    });
}

crate::support::harness::tests![
    a_full_disk_ends_the_trace_with_one_line_and_not_the_program,
    a_write_that_fails_ends_the_trace_with_one_line_and_not_the_program,
    the_limit_of_a_files_length_ends_the_trace_and_not_the_process,
    a_program_that_closes_every_descriptor_gets_nothing_into_its_own_files,
    what_a_program_prints_that_closed_its_standard_streams_is_not_in_the_trace,
    a_descriptor_of_the_trace_is_not_inherited_by_other_programs,
];
