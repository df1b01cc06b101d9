//! A trace whose file cannot grow, or whose descriptor the program takes, is cut with one line, and harms nothing.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{alone, inside, skip};
use crate::trace::*;
use syncedmem::observe::trace::{self as writer, FileError};
use syncedmem_trace::recording::text::Topic;

/// Mounts a file system of so many bytes on a folder, which this process alone sees; `false` where that is not permitted.
fn small_disk(on: &Path, bytes: usize) -> bool {
    let options = c_path(Path::new(&format!("size={bytes}")));
    unsafe {
        (libc::unshare(libc::CLONE_NEWNS) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) == 0)
            && libc::mount(c"none".as_ptr(), c_path(on).as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) == 0
    }
}

/// What a trace that was cut holds: the records are whole up to where they end.
fn is_cut(path: &Path, recorded: u64, errno: i32) {
    let read = Recorded::of(path);
    assert_eq!(read.header.cut, Some(errno));
    let starts = read.starts();
    assert_eq!(starts, (1..=starts.len() as u64).collect::<Vec<u64>>());
    assert!(starts.len() >= 1000, "{}", starts.len());
    assert_eq!(read.header.lost, recorded - starts.len() as u64);
    assert!(read.header.end.is_some(), "it was stopped");
}

#[test]
fn a_full_disk_cuts_the_trace_with_one_line_and_not_the_program() {
    let folder = Folder::new();
    let on = folder.path("");
    let said = alone(&[("DISK", on.to_str().unwrap())], || {
        let disk = std::path::PathBuf::from(std::env::var_os("DISK").unwrap());
        if !small_disk(&disk, 512 << 10) {
            eprintln!("NO DISK");
            return;
        }
        let path = disk.join("t");
        trace_to(&path, || (1..=20_000).for_each(record));
        is_cut(&path, 20_000, libc::ENOSPC);
        std::fs::write(disk.join("filler"), vec![1; 1 << 20]).unwrap_err();
        assert_eq!(writer::start(&c_path(&disk.join("u"))), Err(FileError::System(libc::ENOSPC)), "full already");
    });
    if inside() {
        return;
    }
    if said.contains("NO DISK") {
        skip("mounting is not permitted here");
    }
    assert_eq!(said.matches("libsyncedmem: the trace ends here: ").count(), 1, "{said}");
    assert!(said.contains("t: no space is left on the device\n"), "{said}");
}

#[test]
fn the_limit_of_a_files_length_cuts_the_trace_and_not_the_process() {
    let said = alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        let limit = libc::rlimit { rlim_cur: (4 << 20) + (300 << 10), rlim_max: libc::RLIM_INFINITY };
        // SIGXFSZ has its default here, which ends the process.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        trace_to(&path, || (1..=20_000).for_each(record));
        is_cut(&path, 20_000, libc::EFBIG);
        std::fs::remove_file(&path).unwrap();
        let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &unlimited) }, 0);
        trace_to(&path, || record(1));
        assert_eq!(starts(&path), [1], "another one can be begun");
    });
    assert!(inside() || said.matches("libsyncedmem: the trace ends here: ").count() == 1, "{said}");
    assert!(inside() || said.contains("t: the process may make no longer file (ulimit -f)\n"), "{said}");
}

/// Bytes of address space that this process uses.
fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

/// Runs `work` in a process that may use so many bytes of address space more.
fn with_address_space<R>(more: u64, work: impl FnOnce() -> R) -> R {
    let set = |rlim_cur| {
        let limit = libc::rlimit { rlim_cur, rlim_max: libc::RLIM_INFINITY };
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    };
    set(address_space() + more);
    let result = work();
    set(libc::RLIM_INFINITY);
    result
}

#[test(alone)]
fn without_address_space_for_it_there_is_no_trace() {
    let folder = Folder::new();
    let path = c_path(&folder.path("t"));
    let started = with_address_space(512 << 10, || {
        let started = writer::start(&path);
        record(1);
        started
    });
    assert_eq!(started, Err(FileError::System(libc::ENOMEM)));
    assert_eq!(writer::start(&path), Ok(()), "the file is as empty as it was");
    writer::stop();
}

/// 200,000 records are 12 MiB.
#[test(alone)]
fn a_long_recording_needs_no_more_address_space_than_a_short_one() {
    let folder = Folder::new();
    let path = folder.path("t");
    let before = address_space();
    trace_to(&path, || {
        (1..=20_000).for_each(record);
        let short = address_space();
        assert!(short - before <= 3 << 20, "{} for 20,000 records", short - before);
        with_address_space(0, || (20_001..=200_000).for_each(record));
        assert_eq!(address_space(), short);
    });
    assert!(address_space() < before + (1 << 20), "{} stay: a window", address_space() - before);
    assert_eq!(starts(&path), (1..=200_000).collect::<Vec<u64>>());
}

/// Names of 190 letters, some 3 MiB of them: windows begin between two.
#[test(alone)]
fn texts_are_whole_in_each_window() {
    let name = |number: u64| format!("{number:>190}");
    let read = recorded(|| (0..15_000).for_each(|number| writer::name(0x5000, 64, &name(number))));
    let names = read.texts.iter().filter(|(kind, ..)| *kind == Topic::Name).map(|(_, _, text)| text.clone());
    assert!(names.eq((0..15_000).map(name)));
}

#[test]
fn a_program_that_closes_every_descriptor_gets_nothing_into_its_own_files() {
    let said = alone(&[], || {
        let folder = Folder::new();
        let path = folder.path("t");
        writer::start(&c_path(&path)).unwrap();
        record(1);
        // Daemons do this.
        for descriptor in 3..100 {
            unsafe { libc::close(descriptor) };
        }
        let create = |number| std::fs::File::create(folder.path(&format!("f{number}"))).unwrap();
        let files: Vec<_> = (0..97).map(create).collect();
        // More than was reserved.
        (2..=20_000).for_each(record);
        writer::stop();
        drop(files);
        for name in folder.names().iter().filter(|name| *name != "t") {
            assert_eq!(std::fs::metadata(folder.path(name)).unwrap().len(), 0, "{name}");
        }
        is_cut(&path, 20_000, libc::EBADF);
    });
    assert!(inside() || said.contains("t: the program closed its descriptor\n"), "{said}");
}

#[test(alone)]
fn a_descriptor_of_the_trace_is_not_inherited_by_other_programs() {
    let folder = Folder::new();
    writer::start(&c_path(&folder.path("the-trace"))).unwrap();
    let mut listing = String::new();
    let mut child = Command::new("ls").args(["-l", "/proc/self/fd"]).stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_to_string(&mut listing).unwrap();
    child.wait().unwrap();
    assert!(listing.contains("->") && !listing.contains("the-trace"), "{listing}");
    writer::stop();
}
