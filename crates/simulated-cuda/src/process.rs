//! The driver's life in a process: load, `cuInit`, fork, exit.
#![expect(unsafe_code, reason = "entry points have C names; fork and exit handlers are registered with C")]

use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::sync::MutexGuard;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::abi::{INVALID_VALUE, NO_DEVICE, Out};
use crate::log::{Log, enter_before_init, log};
use crate::state::{Guard, state};
use crate::{control, device, settings};

static INITIALISED: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);
static EXITED: AtomicBool = AtomicBool::new(false);

type Held = (Guard, MutexGuard<'static, Log>);

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
    /// Locks that a fork takes, so that the child finds whole contents. No destructor: a thread may fork while it ends.
    static HELD_FOR_FORK: Cell<Option<ManuallyDrop<Held>>> = const { Cell::new(None) };
}

pub fn say(sentence: &str) {
    let _ = std::io::stderr().write_all(format!("simulated CUDA: {sentence}\n").as_bytes());
}

/// For mistakes that a real driver may punish in any way.
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

extern "C" fn at_exit() {
    if is_forked() {
        return;
    }
    if settings::report() {
        control::report().iter().for_each(|line| say(line));
    }
    EXITED.store(true, Ordering::Relaxed);
}

unsafe extern "C" fn before_fork() {
    HELD_FOR_FORK.set(Some(ManuallyDrop::new((state(), log()))));
}

unsafe extern "C" fn after_fork_in_parent() {
    drop(HELD_FOR_FORK.take().map(ManuallyDrop::into_inner));
}

unsafe extern "C" fn after_fork_in_child() {
    // A driver that was not initialised works in a child.
    FORKED.store(is_initialised(), Ordering::Relaxed);
    drop(HELD_FOR_FORK.take().map(ManuallyDrop::into_inner));
}

/// A forked child finds no lock taken. Registered at the first call: a library that is only loaded does not affect forks.
pub fn prepare_for_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (before, parent, child) =
            (Some(before_fork as _), Some(after_fork_in_parent as _), after_fork_in_child as _);
        // SAFETY: the handlers are functions of this library, which is never unloaded (build.rs).
        if unsafe { libc::pthread_atfork(before, parent, Some(child)) } != 0 {
            die("the fork handlers could not be registered");
        }
    });
}

fn register_exit_handler() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function of this library, which is never unloaded (build.rs).
        if unsafe { libc::atexit(at_exit) } != 0 {
            die("the exit handler could not be registered");
        }
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> c_int {
    enter_before_init("cuInit", |_| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if is_initialised() {
            return Ok(());
        }
        let mut state = state();
        device::find(&mut state);
        if state.devices.is_empty() {
            return Err(NO_DEVICE);
        }
        register_exit_handler();
        INITIALISED.store(true, Ordering::Release);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> c_int {
    enter_before_init("cuDriverGetVersion", |_| version.put(settings::version()))
}
