//! `syncedmem run` where the recordings find no room: it says so, and the program runs to its end.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::caffe_like::{Said, Workshop, said};

/// Runs the command with a TMPDIR of so many bytes. Where this process may not mount a file system, each file has at most that length.
fn with_room(command: &mut Command, bytes: usize) -> Said {
    let disk = command.get_envs().find(|(name, _)| *name == "TMPDIR").and_then(|(_, value)| value).unwrap();
    let (disk, options) = (CString::new(disk.as_bytes()).unwrap(), CString::new(format!("size={bytes}")).unwrap());
    let prepare = move || {
        // SAFETY: unshare takes flags. Only the command's process is concerned.
        let is_alone = unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0
            // SAFETY: as above.
            || unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) } == 0;
        let (kind, options) = (c"tmpfs".as_ptr(), options.as_ptr().cast());
        // SAFETY: all are NUL-terminated.
        if is_alone && unsafe { libc::mount(c"none".as_ptr(), disk.as_ptr(), kind, 0, options) } == 0 {
            return Ok(());
        }
        let limit = libc::rlimit { rlim_cur: bytes as u64, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit is readable.
        if unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: the closure only makes system calls.
    said(unsafe { command.pre_exec(prepare) })
}

#[test]
fn a_full_folder_of_temporary_files_is_said_and_the_program_runs_to_its_end() {
    let workshop = Workshop::with_program();
    // The first process has room for all of its recording, the second for its header at most.
    let script = "./program; ./program; echo ran; ./program 7";
    let told = with_room(&mut workshop.command(&[], &["sh", "-c", script]), 140 << 10);
    assert_eq!((told.output.as_str(), told.status), ("ran\n", Some(7)), "{}", told.error);
    let reasons = ["no space is left on the device", "the process may make no longer file (ulimit -f)"];
    assert!(reasons.iter().any(|reason| told.error.contains(reason)), "{}", told.error);
}
