//! Every allocation of every operation on blobs fails in turn, alone and with all that follow: each time there is a status, the
//! blobs are as they were, and the same call succeeds afterwards. Nothing aborts.

use crate::allocator;
use crate::support::blob::*;
use crate::support::*;

type Blobs = [Blob; 2];

/// Shape, capacities and memories of a blob.
type State = (Vec<i64>, [usize; 2], [Answer<*mut syncedmem_t>; 2]);

/// The state that an operation must not change if it fails.
fn state(blobs: &Blobs) -> Vec<State> {
    let both = |blob: &Blob| {
        let arrays = [DATA, DIFF];
        (blob.shape(), arrays.map(|array| blob.capacity(array)), arrays.map(|array| blob.memory(array)))
    };
    blobs.iter().map(both).collect()
}

fn every_allocation(at_least: usize, prepare: fn() -> Blobs, operation: fn(&mut Blobs) -> Answer) {
    allocator::every_allocation(at_least, Ok(()), prepare, state, operation);
}

/// Large enough for a claim and a separate mapping.
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

#[test]
fn create() {
    every_allocation(1, unshaped, |_| Blob::unshaped(SYNCEDMEM_FLOAT64).map(drop));
}

#[test]
fn reshape() {
    // One object for the data, one for the diff.
    every_allocation(2, unshaped, |[own, _]| own.reshape(&[3]));
    every_allocation(2, untouched, |[own, _]| own.reshape(&[LARGE, 3]));
    every_allocation(0, untouched, |[own, _]| own.reshape(&[2, 3]));
}

#[test]
fn set() {
    static LENT: [f32; 2] = [1.0, 2.0];
    fn smaller() -> Blobs {
        let mut blobs = untouched();
        blobs[0].reshape(&[2]).unwrap();
        blobs
    }
    every_allocation(2, smaller, |[own, _]| own.set_cpu(DATA, LENT.as_ptr().cast_mut()));
}

#[test]
fn share() {
    every_allocation(0, untouched, |[own, other]| own.share(DIFF, other));
}

#[test]
fn copy_from() {
    every_allocation(3, written, |[own, other]| own.copy_from(DATA, other, true));
    every_allocation(0, written, |[own, other]| other.copy_from(DATA, own, true));
    every_allocation(2, || [Blob::new(&[2]), Blob::new(&[3])], |[own, other]| own.copy_from(DIFF, other, true));
}

#[test]
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
