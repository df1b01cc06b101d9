//! What exec keeps and this command changes for itself: the program gets it as it was.
#![expect(unsafe_code, reason = "setitimer(2), prctl(2), getppid(2)")]

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;

use libc::{itimerval, sighandler_t, sigset_t};

use crate::signals;

#[derive(Clone, Copy)]
pub struct Inherited {
    actions: [(c_int, sighandler_t); 2],
    mask: sigset_t,
    timers: [(c_int, itimerval); 3],
    /// This process.
    parent: u32,
}

impl Inherited {
    /// A writer past ulimit -f gets an error here, and a child that ends can be waited for. Alarms are the program's.
    pub fn take() -> Inherited {
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

    /// In the forked child: only makes system calls. The program does not outlive this command.
    pub fn give(&self) -> io::Result<()> {
        // Ignored: a sandbox may refuse it.
        // SAFETY: prctl takes plain numbers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // It ended before that.
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

/// Returns the time that was left.
fn exchange(timer: c_int, new: &itimerval) -> itimerval {
    let mut before = stopped();
    // SAFETY: both are live.
    unsafe { libc::setitimer(timer, new, &mut before) };
    before
}
