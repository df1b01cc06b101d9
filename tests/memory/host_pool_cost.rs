//! What a block that comes back costs: no system call and no page fault; and the thread that looks after idle ones.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed};

use crate::clock;
use crate::support::pools::*;
use crate::support::*;

const SIZES: [usize; 5] = [64 * KIB, MIB, 2 * MIB, 7 * MIB + 4097, 64 * MIB];
const PAIRS: usize = 200;

/// Acquires and gives back a block of each size, time after time.
fn pairs(access: Access) {
    for _ in 0..PAIRS {
        for bytes in SIZES {
            let mut object = OnStack::new(bytes);
            let data = access(&mut object.0).unwrap();
            unsafe { data.write(1) };
        }
    }
}

type Access = fn(&mut Storage) -> Result<*mut u8, syncedmem_status_t>;

/// What is done once is done, and there is an idle block of each size: all of them were once in use together.
fn warm() {
    drop(SIZES.map(|bytes| filled(bytes, 1)));
}

/// An object whose storage costs nothing.
struct OnStack(Storage);

impl OnStack {
    fn new(bytes: usize) -> OnStack {
        let mut object = OnStack(Storage([FILL; 64]));
        assert_eq!(object.0.construct(bytes), SYNCEDMEM_SUCCESS);
        object
    }
}

impl Drop for OnStack {
    fn drop(&mut self) {
        assert_eq!(self.0.destruct(), SYNCEDMEM_SUCCESS);
    }
}

/// Does `work` in a forked child where every system call but its end is caught, by a filter of this thread's
/// (seccomp(2)); the number of the first that was made. What is done once, or once after a fork, is done before.
fn first_system_call(work: impl FnOnce()) -> Option<c_int> {
    const NOTHING: c_int = -1;
    let page = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 4096, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    let caught: &AtomicI32 = unsafe { &*page.cast() };
    caught.store(NOTHING, Relaxed);
    CAUGHT.store(page.cast(), Relaxed);
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        warm();
        catch_system_calls();
        work();
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    let number = caught.load(Relaxed);
    assert_eq!(status != 0, number != NOTHING, "the child ended with {status}");
    (number != NOTHING).then_some(number)
}

/// Where the number of a system call that was caught is left.
static CAUGHT: AtomicPtr<AtomicI32> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn caught(_signal: c_int, about: *mut libc::siginfo_t, _context: *mut c_void) {
    // Behind the address of the instruction, as sigaction(2) has it: two words of general fields, then one of its own.
    const NUMBER: usize = 24;
    let number = unsafe { about.byte_add(NUMBER).cast::<c_int>().read() };
    unsafe { &*CAUGHT.load(Relaxed) }.store(number, Relaxed);
    unsafe { libc::_exit(1) };
}

fn catch_system_calls() {
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = caught as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    assert_eq!(unsafe { libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()) }, 0);
    let step = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let mut filter = [
        // The number of the call is the first word of what a filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_exit_group as u32, 1),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRAP, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) }, 0);
}

fn a_block_that_comes_back_costs_no_system_call() {
    for access in [Storage::cpu_data as Access, Storage::overwrite_cpu_data] {
        assert_eq!(first_system_call(|| pairs(access)), None);
    }
}

fn a_block_that_is_made_anew_costs_some_as_this_would_notice() {
    let memory = [libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_brk, libc::SYS_madvise];
    let number = first_system_call(|| pairs(Storage::overwrite_cpu_data));
    assert!(memory.map(|call| Some(call as c_int)).contains(&number), "{number:?}");
}

fn a_block_that_comes_back_costs_no_page_fault() {
    warm();
    pairs(Storage::cpu_data);
    let before = page_faults(libc::RUSAGE_THREAD);
    pairs(Storage::cpu_data);
    // A fresh block of the smallest size has sixteen. The system may take a page away by itself, where memory is scarce.
    let each = (page_faults(libc::RUSAGE_THREAD) - before) as f64 / PAIRS as f64;
    assert!(each < 1.0, "{each} for each block of every size");
}

fn a_block_that_is_made_anew_costs_page_faults() {
    let before = page_faults(libc::RUSAGE_THREAD);
    give_back(7 * MIB, 1);
    assert!(page_faults(libc::RUSAGE_THREAD) - before > 0);
}

fn nothing_is_started_before_something_is_kept() {
    let before = threads();
    drop([filled(100, 1), filled(32 * KIB, 1)]);
    let mut object = filled(5 * MIB, 1);
    assert!(object.cpu_data().is_ok());
    assert_eq!(threads(), before);
}

fn the_thread_that_looks_after_idle_blocks_takes_no_signal_and_ends_when_there_is_none() {
    // No block is given back, and so the thread does not end, before it is looked at.
    clock::stop();
    let before = threads();
    for round in 0..3 {
        give_back(5 * MIB, 1);
        let new: Vec<_> = threads().into_iter().filter(|thread| !before.contains(thread)).collect();
        assert_eq!(new.len(), 1, "round {round}: one thread, whatever is kept");
        // All that can be blocked, but the two that the C library keeps for itself: proc_pid_status(5), SigBlk.
        let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", new[0])).unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
        let blocked = u64::from_str_radix(blocked, 16).unwrap();
        let all = !(1u64 << 31 | 1 << 32 | 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1));
        assert_eq!(blocked & all, all, "{blocked:x}");
        clock::pass(200);
        until(|| idle(PAGEABLE) == 0);
        until(|| threads() == before);
    }
}

fn a_long_age_that_is_made_short_holds_soon() {
    give_back(5 * MIB, 1);
    set_age(0.05);
    until(|| idle(PAGEABLE) == 0);
}

crate::support::harness::tests![
    // Blocks that never grow old have no thread, which could hold a lock that this one waits for.
    alone(&[("SYNCEDMEM_POOL_AGE", "inf")]): a_block_that_comes_back_costs_no_system_call;
    alone(&[]):
    a_block_that_comes_back_costs_no_page_fault,
    nothing_is_started_before_something_is_kept;
    alone(&[("SYNCEDMEM_POOLS", "off"), ("SYNCEDMEM_MODE", "cpu")]): a_block_that_is_made_anew_costs_some_as_this_would_notice;
    alone(&[("SYNCEDMEM_POOLS", "off")]): a_block_that_is_made_anew_costs_page_faults;
    alone(&[("SYNCEDMEM_POOL_AGE", "0.1")]): the_thread_that_looks_after_idle_blocks_takes_no_signal_and_ends_when_there_is_none;
    alone(&[("SYNCEDMEM_POOL_AGE", "3600")]): a_long_age_that_is_made_short_holds_soon
];
