//! The program's process: starts it, forwards signals to it, waits for it.
#![expect(unsafe_code, reason = "signals: sigaction(2), kill(2), prctl(2); wait4(2); and what the program inherits")]

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

use libc::{c_int, c_void, rusage, siginfo_t, timeval};

use super::inherited::Inherited;
use crate::signals;

#[derive(Clone, Copy, Debug)]
pub enum Ended {
    Exited(u8),
    Signalled(c_int),
}

#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub process: u32,
    pub ended: Ended,
    /// Bytes: of it, or of a process that it waited for.
    pub resident_peak: u64,
    /// Nanoseconds.
    pub elapsed: u64,
    /// Nanoseconds, also of processes that it waited for.
    pub processor_time: u64,
}

/// Any signal that would end this command while its program goes on. Caffe stops at SIGINT and writes a snapshot at SIGHUP.
fn forwarded() -> impl Iterator<Item = c_int> {
    use libc::*;
    // Of a fault here; of job control; those that end no process.
    const FAULTS: [c_int; 7] = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS];
    const OTHERS: [c_int; 10] =
        [SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH, SIGXFSZ];
    (1..=SIGRTMAX()).filter(|signal| !FAULTS.contains(signal) && !OTHERS.contains(signal))
}

/// Signals go to this process; 0 before its start.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// By bit: those that arrived before its start.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// From now on a signal is the program's, also one that arrives before its start.
pub fn forward_signals() {
    forwarded().for_each(forward);
}

pub fn run(program: &[OsString], environment: &[(&'static str, OsString)]) -> io::Result<Finished> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).envs(environment.iter().map(|(name, value)| (name, value)));
    let inherited = Inherited::take();
    // SAFETY: `give` only makes system calls.
    unsafe { command.pre_exec(move || inherited.give()) };
    let began = Instant::now();
    let child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    forwarded().filter(|signal| early & bit(*signal) != 0).for_each(send);
    let waited = wait(child.id() as i32);
    // Another process may get its id now.
    CHILD.store(0, Ordering::SeqCst);
    let (status, used) = waited?;
    let ended = match (status.code(), status.signal()) {
        (None, Some(signal)) => Ended::Signalled(signal),
        (code, _) => Ended::Exited(code.unwrap_or(1) as u8),
    };
    let nanoseconds = |time: timeval| (time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64) * 1000;
    Ok(Finished {
        process: child.id(),
        ended,
        // In KiB.
        resident_peak: used.ru_maxrss as u64 * 1024,
        elapsed: began.elapsed().as_nanos() as u64,
        processor_time: nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime),
    })
}

fn wait(child: i32) -> io::Result<(ExitStatus, rusage)> {
    let (mut status, mut used) = (0, MaybeUninit::<rusage>::zeroed());
    loop {
        // SAFETY: the pointers are to local variables.
        if unsafe { libc::wait4(child, &mut status, 0, used.as_mut_ptr()) } == child {
            // SAFETY: zeroed memory is a valid rusage.
            return Ok((ExitStatus::from_raw(status), unsafe { used.assume_init() }));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Or keeps it until the start.
fn send(signal: c_int) {
    let child = CHILD.load(Ordering::SeqCst);
    if child == 0 {
        EARLY.fetch_or(bit(signal), Ordering::SeqCst);
        return;
    }
    // SAFETY: it is this process's child, and was not waited for yet.
    unsafe { libc::kill(child, signal) };
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// A terminal sends its signals to every process in the foreground: the program has them already, once it has started. A limit of
/// processor time (SIGXCPU) is each process's own.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel passes a valid pointer to a handler with SA_SIGINFO.
    let code = unsafe { (*info).si_code };
    let (by_a_process, before_its_start) = (code <= 0, CHILD.load(Ordering::SeqCst) == 0);
    if by_a_process || before_its_start {
        send(signal);
    }
}

/// An ignored signal, as under nohup(1), stays ignored: the program inherits that.
fn forward(signal: c_int) {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only writes the present one.
    let failed = unsafe { libc::sigaction(signal, std::ptr::null(), before.as_mut_ptr()) } != 0;
    // SAFETY: zeroed memory is a valid action.
    let before = unsafe { before.assume_init() };
    if failed || before.sa_sigaction == libc::SIG_IGN {
        return;
    }
    let mut action = before;
    action.sa_sigaction = handle as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler is async-signal-safe: it uses atomics and kill(2).
    unsafe { libc::sigaction(signal, &action, null_mut()) };
}

/// By the same signal as the program, so that the parent sees the same status.
pub fn end_by(signal: c_int) -> ExitCode {
    // The program has written its core.
    // SAFETY: prctl takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    signals::end_by(signal);
    // Reached if the signal ends no process: a shell's status for it.
    ExitCode::from(128_u8.wrapping_add(signal as u8))
}
