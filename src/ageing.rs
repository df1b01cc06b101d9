//! Gives back what has lain idle for too long, on a thread that is there only while something lies idle.
#![expect(unsafe_code, reason = "the thread sleeps in nanosleep")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::sync::Lock;
use crate::{settings, thread};

/// Gives back what has been idle for longer than so many milliseconds, and says whether something is idle still.
pub type Age = fn(u64) -> bool;

/// One who keeps idle blocks.
pub struct Keeper {
    age: Age,
    /// Whether it is among those that are asked.
    known: AtomicBool,
}

impl Keeper {
    /// A keeper whose blocks `age` looks at.
    pub const fn new(age: Age) -> Keeper {
        Keeper { age, known: AtomicBool::new(false) }
    }
}

type Keepers = [Option<&'static Keeper>; 2];

#[cfg(not(loom))]
static KEEPERS: Lock<Keepers> = Lock::new([None; 2]);
#[cfg(loom)]
loom::lazy_static! { static ref KEEPERS: Lock<Keepers> = Lock::new([None; 2]); }

/// Blocks that may lie idle for longer than so many milliseconds, an hour, may lie for ever.
const LONGEST: u64 = 3_600_000;

/// Whether the thread runs.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Called after something was kept: `keeper` is asked from time to time, until nothing is idle any more.
#[inline]
pub fn watch(keeper: &'static Keeper) {
    // SeqCst, here and in `run`: the thread finds what was kept, or it is found to have ended.
    if !keeper.known.load(SeqCst) || !RUNNING.load(SeqCst) {
        start(keeper);
    }
}

#[cold]
fn start(keeper: &'static Keeper) {
    KEEPERS.with(|keepers| {
        if !keeper.known.swap(true, SeqCst) {
            if let Some(place) = keepers.iter_mut().find(|place| place.is_none()) {
                *place = Some(keeper);
            }
        }
    });
    // A model has no time; and a thread that would stay for ever would keep the process from ending where `main` ends its
    // own thread alone.
    if cfg!(loom) || settings::POOL_AGE.get() > LONGEST || RUNNING.swap(true, SeqCst) {
        return;
    }
    // SAFETY: it needs no argument.
    if !unsafe { thread::start(run, std::ptr::null_mut()) } {
        // What is kept next tries again.
        RUNNING.store(false, SeqCst);
    }
}

extern "C" fn run(_: *mut c_void) -> *mut c_void {
    loop {
        let most = settings::POOL_AGE.get();
        if most > LONGEST {
            RUNNING.store(false, SeqCst);
            return std::ptr::null_mut();
        }
        // Blocks grow no older than a quarter more than they may.
        sleep((most / 4).clamp(10, 1000));
        if ask_all(most) {
            continue;
        }
        RUNNING.store(false, SeqCst);
        // Something may have been kept just before, by one who still saw this thread run.
        if !ask_all(most) || RUNNING.swap(true, SeqCst) {
            return std::ptr::null_mut();
        }
    }
}

/// Whether something is idle still.
fn ask_all(most: u64) -> bool {
    let keepers = KEEPERS.with(|keepers| *keepers);
    // All of them are asked, whatever the first says.
    keepers.iter().flatten().fold(false, |idle, keeper| (keeper.age)(most) | idle)
}

fn sleep(milliseconds: u64) {
    let time =
        libc::timespec { tv_sec: (milliseconds / 1000) as i64, tv_nsec: (milliseconds % 1000 * 1_000_000) as i64 };
    // SAFETY: `time` is live; the remainder is not asked for.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

/// Holds the list still, until `release`: for fork.
pub fn acquire() {
    KEEPERS.acquire();
}

/// Ends `acquire`.
pub fn release() {
    KEEPERS.release();
}

/// In a forked child, where the thread does not exist.
pub fn forget() {
    RUNNING.store(false, SeqCst);
}
