//! Idle pageable blocks at the edges: many of them, limits that they share with small ones, and settings that change at once.

use std::sync::Barrier;
use std::time::Duration;

use crate::support::pools::*;
use crate::support::*;

/// The time that this thread has had a processor.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test(alone, ("SYNCEDMEM_MODE", "cpu"), ("SYNCEDMEM_POOL_BUDGET", "100G"), ("SYNCEDMEM_POOL_AGE", "1000"))]
fn to_give_back_ten_times_as_many_blocks_takes_no_more_than_about_ten_times_as_long() {
    let once = |count: usize| {
        // Nothing is written: what is measured is the library's own work.
        let mut objects: Vec<_> = (0..count).map(|_| Object::new(40_000)).collect();
        for object in &mut objects {
            object.overwrite_cpu_data().unwrap();
        }
        drop(objects);
        assert!(idle(PAGEABLE) >= count * 40_000);
        let before = processor_time();
        trim(PAGEABLE);
        processor_time() - before
    };
    // The least of several: what else the machine does only adds to it.
    let time = |count: usize| (0..3).map(|_| once(count)).min().unwrap();
    let (few, many) = (time(2_000), time(20_000));
    println!("{few:?} {many:?}");
    assert!(many < 40 * few.max(Duration::from_millis(1)), "{few:?} for 2000, {many:?} for 20000");
}

#[test(alone, ("SYNCEDMEM_MODE", "cpu"), ("SYNCEDMEM_HOST_LIMIT", "64M"))]
fn under_a_limit_idle_memory_makes_room_for_small_blocks_too() {
    for bytes in [32 * KIB, 4 * KIB, 1000] {
        drop(filled(60 * MIB, 1));
        let small: Vec<_> = (0..60 * MIB / bytes).map(|_| filled(bytes, 1)).collect();
        assert!(idle(PAGEABLE) <= 12 * MIB, "{bytes}: {} idle beside 60 MiB in use", idle(PAGEABLE));
        drop(small);
    }
}

#[test(alone, ("SYNCEDMEM_MODE", "cpu"))]
fn pools_that_are_off_keep_nothing_whatever_others_did_meanwhile() {
    for round in 0..400 {
        set_pools(true);
        let both = Barrier::new(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                both.wait();
                for _ in 0..20 {
                    give_back(40_000, 1);
                }
            });
            both.wait();
            set_pools(false);
        });
        let left = idle(PAGEABLE);
        give_back(50_000, 1);
        assert_eq!(idle(PAGEABLE), left, "round {round}: they are still on");
        assert_eq!(left, 0, "round {round}");
    }
}
