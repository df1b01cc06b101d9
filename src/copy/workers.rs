//! Memory copied by several threads: between the host's memory and a ring of slots that is gone round.
//!
//! The threads that help are started by the first copies, and parked between copies, for ever: a process's exit ends them
//! where they sleep. One copy at a time has them, and a ring: see [`claim`].
#![expect(unsafe_code, reason = "memory is copied, and threads are started")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use super::staging_buffers;
use crate::platform::sync::futex;
use crate::platform::thread;

/// What one thread copies at a time: small enough for all to end at about the same time.
pub const PIECE: usize = 256 << 10;

// A piece lies in one slot.
const _: () = assert!(staging_buffers::SLOT % PIECE == 0);

/// What is copied: byte `n` of the host's memory from or to byte `n` of the ring, which begins anew after its end.
pub struct Job {
    pub host: *mut u8,
    pub buffers: *mut u8,
    pub bytes: usize,
    pub to_buffers: bool,
}

/// The threads that are at it. Pieces are numbered from 0, and go from waiting to open to taken to done.
pub struct Workers {
    job: Job,
    /// How many were opened; `STOPPED` once there will be no more.
    open: AtomicU32,
    taken: AtomicU32,
    done: AtomicU32,
}

const STOPPED: u32 = u32::MAX;

// SAFETY: the job's memory may be used from any thread: see `Claim::lead`.
unsafe impl Sync for Workers {}

/// How many threads help at most.
const MOST: u32 = 7;

/// Whether a copy has the threads.
static CLAIMED: AtomicBool = AtomicBool::new(false);
/// How many threads there are. The claim's.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// What they help with; NULL between copies.
static AT: AtomicPtr<Workers> = AtomicPtr::new(null_mut());
/// How many of them may be looking at that.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Another number for each copy: what they sleep on.
static TURN: AtomicU32 = AtomicU32::new(0);

/// The right to copy with the threads that help.
pub struct Claim(());

/// The claim, unless another copy has it: that one's end is not waited for.
pub fn claim() -> Option<Claim> {
    // Acquire: what the last one left is seen.
    (!CLAIMED.swap(true, Ordering::Acquire)).then(|| Claim(()))
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.store(false, Ordering::Release);
    }
}

/// In a forked child, which has none of the threads.
pub fn begin_child() {
    AT.store(null_mut(), Ordering::Relaxed);
    INSIDE.store(0, Ordering::Relaxed);
    STARTED.store(0, Ordering::Relaxed);
    CLAIMED.store(false, Ordering::Relaxed);
}

extern "C" fn help_for_ever(_: *mut c_void) -> *mut c_void {
    // SAFETY: the name is NUL-terminated, and no longer than 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"syncedmem copy".as_ptr()) };
    loop {
        // Acquire: before `AT`. One that comes later wakes this thread again.
        let turn = TURN.load(Ordering::Acquire);
        // SeqCst, here and where the leader leaves: either this thread sees that there is nothing, or the leader sees it.
        INSIDE.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the leader keeps the crew until `INSIDE` is 0.
        if let Some(workers) = unsafe { AT.load(Ordering::SeqCst).as_ref() } {
            workers.help();
        }
        if INSIDE.fetch_sub(1, Ordering::SeqCst) == 1 {
            futex::wake_all(&INSIDE);
        }
        futex::wait(&TURN, turn);
    }
}

/// Ends a copy, however its leader ends: no thread looks at the crew any more after this.
struct EndOfCopy<'c>(&'c Workers);

impl Drop for EndOfCopy<'_> {
    fn drop(&mut self) {
        AT.store(null_mut(), Ordering::SeqCst);
        self.0.open.store(STOPPED, Ordering::Relaxed);
        futex::wake_all(&self.0.open);
        let mut spinning = Spinning::new();
        loop {
            match INSIDE.load(Ordering::SeqCst) {
                0 => return,
                inside => spinning.wait(&INSIDE, inside),
            }
        }
    }
}

impl Claim {
    /// Does `work` with a crew for `job` at hand, or returns `None` if that is too large for one.
    ///
    /// # Safety
    /// The host's memory is valid for `job.bytes`, the ring for `staging_buffers::BYTES`. No other thread uses the parts that
    /// `Workers::copy` copies while it runs.
    pub unsafe fn lead<R>(&self, job: Job, work: impl FnOnce(&Workers) -> R) -> Option<R> {
        let pieces = u32::try_from(job.bytes.div_ceil(PIECE)).ok().filter(|&pieces| pieces < STOPPED)?;
        let others = processors().saturating_sub(1).min(MOST).min(pieces - 1);
        let workers = Workers { job, open: AtomicU32::new(0), taken: AtomicU32::new(0), done: AtomicU32::new(0) };
        let _end = EndOfCopy(&workers);
        if others > 0 {
            // Where the system has no more threads to give, there are fewer, or none.
            // SAFETY: they take no argument.
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

/// On how many processors this thread may run.
fn processors() -> u32 {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: `set` is writable for that size.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) };
    if failed != 0 {
        // There are more than fit.
        return u32::MAX;
    }
    // SAFETY: zeroed above, and written since.
    let set = unsafe { set.assume_init() };
    // SAFETY: it only counts.
    unsafe { libc::CPU_COUNT(&set) }.unsigned_abs()
}

impl Workers {
    /// Copies everything up to byte `end` that is not copied yet. Parts end where slots end, or the whole does.
    pub fn copy(&self, end: usize) {
        let open = end.div_ceil(PIECE) as u32;
        // Release: what this thread did to the memory before, or saw done, the helpers see.
        self.open.store(open, Ordering::Release);
        futex::wake_all(&self.open);
        while self.take_one(open) {}
        let mut spinning = Spinning::new();
        loop {
            // Acquire: with the number comes what was copied.
            let done = self.done.load(Ordering::Acquire);
            if done == open {
                return;
            }
            spinning.wait(&self.done, done);
        }
    }

    fn help(&self) {
        let mut spinning = Spinning::new();
        loop {
            // Acquire: with the number comes the leave to copy.
            let open = self.open.load(Ordering::Acquire);
            if open == STOPPED {
                return;
            }
            if self.take_one(open) {
                spinning = Spinning::new();
            } else {
                spinning.wait(&self.open, open);
            }
        }
    }

    /// Copies a piece below `open`, if one is left.
    fn take_one(&self, open: u32) -> bool {
        let next = |taken: u32| (taken < open).then_some(taken + 1);
        // Relaxed: this only shares out what `open` gave leave for.
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
        // SAFETY: within the host's memory, as `Claim::lead`'s caller says.
        let host = unsafe { self.job.host.add(at) };
        // SAFETY: within the ring.
        let slot = unsafe { self.job.buffers.add(at % staging_buffers::BYTES) };
        let (to, from) = if self.job.to_buffers { (slot, host) } else { (host, slot) };
        // SAFETY: as `Claim::lead`'s caller says; the ring is no part of anybody's memory.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    }
}

/// How long a thread looks before it sleeps: what it waits for takes some microseconds as a rule.
struct Spinning(u32);

impl Spinning {
    fn new() -> Self {
        Spinning(1000)
    }

    /// Spins a little while `word` is `seen`, then sleeps until another thread wakes it.
    fn wait(&mut self, word: &AtomicU32, seen: u32) {
        if self.0 > 0 {
            self.0 -= 1;
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

    /// A host's memory of `bytes` with contents of its own, and a ring.
    fn memory(bytes: usize) -> (Vec<u8>, Vec<u8>) {
        ((0..bytes).map(|at| (at * 31 / 7) as u8).collect(), vec![0; staging_buffers::BYTES])
    }

    /// Has a crew copy to the ring, as `work` says.
    fn led<R>(host: &mut [u8], buffers: &mut [u8], work: impl FnOnce(&Workers) -> R) -> Option<R> {
        // The tests share it.
        let claim = std::iter::repeat_with(claim).inspect(|_| nap()).find_map(|claim| claim)?;
        let job = Job { bytes: host.len(), host: host.as_mut_ptr(), buffers: buffers.as_mut_ptr(), to_buffers: true };
        // SAFETY: both outlive the crew, and the ring is as large as one.
        unsafe { claim.lead(job, work) }
    }

    #[test]
    fn what_was_asked_for_is_copied_when_the_leader_goes_on_and_nothing_else() {
        let (mut host, mut buffers) = memory(BYTES);
        let expected = host.clone();
        let looked = led(&mut host, &mut buffers, |workers| {
            for end in [staging_buffers::SLOT, 2 * staging_buffers::SLOT, staging_buffers::BYTES] {
                workers.copy(end);
                // SAFETY: the ring, which is not written until the next call.
                let slots = unsafe { std::slice::from_raw_parts(workers.job.buffers, staging_buffers::BYTES) };
                assert!(slots[..end] == expected[..end] && slots[end..].iter().all(|&byte| byte == 0), "{end}");
            }
            // It begins anew.
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
        if processors() < 2 {
            println!("skipped: there is one processor");
            return;
        }
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
    fn a_crew_that_is_asked_for_nothing_goes_home() {
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
            let ends_well = copied() && (processors() == 1 || threads() == 2);
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
