//! The arenas' system calls, which this suite stands in front of: while one lasts, other threads go on, and forks.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::given_up::{LAYER, shared, within};
use crate::support::*;

/// What another thread does during this thread's next such call.
type Beside = (Call, fn());

thread_local! {
    static BESIDE: Cell<Option<Beside>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, PartialEq)]
enum Call {
    Map,
    Protect,
    Release,
}

/// Numbers of calls during which the other thread ended its work.
static WENT_ON: AtomicUsize = AtomicUsize::new(0);

fn beside(call: Call) {
    let Some((_, work)) = BESIDE.get().filter(|(wanted, _)| *wanted == call) else { return };
    BESIDE.set(None);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        work();
        _ = sender.send(());
    });
    WENT_ON.fetch_add(usize::from(receiver.recv_timeout(Duration::from_secs(HANGS_AFTER.into())).is_ok()), Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    bytes: usize,
    access: c_int,
    kind: c_int,
    file: c_int,
    from: i64,
) -> *mut c_void {
    if access == libc::PROT_NONE && kind & libc::MAP_NORESERVE != 0 {
        beside(Call::Map);
    }
    unsafe { libc::syscall(libc::SYS_mmap, at, bytes, access, kind, file, from) as *mut c_void }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(at: *mut c_void, bytes: usize, access: c_int) -> c_int {
    beside(Call::Protect);
    unsafe { libc::syscall(libc::SYS_mprotect, at, bytes, access) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    if advice == libc::MADV_DONTNEED {
        beside(Call::Release);
    }
    unsafe { libc::syscall(libc::SYS_madvise, at, bytes, advice) as c_int }
}

/// Lends a block, and gives it back; returns its address.
fn lend(bytes: usize) -> usize {
    let mut object = shared(bytes);
    let data = within(LAYER, || object.mutable_cpu_data().unwrap());
    unsafe { data.write_bytes(7, bytes) };
    data.addr()
}

fn other_threads_lend_while_one_waits_for_the_system() {
    // Its end releases the arenas' pages.
    let last = shared(100);
    let lend_beside = || _ = lend(1 << 20);
    for (call, bytes) in [(Call::Map, 1 << 20), (Call::Protect, 5 << 20)] {
        BESIDE.set(Some((call, lend_beside)));
        lend(bytes);
    }
    BESIDE.set(Some((Call::Release, lend_beside)));
    drop(last);
    assert_eq!(WENT_ON.load(Relaxed), 3);
    lend(5 << 20);
}

/// The address of the first thread's block.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

fn a_child_that_is_forked_while_another_thread_releases_pages_uses_the_same_arena() {
    // Its end releases the arenas' pages.
    let last = shared(100);
    BEFORE.store(lend(1 << 20), Relaxed);
    let fork = || in_a_child(|| assert_eq!(lend(1 << 20), BEFORE.load(Relaxed)));
    BESIDE.set(Some((Call::Release, fork)));
    drop(last);
    assert_eq!(WENT_ON.load(Relaxed), 1);
}

fn forks_beside_threads_that_lend_leave_every_arena_usable() {
    let lend_two = |_, _| _ = (lend(100), lend(3 << 20));
    let forks = || (0..20).for_each(|_| in_a_child(|| _ = (lend(1000), lend(5 << 20))));
    assert!(crate::support::beside(4, lend_two, forks) >= 4);
}

harness::tests![
    alone(&[]):
    other_threads_lend_while_one_waits_for_the_system,
    a_child_that_is_forked_while_another_thread_releases_pages_uses_the_same_arena,
    forks_beside_threads_that_lend_leave_every_arena_usable
];
