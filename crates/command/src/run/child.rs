//! The program's process: starts it, forwards signals to it, waits for it.
#![expect(unsafe_code, reason = "sigaction(2), kill(2), prctl(2), wait4(2), setitimer(2), getppid(2)")]

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

use libc::{c_int, c_void, itimerval, rusage, sighandler_t, siginfo_t, sigset_t, timeval};

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
    /// Bytes of this process, or of a process that it waited for.
    pub resident_peak: u64,
    /// Nanoseconds.
    pub elapsed: u64,
    /// Nanoseconds, also those of processes that it waited for.
    pub processor_time: u64,
}

/// The signals that would end this command and not its program. Caffe stops at SIGINT and writes a snapshot at SIGHUP.
fn forwarded() -> impl Iterator<Item = c_int> {
    use libc::*;
    // Faults of this command, job control, and signals that end no process stay here.
    const FAULTS: [c_int; 7] = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS];
    const OTHERS: [c_int; 10] =
        [SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGURG, SIGWINCH, SIGXFSZ];
    (1..=SIGRTMAX()).filter(|signal| !FAULTS.contains(signal) && !OTHERS.contains(signal))
}

/// The process that gets the signals; 0 before its start.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// The signals that arrived before its start, as bits.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// Forwards signals from now on, also those that arrive before the start of the program.
pub fn forward_signals() {
    forwarded().for_each(forward);
}

pub fn run(program: &[OsString], environment: &[(&'static str, OsString)]) -> io::Result<Finished> {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).envs(environment.iter().map(|(name, value)| (name, value)));
    let inherited = Inherited::take();
    // SAFETY: between fork and exec only system calls are allowed, and `give` makes no others.
    unsafe { command.pre_exec(move || inherited.give()) };
    let began = Instant::now();
    let child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    forwarded().filter(|signal| early & bit(*signal) != 0).for_each(send);
    let waited = wait(child.id() as i32);
    // Another process may get the id now.
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

/// Sends a signal to the program, or keeps it until the start.
fn send(signal: c_int) {
    let child = CHILD.load(Ordering::SeqCst);
    if child == 0 {
        EARLY.fetch_or(bit(signal), Ordering::SeqCst);
        return;
    }
    // SAFETY: kill takes plain numbers. The child has not been waited for, so no other process has its id.
    unsafe { libc::kill(child, signal) };
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Forwards only signals of other processes: a terminal sends its signals to every process in the foreground, and each process has
/// its own limit of processor time (SIGXCPU).
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

/// Ends this process by the signal that ended the program, so that the parent sees the same status.
pub fn end_by(signal: c_int) -> ExitCode {
    // The program has written its core.
    // SAFETY: prctl takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    signals::end_by(signal);
    // The signal may end no process: then the status is that of a shell.
    ExitCode::from(128_u8.wrapping_add(signal as u8))
}

/// Attributes that exec keeps and this command changes for itself. The program gets their earlier values.
#[derive(Clone, Copy)]
struct Inherited {
    actions: [(c_int, sighandler_t); 2],
    mask: sigset_t,
    timers: [(c_int, itimerval); 3],
    /// This process.
    parent: u32,
}

impl Inherited {
    /// Changes them: here a write beyond ulimit -f is an error, a child that ends can be waited for, and alarms do not go off.
    fn take() -> Inherited {
        let changed = [(libc::SIGXFSZ, libc::SIG_IGN), (libc::SIGCHLD, libc::SIG_DFL)];
        let none = MaybeUninit::<sigset_t>::zeroed();
        Inherited {
            actions: changed.map(|(signal, action)| (signal, signals::set(signal, action))),
            // SAFETY: zeros are an empty set.
            mask: signals::mask(libc::SIG_BLOCK, unsafe { none.assume_init_ref() }),
            timers: [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF]
                .map(|timer| (timer, exchange(timer, &stopped()))),
            parent: std::process::id(),
        }
    }

    /// Restores them in the forked child, by system calls alone. The program does not outlive this command.
    fn give(&self) -> io::Result<()> {
        // An error is ignored: a sandbox may refuse the call.
        // SAFETY: prctl takes plain numbers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // The parent ended before the call.
        // SAFETY: no preconditions.
        if unsafe { libc::getppid() } as u32 != self.parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for (signal, action) in self.actions {
            signals::set(signal, action);
        }
        signals::mask(libc::SIG_SETMASK, &self.mask);
        for (timer, left) in &self.timers {
            exchange(*timer, left);
        }
        Ok(())
    }
}

fn stopped() -> itimerval {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    itimerval { it_interval: never, it_value: never }
}

/// Sets a timer. Returns the time that was left.
fn exchange(timer: c_int, new: &itimerval) -> itimerval {
    let mut before = stopped();
    // SAFETY: both are live.
    unsafe { libc::setitimer(timer, new, &mut before) };
    before
}
