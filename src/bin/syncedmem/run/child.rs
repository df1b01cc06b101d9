//! The program's process: started, given the signals that are meant for it, waited for.
#![expect(unsafe_code, reason = "signals: sigaction(2), kill(2), prctl(2)")]

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use libc::{c_int, c_void, siginfo_t};

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub enum Ended {
    Exited(u8),
    Signalled(c_int),
}

/// Those that ask a program to do something, Caffe among them: it stops at SIGINT and writes a snapshot at SIGHUP.
const FORWARDED: [c_int; 6] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// The process that signals go to; 0 before it is there.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// Signals that came before it was there, by bit.
static EARLY: AtomicU32 = AtomicU32::new(0);

/// Runs a program to its end, and calls `started` once it was started.
pub fn run(
    program: &[OsString],
    environment: &[(&'static str, OsString)],
    started: impl FnOnce(),
) -> io::Result<Ended> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).envs(environment.iter().map(|(name, value)| (name, value)));
    FORWARDED.into_iter().for_each(forward);
    let mut child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    started();
    FORWARDED.into_iter().filter(|signal| early & 1 << signal != 0).for_each(send);
    // std waits again where a signal interrupts it.
    let status = child.wait()?;
    // Another process may get its number from now on.
    CHILD.store(0, Ordering::SeqCst);
    Ok(match (status.code(), status.signal()) {
        (None, Some(signal)) => Ended::Signalled(signal),
        (code, _) => Ended::Exited(code.unwrap_or(1) as u8),
    })
}

/// Sends a signal to the process, if it is there.
fn send(signal: c_int) {
    let child = CHILD.load(Ordering::SeqCst);
    if child == 0 {
        EARLY.fetch_or(1 << signal, Ordering::SeqCst);
        return;
    }
    // SAFETY: it is our own child, which was not waited for yet.
    unsafe { libc::kill(child, signal) };
}

/// What a signal does to us. A terminal sends its own to every process in the foreground, the program among them.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel hands a valid one to a handler with SA_SIGINFO.
    let code = unsafe { (*info).si_code };
    let by_a_process = code <= 0;
    if by_a_process {
        send(signal);
    }
}

/// Sees to it that a signal reaches the program, unless it is ignored, as by nohup(1): then the program inherits that.
fn forward(signal: c_int) {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action, the present one is written.
    let failed = unsafe { libc::sigaction(signal, std::ptr::null(), before.as_mut_ptr()) } != 0;
    // SAFETY: zeros are an action, too.
    let before = unsafe { before.assume_init() };
    if failed || before.sa_sigaction == libc::SIG_IGN {
        return;
    }
    let mut action = before;
    action.sa_sigaction = handle as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler does nothing that a signal handler may not do.
    unsafe { libc::sigaction(signal, &action, null_mut()) };
}

/// Ends this process as the program ended, so that whoever waits for us sees the same.
pub fn end_by(signal: c_int) -> ExitCode {
    // The program has left its core already, if one was wanted.
    // SAFETY: it takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    // SAFETY: the default is an action for every signal.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    // SAFETY: it concerns this process alone.
    unsafe { libc::raise(signal) };
    // Still here, if the signal is blocked: what a shell makes of it.
    ExitCode::from(128_u8.wrapping_add(signal as u8))
}
