//! A storm of signals to a thread that uses objects, with a handler that reads data which is already current.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::support::folder::Folder;
use crate::support::tensor::{FLOATS, export};
use crate::support::*;
use syncedmem::observe::trace as writer;
use syncedmem_trace::event::{Event, Site, What};

/// The objects that the handler reads.
static OBJECTS: [AtomicPtr<syncedmem_t>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
/// How often the handler succeeded, how often it was refused because it had interrupted the library, and other results.
static SERVED: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

extern "C" fn read_current_data(_signal: i32) {
    for object in &OBJECTS {
        let object = object.load(Relaxed);
        let mut data = std::ptr::null();
        let status = unsafe { syncedmem_cpu_data(object, &mut data) };
        let counter = match status {
            SYNCEDMEM_SUCCESS if unsafe { data.cast::<u8>().read() } == 42 => &SERVED,
            SYNCEDMEM_ERROR_REENTERED => &REFUSED,
            _ => &WRONG,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// The two objects that the handler reads, a small and a larger one.
fn objects() -> [Object; 2] {
    [100, 50_000].map(|bytes| {
        let mut object = Object::new(bytes);
        unsafe { object.mutable_cpu_data().unwrap().write(42) };
        object
    })
}

/// Does `work` again and again while a timer sends this thread signals, until enough of them were handled. A thread that sends
/// them would need a processor, which it may not get for long on a busy machine.
fn under_signals(objects: &mut [Object; 2], is_enough: impl Fn() -> bool, mut work: impl FnMut()) {
    for (place, object) in OBJECTS.iter().zip(objects) {
        place.store(object.mem(), Relaxed);
    }
    unsafe { libc::alarm(HANGS_AFTER) };
    unsafe { libc::signal(libc::SIGUSR1, read_current_data as *const () as libc::sighandler_t) };
    // The interval is longer than the handler takes.
    let timer = start_timer(200_000);
    while SERVED.load(Relaxed) < 1000 || !is_enough() {
        work();
    }
    assert_eq!(unsafe { libc::timer_delete(timer) }, 0);
    unsafe { libc::alarm(0) };
    assert_eq!(WRONG.load(Relaxed), 0);
}

fn touch(object: &mut Object) {
    object.mutable_cpu_data().unwrap();
}

#[test(alone, ("SYNCEDMEM_ACCOUNT", "on"))]
fn a_signal_handler_may_read_current_data_while_calls_are_counted() {
    let mut own = Object::new(1000);
    under_signals(&mut objects(), || true, || [&mut own, &mut Object::new(200)].into_iter().for_each(touch));
    assert_eq!(REFUSED.load(Relaxed), 0);
}

/// Records for a limited time, because signals may come faster than records are written.
extern "C" fn record(_signal: i32) {
    if SERVED.fetch_add(1, Relaxed) > 100 {
        return;
    }
    let what = What::Synchronised;
    let event = Event { start: 1, duration: 1, thread: 1, object: 0x1000, site: Site(1), what };
    writer::record(&event, 0);
}

/// Sends this process, in which no other thread takes it, a signal every so many nanoseconds.
fn start_timer(nanoseconds: i64) -> libc::timer_t {
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, libc::SIGUSR1);
    let mut timer = std::ptr::null_mut();
    assert_eq!(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) }, 0);
    let often = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
    let times = libc::itimerspec { it_interval: often, it_value: often };
    assert_eq!(unsafe { libc::timer_settime(timer, 0, &times, std::ptr::null_mut()) }, 0);
    timer
}

#[test(alone)]
fn a_signal_handler_may_record_while_a_forked_child_takes_the_trace_over() {
    let folder = Folder::new();
    let file = folder.path("trace");
    writer::start(&std::ffi::CString::new(file.to_str().unwrap()).unwrap()).unwrap();
    unsafe { libc::signal(libc::SIGUSR1, record as *const () as libc::sighandler_t) };
    for _ in 0..300 {
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe { libc::alarm(HANGS_AFTER) };
            start_timer(20_000);
            (0..20).for_each(|_| record(0));
            unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
            unsafe { libc::_exit(0) };
        }
        let mut status = -1;
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "the status of a child");
    }
    assert_eq!(folder.names().len(), 301, "each child has a file of its own");
}

#[test(alone)]
fn a_signal_handler_that_reads_current_data_of_an_exported_object_is_served_or_told_that_it_came_in_between() {
    let mut objects = objects();
    let _tensors = objects.each_mut().map(|object| export(object.mem(), FLOATS).unwrap());
    let has_come_in_between = || REFUSED.load(Relaxed) > 0;
    under_signals(&mut objects, has_come_in_between, || {
        // This thread holds the locks that the handler wants: those of its objects.
        for object in &OBJECTS {
            let (object, mut data) = (object.load(Relaxed), std::ptr::null());
            assert_eq!(unsafe { syncedmem_cpu_data(object, &mut data) }, SYNCEDMEM_SUCCESS);
        }
        (0..50).for_each(|_| touch(&mut Object::new(200)));
    });
}
