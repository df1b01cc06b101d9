//! Objects in the account: their accesses, however they are made, their names, and who held memory at its peak.

use crate::support::figures::*;
use crate::support::object::Object;
use crate::support::plain::Plain;
use crate::support::pools::{KIB, MIB};
use crate::support::*;
use syncedmem::abi::c::account::syncedmem_accounting_t::*;
use syncedmem::abi::c::account::*;
use syncedmem::abi::caffe;
use syncedmem::object::SyncedMemory;
use syncedmem::state::fast_path;
use syncedmem_trace::head::{Access, Side};

/// Small enough for malloc's cache, large enough for the pool, and a mapping of its own.
const SMALL: usize = 100;
const MIDDLE: usize = 50_000;
const LARGE: usize = 4 << 20;

fn the_report_says_who_held_the_memory_at_its_peak() {
    alone(&[ON], || {
        let objects = [3 * MIB, 2 * MIB, MIB].map(Object::new);
        let mut all: Vec<Object> = objects.into();
        for (object, name) in all.iter_mut().zip(["weights", "data", "weights"]) {
            object.overwrite_cpu_data().unwrap();
            assert_eq!(set_name(object.mem(), name), SYNCEDMEM_SUCCESS);
        }
        // The peak is over, and another object holds memory now.
        all.clear();
        let mut late = Object::new(5 * MIB);
        late.overwrite_cpu_data().unwrap();
        assert_eq!(set_name(late.mem(), "late"), SYNCEDMEM_SUCCESS);
        let held = |bytes: &str, blocks, who: &str| (bytes.to_string(), blocks, who.to_string());
        let report = report();
        assert_eq!(at_peak(&report, "pageable"), [held("4.0 MiB", 2, "weights"), held("2.0 MiB", 1, "data")]);
        assert!(report.contains("\npageable memory: 6.0 MiB at its peak, 5.0 MiB now\n"), "{report}");
        assert!(report.contains("objects made: 4, ended: 3, alive: 1\n"), "{report}");
        assert_eq!(figures().pageable.peak, 6 << 20);
    });
}

fn a_name_that_is_given_before_memory_counts_from_the_first_byte() {
    alone(&[ON], || {
        let mut object = Object::new(MIB);
        assert_eq!(set_name(object.mem(), "first"), SYNCEDMEM_SUCCESS);
        assert_eq!(set_name(object.mem(), "second"), SYNCEDMEM_SUCCESS);
        object.overwrite_cpu_data().unwrap();
        assert_eq!(at_peak(&report(), "pageable"), [("1.0 MiB".to_string(), 1, "second".to_string())]);
        assert_eq!(set_name(object.mem(), "third"), SYNCEDMEM_SUCCESS);
        assert_eq!(name(object.mem()), "third");
    });
}

fn peaks_begin_anew_where_they_are_reset() {
    alone(&[ON], || {
        let mut stays = Object::new(MIB);
        stays.overwrite_cpu_data().unwrap();
        assert_eq!(set_name(stays.mem(), "stays"), SYNCEDMEM_SUCCESS);
        let mut goes = Object::new(LARGE);
        goes.overwrite_cpu_data().unwrap();
        drop(goes);
        assert_eq!(figures().pageable.peak, (MIB + LARGE) as u64);
        let before = counts();
        assert_eq!(syncedmem_reset_peaks(), SYNCEDMEM_SUCCESS);
        let mut expected = before;
        expected.pageable.peak = MIB as u64;
        assert_eq!(counts(), expected, "only the peak is another");
        assert_eq!(at_peak(&report(), "pageable"), [("1.0 MiB".to_string(), 1, "stays".to_string())]);
        let mut more = Object::new(KIB);
        more.overwrite_cpu_data().unwrap();
        drop(more);
        assert_eq!(figures().pageable.peak, (MIB + KIB) as u64);
    });
}

fn names_are_kept_as_given_and_refused_where_they_cannot_be() {
    alone(&[ON], || {
        let mut object = Object::new(SMALL);
        assert_eq!(name(object.mem()), "");
        assert_eq!(set_name(object.mem(), "größe 🦀"), SYNCEDMEM_SUCCESS);
        for refused in ["", &"x".repeat(SYNCEDMEM_NAME_BYTES + 1)] {
            assert_eq!(set_name(object.mem(), refused), SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        }
        let not_text = c"\xFF\xFE";
        let status = unsafe { syncedmem_set_name(object.mem(), not_text.as_ptr()) };
        assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        let status = unsafe { syncedmem_set_name(object.mem(), std::ptr::null()) };
        assert_eq!(status, SYNCEDMEM_ERROR_INVALID_ARGUMENT);
        assert!(last_error().contains("name is NULL"), "{}", last_error());
        assert_eq!(name(object.mem()), "größe 🦀", "what was refused changed nothing");
        let longest = "x".repeat(SYNCEDMEM_NAME_BYTES);
        assert_eq!(set_name(object.mem(), &longest), SYNCEDMEM_SUCCESS);
        assert_eq!(name(object.mem()), longest);
        let (mut text, mut length) = ([b'?'; 8], 0);
        let status = unsafe { syncedmem_get_name(object.mem(), text.as_mut_ptr().cast(), 4, &mut length) };
        assert_eq!((status, length, &text), (SYNCEDMEM_SUCCESS, SYNCEDMEM_NAME_BYTES, b"xxx\0????"));
    });
}

fn without_accounting_no_name_is_kept() {
    alone(&[], || {
        let mut object = Object::new(SMALL);
        assert_eq!(set_name(object.mem(), "unheard"), SYNCEDMEM_SUCCESS);
        assert_eq!(name(object.mem()), "");
    });
}

fn every_access_through_either_abi_is_counted_by_every_thread() {
    const THREADS: u64 = 4;
    const TURNS: u64 = 500;
    alone(&[ACCESSES], || {
        std::thread::scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| {
                    let (mut object, plain) = (Object::new(SMALL), Plain::new(MIDDLE));
                    for _ in 0..TURNS {
                        object.cpu_data().unwrap();
                        object.mutable_cpu_data().unwrap();
                        object.overwrite_cpu_data().unwrap();
                        plain.cpu_data();
                        plain.cpu_data();
                        plain.mutable_cpu_data();
                    }
                });
            }
        });
        let stats = counts();
        let accesses = (stats.host_reads, stats.host_writes, stats.host_overwrites);
        assert_eq!(accesses, (3 * THREADS * TURNS, 2 * THREADS * TURNS, THREADS * TURNS));
        assert_eq!((stats.objects_made, stats.objects_ended, stats.objects_unseen), (2 * THREADS, 2 * THREADS, 0));
        assert_eq!((stats.device_reads, stats.device_writes, stats.device_overwrites), (0, 0, 0));
        assert_eq!(stats.pageable.live, 0);
        let blocks = stats.pageable.allocations.count + stats.pageable.pool_hits.count;
        assert_eq!((blocks, stats.pageable.frees.count), (2 * THREADS, 2 * THREADS));
        let bytes = THREADS as usize * (SMALL + MIDDLE);
        assert_eq!(stats.pageable.frees, sum(2 * THREADS, bytes));
        assert_eq!(stats.host_fills, sum(2 * THREADS, bytes));
    });
}

fn many_readers_of_one_object_are_counted_each() {
    const THREADS: u64 = 8;
    alone(&[ACCESSES], || {
        for bytes in [SMALL, MIDDLE, LARGE] {
            let before = counts();
            let plain = Plain::new(bytes);
            let (start, this) = (std::sync::Barrier::new(THREADS as usize), plain.this().addr());
            std::thread::scope(|threads| {
                for _ in 0..THREADS {
                    threads.spawn(|| {
                        start.wait();
                        let this = std::ptr::with_exposed_provenance::<SyncedMemory>(this);
                        unsafe { caffe::cpu_data(this) };
                    });
                }
            });
            let after = counts();
            assert_eq!(after.host_reads - before.host_reads, THREADS, "{bytes} bytes");
            let allocated =
                |stats: &syncedmem_stats_t| stats.pageable.allocations.count + stats.pageable.pool_hits.count;
            assert_eq!(allocated(&after) - allocated(&before), 1, "{bytes} bytes");
        }
    });
}

/// Whether an accessor of C++ hands out what the object says, and the library never learns of it.
fn are_served_at_once(access: Access) -> bool {
    fast_path::deciding(access, Side::Host) != 0
}

fn accesses_that_need_nothing_are_served_at_once_unless_they_are_counted() {
    alone(&[ON], || {
        let plain = Plain::new(SMALL);
        let access = || {
            plain.mutable_cpu_data();
            plain.cpu_data();
            let open = [Access::Read, Access::Write].map(are_served_at_once);
            (open, counts().host_reads)
        };
        assert_eq!(access(), ([true; 2], 0));
        assert_eq!(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ACCESSES as i32), SYNCEDMEM_SUCCESS);
        assert_eq!(access(), ([false; 2], 1));
        assert_eq!(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON as i32), SYNCEDMEM_SUCCESS);
        assert_eq!(access(), ([true; 2], 1));
        assert_eq!(syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_OFF as i32), SYNCEDMEM_SUCCESS);
        assert_eq!(access(), ([true; 2], 1));
    });
}

fn an_object_whose_constructor_was_inlined_is_noticed_at_its_first_access() {
    alone(&[ON], || {
        let plain = Plain::unseen(MIDDLE);
        plain.cpu_data();
        plain.cpu_data();
        let stats = counts();
        assert_eq!((stats.objects_made, stats.objects_unseen), (1, 1));
        assert_eq!(stats.pageable.allocations, sum(1, MIDDLE));
        assert!(report().contains("objects made: 1 (1 were first seen at an access"), "{}", report());
        drop(plain);
        assert_eq!((counts().objects_ended, counts().pageable.live), (1, 0));
        // The library never knew an object without an access, so its end is not counted.
        drop(Plain::unseen(MIDDLE));
        assert_eq!((counts().objects_made, counts().objects_ended), (1, 1));
    });
}

fn an_object_that_grows_gives_its_block_back() {
    alone(&[ON], || {
        let plain = Plain::new(SMALL);
        plain.cpu_data();
        unsafe { caffe::resize(plain.this(), MIDDLE) };
        assert_eq!((counts().pageable.live, counts().pageable.frees), (0, sum(1, SMALL)));
        plain.cpu_data();
        let stats = counts();
        assert_eq!((stats.pageable.live, stats.objects_made), (MIDDLE as u64, 1));
        assert_eq!(stats.pageable.allocations, sum(2, SMALL + MIDDLE));
    });
}

crate::support::harness::tests![
    the_report_says_who_held_the_memory_at_its_peak,
    a_name_that_is_given_before_memory_counts_from_the_first_byte,
    peaks_begin_anew_where_they_are_reset,
    names_are_kept_as_given_and_refused_where_they_cannot_be,
    without_accounting_no_name_is_kept,
    every_access_through_either_abi_is_counted_by_every_thread,
    many_readers_of_one_object_are_counted_each,
    accesses_that_need_nothing_are_served_at_once_unless_they_are_counted,
    an_object_whose_constructor_was_inlined_is_noticed_at_its_first_access,
    an_object_that_grows_gives_its_block_back,
];
