//! How much memory a program needs on the library, beside what it needs by itself.

use std::sync::atomic::Ordering::Relaxed;

use crate::mappings::EXITING;
use crate::support::pools::*;
use crate::support::*;

/// What the original's object is: malloc, zeros at the first touch, free.
struct Plain(*mut u8);

impl Plain {
    fn filled(bytes: usize) -> Plain {
        let data = unsafe { libc::malloc(bytes) }.cast::<u8>();
        assert!(!data.is_null());
        unsafe { data.write_bytes(0, bytes) };
        unsafe { data.write_bytes(1, bytes) };
        Plain(data)
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        unsafe { libc::free(self.0.cast()) };
    }
}

/// Bytes by which resident memory grows at most while 5000 objects are made, each in the place of another of a hundred. Most
/// are small: of 4 KiB to 1 MiB, of each power of two as many.
fn growth<T>(seed: u64, make: impl Fn(usize) -> T) -> usize {
    let mut random = Random::new(seed, 0);
    let mut objects: Vec<Option<T>> = (0..100).map(|_| None).collect();
    let before = resident();
    let mut most = before;
    for step in 0..5000 {
        let place = random.below(objects.len());
        objects[place] = None;
        let power = (4 * KIB) << (random.below(8));
        objects[place] = Some(make(power + random.below(power)));
        if step % 10 == 0 {
            most = most.max(resident());
        }
    }
    most - before
}

fn objects_of_random_sizes_need_a_third_more_memory_than_plain_mallocs_at_most() {
    const SIDE: &str = "SYNCEDMEM_TEST_SIDE";
    let run = |side: &str, seed: u64| {
        alone(&[(SIDE, side), ("SYNCEDMEM_MODE", "cpu"), ("SEED", &seed.to_string())], || {
            let seed = std::env::var("SEED").unwrap().parse().unwrap();
            let most = match std::env::var(SIDE).unwrap().as_str() {
                "plain" => growth(seed, Plain::filled),
                _ => growth(seed, |bytes| filled(bytes, 1)),
            };
            eprintln!("growth: {most}");
        })
    };
    if inside() {
        run("of this process", 0);
        return;
    }
    let growth = |errors: String| -> usize {
        errors.lines().find_map(|line| line.strip_prefix("growth: ")).unwrap().parse().unwrap()
    };
    // One sequence of sizes alone needs from a seventh to two fifths more.
    let sum = |side: &str| (1..=5).map(|seed| growth(run(side, seed))).sum::<usize>();
    let (plain, ours) = (sum("plain"), sum("ours"));
    println!("{plain} bytes by itself, {ours} on the library");
    assert!(plain > 100 * MIB, "{plain}: what is measured is memory");
    assert!(ours <= plain * 27 / 20, "{ours} bytes, where malloc alone needs {plain}");
}

/// How many bytes malloc says that the block of an object of 64 KiB has.
fn room_of_64_kib() -> usize {
    let mut object = Object::new(64 * KIB);
    unsafe { libc::malloc_usable_size(object.overwrite_cpu_data().unwrap().cast()) }
}

/// A chunk of glibc's that ends on a multiple of 64, behind its header of 8 bytes.
const WHOLE: usize = 64 * KIB + 64 - 8;

fn a_block_of_mallocs_ends_where_the_next_may_begin_aligned() {
    alone(&[], || assert!(room_of_64_kib() >= WHOLE));
}

fn where_every_block_is_mallocs_it_ends_with_its_object_so_that_valgrind_sees_what_is_written_behind() {
    alone(&[("SYNCEDMEM_HOST_BLOCKS", "malloc")], || assert!(room_of_64_kib() < WHOLE));
}

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

crate::support::harness::tests![
    objects_of_random_sizes_need_a_third_more_memory_than_plain_mallocs_at_most,
    a_block_of_mallocs_ends_where_the_next_may_begin_aligned,
    where_every_block_is_mallocs_it_ends_with_its_object_so_that_valgrind_sees_what_is_written_behind,
    idle_mappings_are_given_back_before_the_process_ends;
    alone(&[]): a_block_that_no_idle_one_serves_takes_the_place_of_others_where_the_heap_would_outgrow_its_peak;
    alone(&[("MALLOC_ARENA_MAX", "1")]): blobs_whose_shapes_change_keep_their_pages
];
