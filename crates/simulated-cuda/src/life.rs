//! The driver's state in a process (initialised, forked, exited), its threads, and its messages.

use std::cell::Cell;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static INITIALISED: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);
static EXITED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

pub fn say(sentence: &str) {
    let _ = std::io::stderr().write_all(format!("simulated CUDA: {sentence}\n").as_bytes());
}

/// Ends the process after a mistake for which a real driver has undefined behaviour.
pub fn die(sentence: &str) -> ! {
    say(sentence);
    std::process::abort()
}

pub fn check_that_calls_are_allowed(function: &str) {
    if FORKED.load(Ordering::Relaxed) {
        die(&format!("{function} was called in a forked child of a process that had initialised the driver"));
    }
    if EXITED.load(Ordering::Relaxed) {
        die(&format!("{function} was called after the driver's exit handler ran"));
    }
}

pub fn is_initialised() -> bool {
    INITIALISED.load(Ordering::Acquire)
}

pub fn note_initialised() {
    INITIALISED.store(true, Ordering::Release);
}

/// A driver that was not initialised works in a child.
pub fn note_forked() {
    FORKED.store(is_initialised(), Ordering::Relaxed);
}

pub fn note_exited() {
    EXITED.store(true, Ordering::Relaxed);
}

/// Whether streams start nothing any more.
pub fn is_over() -> bool {
    EXITED.load(Ordering::Relaxed) || FORKED.load(Ordering::Relaxed)
}

/// A forked child lacks its parent's threads.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Threads are numbered from 1 in the order of their first calls.
pub fn thread_number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}

/// A host function of a stream must not call the driver (`cuLaunchHostFunc`).
pub fn in_callback() -> bool {
    IN_CALLBACK.get()
}

pub fn as_callback(function: impl FnOnce()) {
    IN_CALLBACK.set(true);
    function();
    IN_CALLBACK.set(false);
}
