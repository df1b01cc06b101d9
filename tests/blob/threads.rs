//! Blobs and the process around them: threads, forks, and the account.

use crate::support::blob::*;
use crate::support::figures::{self, counts, figures};
use crate::support::*;

/// A blob that another thread reads at the same time.
struct Lent(std::mem::ManuallyDrop<Blob>);

// The tests check that reads need no lock.
unsafe impl Sync for Lent {}

#[test]
fn threads_may_read_one_blob_at_once() {
    let mut blob = Blob::new(&[4, 25]);
    blob.write(DATA, &[1f32; 100]);
    let lent = Lent(std::mem::ManuallyDrop::new(Blob(blob.0)));
    at_once(4, |_| {
        let (lent, mut own) = (&{ &lent }.0, Blob::new(&[100]));
        for _ in 0..200 {
            assert_eq!((lent.asum(DATA), lent.sumsq(DATA), lent.asum(DIFF)), (Ok(100.0), Ok(100.0), Ok(0.0)));
            assert_eq!((lent.text().as_str(), lent.capacity(DATA)), ("4 25 (100)", 400));
            // The first of them allocates the diff.
            own.copy_from(DATA, lent, true).unwrap();
            own.share(DIFF, lent).unwrap();
            assert_eq!((own.asum(DATA), own.memory(DIFF)), (Ok(100.0), lent.memory(DIFF)));
            assert_eq!(lent.read::<f32>(DIFF), [0.0; 100]);
        }
    });
    assert_eq!(blob.read::<f32>(DATA), [1.0; 100]);
}

#[test(alone, figures::ON)]
fn the_last_of_many_blobs_on_many_threads_frees_their_memory() {
    for _ in 0..200 {
        let mut first = Blob::new(&[30_000]);
        first.write(DATA, &vec![1f32; 30_000]);
        let sharing: Vec<_> = (0..4)
            .map(|_| {
                let mut blob = Blob::new(&[30_000]);
                blob.share(DATA, &first).unwrap();
                std::mem::ManuallyDrop::new(blob).0.expose_provenance()
            })
            .collect();
        drop(first);
        std::thread::scope(|scope| {
            for address in sharing {
                scope.spawn(move || {
                    let blob = Blob(std::ptr::with_exposed_provenance_mut(address));
                    assert_eq!(blob.asum(DATA), Ok(30_000.0));
                });
            }
        });
    }
    let stats = figures();
    assert_eq!((stats.pageable.live, stats.objects_made), (0, stats.objects_ended));
}

#[test(alone, figures::ON)]
fn memory_is_accounted_to_the_byte() {
    let held = || figures().pageable.live;
    let mut blob = Blob::new(&[100, 100]);
    assert_eq!((held(), figures().objects_made), (0, 2), "lazy");
    blob.write(DATA, &vec![1f32; 10_000]);
    assert_eq!(held(), 40_000);
    blob.reshape(&[50]).unwrap();
    assert_eq!(held(), 40_000, "memory that stays");
    let mut other = Blob::new(&[50]);
    other.share(DATA, &blob).unwrap();
    blob.reshape(&[20_000]).unwrap();
    assert_eq!((held(), figures().objects_ended), (40_000, 2), "the diff's went, and the data's is shared");
    drop(other);
    assert_eq!(held(), 0);
    blob.write(DIFF, &vec![1f32; 20_000]);
    blob.write(DATA, &vec![2f32; 20_000]);
    blob.update().unwrap();
    assert_eq!((blob.asum(DATA), held()), (Ok(20_000.0), 160_000));
    drop(blob);
    let stats = counts();
    assert_eq!((stats.pageable.live, stats.objects_made, stats.objects_ended), (0, 6, 6));
    assert_eq!(stats.pageable.allocations.bytes + stats.pageable.pool_hits.bytes, stats.pageable.frees.bytes);
}

#[test]
fn a_forked_child_has_its_own_contents_of_every_blob() {
    let (mut blob, mut sharing) = (Blob::new(&[2]), Blob::new(&[2]));
    blob.write(DATA, &[1f32, 2.0]);
    sharing.share(DATA, &blob).unwrap();
    in_a_child(|| {
        blob.scale(DATA, 3.0).unwrap();
        assert_eq!(sharing.read::<f32>(DATA), [3.0, 6.0]);
        sharing.reshape(&[5, 5]).unwrap();
        assert_eq!(blob.asum(DATA), Ok(9.0));
    });
    assert_eq!(sharing.read::<f32>(DATA), [1.0, 2.0]);
}
