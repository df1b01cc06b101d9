//! Threads that copy between the host's memory and the staging buffers. The first copies start them, and they sleep
//! between copies. One copy at a time uses them and the buffers: see [`claim`].
#![expect(unsafe_code, reason = "memory is copied, and threads are started")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use super::staging_buffers;
use crate::platform::sync::futex;
use crate::platform::thread;

/// Bytes that a thread copies at a time: few, so that all end at about the same time.
pub const PIECE: usize = 256 << 10;

// A piece lies in one slot.
const _: () = assert!(staging_buffers::SLOT % PIECE == 0);

/// A copy between bytes `n` of the host's memory and `n % BYTES` of the buffers.
pub struct Job {
    pub host: *mut u8,
    pub buffers: *mut u8,
    pub bytes: usize,
    pub to_buffers: bool,
}

/// A job and its progress. A piece is first waiting, then open, taken, done.
pub struct Workers {
    job: Job,
    /// Number of open pieces; `STOPPED` at the end.
    open: AtomicU32,
    taken: AtomicU32,
    done: AtomicU32,
}

const STOPPED: u32 = u32::MAX;

// SAFETY: any thread may use the job's memory: see `Claim::lead`.
unsafe impl Sync for Workers {}

/// The most threads that help.
const MOST: u32 = 7;

static CLAIMED: AtomicBool = AtomicBool::new(false);
/// Number of threads, for the claim's holder.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// NULL between copies.
static AT: AtomicPtr<Workers> = AtomicPtr::new(null_mut());
/// Number of threads that may have read `AT`.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Changes with each copy; the threads sleep on it.
static TURN: AtomicU32 = AtomicU32::new(0);

pub struct Claim(());

pub fn claim() -> Option<Claim> {
    // Acquire: sees the effects of the last holder.
    (!CLAIMED.swap(true, Ordering::Acquire)).then(|| Claim(()))
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.store(false, Ordering::Release);
    }
}

pub fn begin_child() {
    AT.store(null_mut(), Ordering::Relaxed);
    INSIDE.store(0, Ordering::Relaxed);
    STARTED.store(0, Ordering::Relaxed);
    CLAIMED.store(false, Ordering::Relaxed);
}

extern "C" fn help_for_ever(_: *mut c_void) -> *mut c_void {
    // SAFETY: the name is NUL-terminated.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"syncedmem copy".as_ptr()) };
    loop {
        // Acquire: before `AT`. A later change wakes this thread again.
        let turn = TURN.load(Ordering::Acquire);
        // SeqCst, here and in `EndOfCopy`: either this thread reads NULL, or the leader sees this thread inside.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the leader keeps the job until `INSIDE` is 0.
        if let Some(workers) = unsafe { AT.load(Ordering::SeqCst).as_ref() } {
            workers.help();
        }
        if INSIDE.fetch_sub(1, Ordering::SeqCst) == 1 {
            futex::wake_all(&INSIDE);
        }
        futex::wait(&TURN, turn);
    }
}

/// Ends a copy, also on a panic: afterwards no thread refers to the job.
struct EndOfCopy<'c>(&'c Workers);

impl Drop for EndOfCopy<'_> {
    fn drop(&mut self) {
        AT.store(null_mut(), Ordering::SeqCst);
        self.0.open.store(STOPPED, Ordering::Relaxed);
        futex::wake_all(&self.0.open);
        wait_until(&INSIDE, Ordering::SeqCst, |inside| inside == 0);
    }
}

impl Claim {
    /// Runs `work`, which copies parts of `job` with the threads; `None` if it has too many pieces.
    ///
    /// # Safety
    /// The host's memory is valid for `job.bytes`, the buffers for `BYTES`. No other thread uses parts that are being copied.
    pub unsafe fn lead<R>(&self, job: Job, work: impl FnOnce(&Workers) -> R) -> Option<R> {
        let pieces = u32::try_from(job.bytes.div_ceil(PIECE)).ok().filter(|&pieces| pieces < STOPPED)?;
        let others = processors().saturating_sub(1).min(MOST).min(pieces - 1);
        let workers = Workers { job, open: AtomicU32::new(0), taken: AtomicU32::new(0), done: AtomicU32::new(0) };
        let _end = EndOfCopy(&workers);
        if others > 0 {
            // SAFETY: the function ignores its argument.
            while STARTED.load(Ordering::Relaxed) < others && unsafe { thread::start(help_for_ever, null_mut()) } {
                STARTED.fetch_add(1, Ordering::Relaxed);
            }
            AT.store((&raw const workers).cast_mut(), Ordering::SeqCst);
            // Release: see `help_for_ever`.
            TURN.fetch_add(1, Ordering::Release);
            futex::wake_all(&TURN);
        }
        Some(work(&workers))
    }
}

/// How many this thread may run on.
fn processors() -> u32 {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: `set` has that size.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
    if failed != 0 {
        // More than the set has bits.
        return u32::MAX;
    }
    // SAFETY: zeroed above.
    let set = unsafe { set.assume_init() };
    // SAFETY: it reads the set.
    let count = unsafe { libc::CPU_COUNT(&set) }.unsigned_abs();
    // The unit tests need a helper on one processor as well.
    if cfg!(test) { count.max(2) } else { count }
}

impl Workers {
    /// Copies what is not copied before `end`, the end of a slot or of the job.
    pub fn copy(&self, end: usize) {
        let open = end.div_ceil(PIECE) as u32;
        // Release: the helpers see the sources.
        self.open.store(open, Ordering::Release);
        futex::wake_all(&self.open);
        while self.take_one(open) {}
        // Acquire: sees the copied bytes.
        wait_until(&self.done, Ordering::Acquire, |done| done == open);
    }

    fn help(&self) {
        // Acquire: see `copy`.
        let next = || wait_until(&self.open, Ordering::Acquire, |open| open == STOPPED || self.take_one(open));
        while next() != STOPPED {}
    }

    /// Copies a piece below `open`, if one is left.
    fn take_one(&self, open: u32) -> bool {
        let next = |taken: u32| (taken < open).then_some(taken + 1);
        // Relaxed: `open` was read with Acquire.
        let Ok(piece) = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) else { return false };
        self.copy_piece(piece as usize);
        // Release: see `copy`.
        if self.done.fetch_add(1, Ordering::Release) + 1 == open {
            futex::wake_all(&self.done);
        }
        true
    }

    fn copy_piece(&self, piece: usize) {
        let at = piece * PIECE;
        let bytes = PIECE.min(self.job.bytes - at);
        let (host, slot) = (self.job.host.wrapping_add(at), self.job.buffers.wrapping_add(at % staging_buffers::BYTES));
        let (to, from) = if self.job.to_buffers { (slot, host) } else { (host, slot) };
        // SAFETY: the caller of `Claim::lead` guarantees both, which do not overlap.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    }
}

/// Waits for a value of `word`, and returns it. Most waits take some microseconds: spins before it sleeps.
fn wait_until(word: &AtomicU32, order: Ordering, is_it: impl Fn(u32) -> bool) -> u32 {
    let mut spins = 1000;
    loop {
        let seen = word.load(order);
        if is_it(seen) {
            return seen;
        }
        if spins > 0 {
            spins -= 1;
            std::hint::spin_loop();
        } else {
            futex::wait(word, seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::sync::nap;

    const BYTES: usize = staging_buffers::BYTES + 3 * PIECE + 17;

    fn memory(bytes: usize) -> (Vec<u8>, Vec<u8>) {
        ((0..bytes).map(|at| (at * 31 / 7) as u8).collect(), vec![0; staging_buffers::BYTES])
    }

    /// Runs `work` for a copy to the buffers.
    fn led<R>(host: &mut [u8], buffers: &mut [u8], work: impl FnOnce(&Workers) -> R) -> Option<R> {
        // Tests run at the same time, and there is one claim.
        let claim = std::iter::repeat_with(claim).inspect(|_| nap()).find_map(|claim| claim)?;
        let job = Job { bytes: host.len(), host: host.as_mut_ptr(), buffers: buffers.as_mut_ptr(), to_buffers: true };
        // SAFETY: both outlive the job, and the buffers have their size.
        unsafe { claim.lead(job, work) }
    }

    #[test]
    fn exactly_the_bytes_asked_for_are_copied_when_the_call_returns() {
        let (mut host, mut buffers) = memory(BYTES);
        let expected = host.clone();
        let looked = led(&mut host, &mut buffers, |workers| {
            for end in [staging_buffers::SLOT, 2 * staging_buffers::SLOT, staging_buffers::BYTES] {
                workers.copy(end);
                // SAFETY: the buffers, which no thread writes until the next call.
                let slots = unsafe { std::slice::from_raw_parts(workers.job.buffers, staging_buffers::BYTES) };
                assert!(slots[..end] == expected[..end] && slots[end..].iter().all(|&byte| byte == 0), "{end}");
            }
            // From the first slot again.
            workers.copy(BYTES);
        });
        assert!(looked.is_some());
        assert!(buffers[..BYTES - staging_buffers::BYTES] == expected[staging_buffers::BYTES..]);
        assert!(
            buffers[BYTES - staging_buffers::BYTES..]
                == expected[BYTES - staging_buffers::BYTES..staging_buffers::BYTES]
        );
    }

    #[test]
    fn helpers_copy_while_the_leader_does_something_else() {
        let (mut host, mut buffers) = memory(staging_buffers::SLOT);
        let done = led(&mut host, &mut buffers, |workers| {
            let pieces = (staging_buffers::SLOT / PIECE) as u32;
            workers.open.store(pieces, Ordering::Release);
            futex::wake_all(&workers.open);
            while workers.done.load(Ordering::Acquire) < pieces {
                nap();
            }
        });
        assert!(done.is_some() && host[..] == buffers[..staging_buffers::SLOT]);
    }

    #[test]
    fn a_job_of_which_nothing_is_asked_ends() {
        let (mut host, mut buffers) = memory(2 * PIECE);
        assert_eq!(led(&mut host, &mut buffers, |_| 7), Some(7));
        assert!(buffers.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_forked_child_copies_with_threads_of_its_own() {
        let (mut host, mut buffers) = memory(2 * PIECE);
        let expected = host.clone();
        let mut copied = || {
            buffers.fill(0);
            led(&mut host, &mut buffers, |workers| workers.copy(2 * PIECE)).is_some()
                && buffers[..2 * PIECE] == expected
        };
        assert!(copied());
        // SAFETY: the child only copies, and ends without the harness.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
            let ends_well = copied() && threads() == 2;
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!ends_well)) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        let waited = unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!((waited, status), (child, 0));
        assert!(copied());
    }
}
