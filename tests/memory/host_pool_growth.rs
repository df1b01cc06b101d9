//! How much memory a program needs on the library. How much more than by itself, `scripts/bench` measures.

use std::sync::atomic::Ordering::Relaxed;

use crate::mappings::EXITING;
use crate::support::pools::*;
use crate::support::*;

/// How many bytes malloc says that the block of an object of 64 KiB has.
fn room_of_64_kib() -> usize {
    let mut object = Object::new(64 * KIB);
    unsafe { libc::malloc_usable_size(object.overwrite_cpu_data().unwrap().cast()) }
}

/// A chunk of glibc's that ends on a multiple of 64, behind its header of 8 bytes.
const WHOLE: usize = 64 * KIB + 64 - 8;

#[test]
fn a_block_of_mallocs_ends_where_the_next_may_begin_aligned() {
    alone(&[], || assert!(room_of_64_kib() >= WHOLE));
}

#[test]
fn where_every_block_is_mallocs_it_ends_with_its_object_so_that_valgrind_sees_what_is_written_behind() {
    alone(&[("SYNCEDMEM_HOST_BLOCKS", "malloc")], || assert!(room_of_64_kib() < WHOLE));
}

#[test(alone)]
fn a_block_that_no_idle_one_serves_takes_the_place_of_others_where_the_heap_would_outgrow_its_peak() {
    drop([(); 8].map(|()| filled(500 * KIB, 1)));
    let before = idle(PAGEABLE);
    assert!(before >= 8 * 500 * KIB);
    let given = || (before - idle(PAGEABLE)) / (500 * KIB);
    let mut others = Vec::from([(); 3].map(|()| filled(300 * KIB, 1)));
    assert_eq!(given(), 0, "4900 KiB are less than 4000 and 1 MiB");
    others.push(filled(300 * KIB, 1));
    assert_eq!(given(), 1, "5200 KiB are more, and one block is enough");
    others.push(filled(1500 * KIB, 1));
    assert_eq!(given(), 4, "and three are for this");
}

#[test(alone, ("MALLOC_ARENA_MAX", "1"))]
fn blobs_whose_shapes_change_keep_their_pages() {
    // A net of 24 blobs, of up to 700 KB, whose input has another size each time.
    let mut random = Random::new(1, 0);
    let mut pass = || {
        let scale = 600 + random.below(800);
        (0..24).map(|blob| filled(scale * (40 + blob * 20), 1)).collect::<Vec<_>>()
    };
    (0..100).for_each(|_| drop(pass()));
    let before = page_faults(libc::RUSAGE_SELF);
    (0..200).for_each(|_| drop(pass()));
    let each = (page_faults(libc::RUSAGE_SELF) - before) / 200;
    eprintln!("faults: {each} for each pass");
    // All of its pages are 1600, and every blob changes its size.
    assert!(each < 60, "{each} faults for each pass");
}

#[test]
fn idle_mappings_are_given_back_before_the_process_ends() {
    let errors = alone(&[], || {
        drop([filled(30 * MIB, 1), filled(20 * MIB, 1)]);
        assert_eq!(idle(PAGEABLE), 50 * MIB);
        EXITING.store(true, Relaxed);
    });
    if !inside() {
        for bytes in [30 * MIB, 20 * MIB] {
            assert!(errors.contains(&format!("unmapped {bytes} bytes at exit")), "{bytes}: {errors}");
        }
    }
}
