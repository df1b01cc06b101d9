//! Every allocation of every operation on blobs fails in turn, alone and with all that follow: each time there is a status, the
//! blobs are as they were, and the same call succeeds afterwards. Nothing aborts.

use std::sync::atomic::Ordering::Relaxed;

use crate::allocator::*;
use crate::support::blob::*;
use crate::support::*;

type Blobs = [Blob; 2];

/// Shape, capacities and memories of a blob.
type State = (Vec<i64>, [usize; 2], [Answer<*mut syncedmem_t>; 2]);

/// What an operation must not change if it fails.
fn state(blobs: &Blobs) -> Vec<State> {
    let both = |blob: &Blob| {
        let arrays = [DATA, DIFF];
        (blob.shape(), arrays.map(|array| blob.capacity(array)), arrays.map(|array| blob.memory(array)))
    };
    blobs.iter().map(both).collect()
}

/// In a forked child, where the library is used for the first time: does `operation` with its `nth` allocation failing.
/// Returns the number of the sentence below.
fn in_child(nth: isize, prepare: fn() -> Blobs, operation: fn(&mut Blobs) -> Answer<()>) -> i32 {
    let mut blobs = prepare();
    let before = state(&blobs);
    THREAD.store(this_thread(), Relaxed);
    LEFT.store(nth, Relaxed);
    let done = operation(&mut blobs);
    LEFT.store(-1, Relaxed);
    let code = match done {
        Ok(()) => i32::from(!FIRED.load(Relaxed)),
        Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY) if state(&blobs) != before => 3,
        Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY) if operation(&mut blobs).is_err() => 2,
        Err(SYNCEDMEM_ERROR_OUT_OF_MEMORY) => 0,
        Err(_) => 4,
    };
    drop(blobs);
    code
}

/// Fails every allocation of `operation` in turn; it must make `at_least` so many.
fn every_allocation(at_least: isize, prepare: fn() -> Blobs, operation: fn(&mut Blobs) -> Answer<()>) {
    // One test at a time: the switch is the process's, and a forked child takes it along.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN.lock();
    for for_good in [false, true] {
        FOR_GOOD.store(for_good, Relaxed);
        for nth in 0.. {
            let child = unsafe { libc::fork() };
            if child == 0 {
                let code = std::panic::catch_unwind(|| in_child(nth, prepare, operation)).unwrap_or(5);
                unsafe { libc::_exit(code) };
            }
            let mut status = 0;
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFEXITED(status), "allocation {nth}: signal {}", libc::WTERMSIG(status));
            match libc::WEXITSTATUS(status) {
                0 => assert!(nth < 100, "an operation with this many allocations?"),
                1 => {
                    assert!(nth >= at_least, "only {nth} allocations were seen, so not all were failed");
                    break;
                }
                2 => panic!("allocation {nth} failed, and so did the same call afterwards"),
                3 => panic!("allocation {nth} failed, and a blob changed"),
                4 => panic!("allocation {nth} failed, and the status was another than out of memory"),
                _ => panic!("allocation {nth} failed, and then an assertion of the test's own"),
            }
        }
    }
}

/// Large enough for a claim and a mapping of its own.
const LARGE: i64 = 1 << 20;

fn unshaped() -> Blobs {
    [(); 2].map(|()| Blob::unshaped(SYNCEDMEM_FLOAT32).unwrap())
}

fn untouched() -> Blobs {
    [LARGE, LARGE].map(|count| Blob::new(&[count]))
}

/// The second one's data and diff hold values.
fn written() -> Blobs {
    let [own, mut other] = [1, LARGE].map(|count| Blob::new(&[count]));
    [DATA, DIFF].into_iter().for_each(|array| other.write(array, &vec![1f32; LARGE as usize]));
    [own, other]
}

fn create() {
    every_allocation(1, unshaped, |_| Blob::unshaped(SYNCEDMEM_FLOAT64).map(drop));
}

fn reshape() {
    // One object for the data, one for the diff.
    every_allocation(2, unshaped, |[own, _]| own.reshape(&[3]));
    every_allocation(2, untouched, |[own, _]| own.reshape(&[LARGE, 3]));
    every_allocation(0, untouched, |[own, _]| own.reshape(&[2, 3]));
}

fn set() {
    static LENT: [f32; 2] = [1.0, 2.0];
    fn smaller() -> Blobs {
        let mut blobs = untouched();
        blobs[0].reshape(&[2]).unwrap();
        blobs
    }
    every_allocation(2, smaller, |[own, _]| own.set_cpu(DATA, LENT.as_ptr().cast_mut()));
}

fn share() {
    every_allocation(0, untouched, |[own, other]| own.share(DIFF, other));
}

fn copy_from() {
    every_allocation(3, written, |[own, other]| own.copy_from(DATA, other, true));
    every_allocation(0, written, |[own, other]| other.copy_from(DATA, own, true));
    every_allocation(2, || [Blob::new(&[2]), Blob::new(&[3])], |[own, other]| own.copy_from(DIFF, other, true));
}

fn math() {
    fn with_untouched_diff() -> Blobs {
        let mut blobs = untouched();
        blobs[0].write(DATA, &vec![1f32; LARGE as usize]);
        blobs
    }
    every_allocation(2, with_untouched_diff, |[own, _]| own.update());
    every_allocation(0, written, |[_, other]| other.update());
    every_allocation(0, written, |[_, other]| other.asum(DATA).map(drop));
    every_allocation(0, written, |[_, other]| other.sumsq(DIFF).map(drop));
    every_allocation(0, written, |[_, other]| other.scale(DATA, 2.0));
}

crate::support::harness::tests![create, reshape, set, share, copy_from, math];
