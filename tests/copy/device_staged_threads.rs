//! The threads that copy through page-locked slots: started once, parked between copies, without signals.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use crate::refusing::*;
use crate::support::staging::*;
use crate::support::*;

/// On how many processors a thread may run, as the library hears it; 0: as the system says.
static PROCESSORS: AtomicUsize = AtomicUsize::new(0);

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(thread: libc::pid_t, bytes: usize, set: *mut libc::cpu_set_t) -> c_int {
    match PROCESSORS.load(Relaxed) {
        // The system call returns the size of the mask.
        0 => unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, bytes, set) }.min(0) as c_int,
        count => {
            (0..count).for_each(|processor| unsafe { libc::CPU_SET(processor, &mut *set) });
            0
        }
    }
}

/// The simulated driver with staging buffers, in a process that seems to have 16 processors.
fn with_many_processors() -> Gpu {
    PROCESSORS.store(16, Relaxed);
    with_staging_buffers(simulated_gpu())
}

/// Enough pieces for every thread.
const BYTES: usize = SLOT + 1;
/// The most that are started.
const MOST: usize = 7;

/// The threads that help: the system's numbers, and which signals each has blocked.
fn helpers() -> Vec<(String, u64)> {
    let mut found: Vec<_> = pools::threads()
        .into_iter()
        .filter_map(|thread| {
            let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
            let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let blocked = u64::from_str_radix(field("SigBlk:")?, 16).ok()?;
            (field("Name:")? == "syncedmem copy").then_some((thread, blocked))
        })
        .collect();
    found.sort();
    found
}

/// The same, once there are so many: a thread gives itself its name when it first runs.
fn helpers_once_there_are(count: usize) -> Vec<(String, u64)> {
    pools::until(|| helpers().len() >= count);
    helpers()
}

fn a_thousand_copies_start_seven_threads_which_take_no_signals() {
    let gpu = with_many_processors();
    let first = helpers_once_there_are(MOST);
    assert_eq!(first.len(), MOST);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGCHLD, libc::SIGSEGV] {
        assert!(first.iter().all(|(_, blocked)| blocked >> (signal - 1) & 1 == 1), "{first:?}");
    }
    ASKED.store(0, Relaxed);
    let mut object = Object::touched(Storage::overwrite_cpu_data, BYTES);
    for _ in 0..500 {
        object.mutable_gpu_data().unwrap();
        object.mutable_cpu_data().unwrap();
    }
    let copies = [c"HtoD", c"DtoH"].map(|kind| pieces(&gpu, kind));
    assert_eq!(copies, [Some((2 * 500, 0)); 2]);
    assert_eq!((helpers(), ASKED.load(Relaxed)), (first, 0));
    there_and_back(&gpu, &noise(1, BYTES));
}

fn no_thread_is_started_before_a_copy_is_staged_nor_for_one_processor() {
    let gpu = simulated_gpu();
    Object::holding(&noise(1, 1 << 19)).gpu_data().unwrap();
    assert_eq!((helpers().len(), page_locked_blocks(&gpu)), (0, Some(0)));
    PROCESSORS.store(1, Relaxed);
    there_and_back(&gpu, &noise(2, BYTES));
    assert_eq!((helpers().len(), page_locked_blocks(&gpu)), (0, Some(1)));
    PROCESSORS.store(3, Relaxed);
    there_and_back(&gpu, &noise(3, BYTES));
    assert_eq!(helpers_once_there_are(2).len(), 2);
}

fn where_the_system_gives_no_threads_the_caller_copies_alone_until_there_are_some() {
    PROCESSORS.store(1, Relaxed);
    // With the simulated driver's own thread for the stream of the staging buffers.
    let gpu = with_staging_buffers(simulated_gpu());
    PROCESSORS.store(16, Relaxed);
    let start = Instant::now();
    refuse(usize::MAX, libc::EAGAIN);
    (0..10).for_each(|seed| there_and_back(&gpu, &noise(seed, BYTES)));
    // Once in a second.
    assert!((1..=2 + start.elapsed().as_secs() as usize).contains(&ASKED.load(Relaxed)), "{ASKED:?}");
    assert_eq!(helpers().len(), 0);
    assert_eq!((page_locked_blocks(&gpu), gpu.calls_of(c"cuMemcpy")), (Some(1), 0));
    refuse(0, 0);
    pools::until(|| {
        there_and_back(&gpu, &noise(1, BYTES));
        helpers().len() == MOST
    });
}

fn a_fork_leaves_the_parked_threads_to_the_parent() {
    let gpu = with_many_processors();
    let before = helpers_once_there_are(MOST);
    let contents = noise(4, BYTES);
    let mut object = Object::holding(&contents);
    object.gpu_data().unwrap();
    in_a_child(|| {
        assert!(helpers().is_empty() && object.host_bytes(BYTES) == contents);
        assert_eq!(object.mutable_gpu_data(), Err(SYNCEDMEM_ERROR_NO_GPU));
    });
    there_and_back(&gpu, &noise(5, BYTES));
    assert_eq!(helpers(), before);
}

fn a_process_exits_while_threads_are_parked() {
    let gpu = with_many_processors();
    assert_eq!(helpers_once_there_are(MOST).len(), MOST);
    drop(gpu);
    // An exit that hangs fails.
    unsafe { libc::alarm(HANGS_AFTER) };
}

crate::support::harness::tests![
    alone_with_driver(&[EVERYTHING]):
    a_thousand_copies_start_seven_threads_which_take_no_signals,
    where_the_system_gives_no_threads_the_caller_copies_alone_until_there_are_some,
    a_fork_leaves_the_parked_threads_to_the_parent,
    a_process_exits_while_threads_are_parked;
    alone_with_driver(&[("SYNCEDMEM_STAGE_FROM", "1M")]): no_thread_is_started_before_a_copy_is_staged_nor_for_one_processor
];
