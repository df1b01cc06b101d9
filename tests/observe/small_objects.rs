//! Objects while the account is all that is observed: a first touch is one entry of it, and so is an end. What it counts is what it
//! counts event by event beside a trace.

use crate::support::figures::*;
use crate::support::folder::Folder;
use crate::support::plain::Plain;
use crate::support::*;
use crate::trace::c_path;
use syncedmem::abi::c::account::syncedmem_accounting_t::*;
use syncedmem::abi::c::eviction::syncedmem_set_evictable;
use syncedmem::abi::c::trace::syncedmem_trace_start;
use syncedmem::abi::caffe;
use syncedmem::observe::recorder;
use syncedmem_analysis::ledger::Share;
use syncedmem_trace::kind::Kind;

/// Around the limits of malloc's blocks (4 KiB) and of small objects (64 KiB), and a mapping.
const SIZES: [usize; 9] = [0, 1, 100, 4096, 4097, 50_000, 65_536, 65_537, 3 << 20];

/// Objects that live, end untouched, grow, borrow, are named, and whose constructor was not seen.
fn every_way(keep: &mut Vec<Plain>) {
    let mut own = vec![0u8; 70_000];
    for bytes in SIZES {
        for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
            let mut object = Object::new(bytes);
            access(&mut object).unwrap();
            object.mutable_cpu_data().unwrap();
        }
        let mut named = Object::new(bytes);
        assert_eq!(set_name(named.mem(), "named"), SYNCEDMEM_SUCCESS);
        named.cpu_data().unwrap();
        drop((Object::new(bytes), Plain::new(bytes), Plain::unseen(bytes)));
        for plain in [Plain::new(bytes), Plain::unseen(bytes)] {
            plain.mutable_cpu_data();
            plain.cpu_data();
            keep.push(plain);
        }
        let grows = Plain::new(bytes);
        grows.cpu_data();
        unsafe { caffe::resize(grows.this(), bytes + 5_000) };
        grows.cpu_data();
        let borrows = Plain::new(bytes);
        borrows.cpu_data();
        unsafe { caffe::set_cpu_data(borrows.this(), own.as_mut_ptr().cast()) };
        // An object whose end the library never learns of, and another one in its storage.
        let mut reused = Plain::new(bytes);
        reused.cpu_data();
        unsafe { caffe::new(std::ptr::NonNull::from(&mut reused.0.0).cast(), bytes) };
    }
    keep.truncate(keep.len() / 2);
}

/// What a child counts for `every_way`, also while another object is evictable.
fn counted_in_a_child(begin: impl FnOnce()) -> String {
    let folder = Folder::new();
    let file = folder.path("counts");
    in_a_child(|| {
        begin();
        let mut keep = Vec::new();
        every_way(&mut keep);
        let mut other = Object::new(100_000);
        assert_eq!(unsafe { syncedmem_set_evictable(other.mem(), 1) }, SYNCEDMEM_SUCCESS);
        every_way(&mut keep);
        std::fs::write(&file, format!("{:#?}", counts())).unwrap();
    });
    std::fs::read_to_string(&file).unwrap()
}

fn the_account_alone_counts_what_it_counts_beside_a_trace() {
    for accounting in [SYNCEDMEM_ACCOUNTING_ON, SYNCEDMEM_ACCOUNTING_ACCESSES] {
        assert_eq!(syncedmem_set_accounting(accounting as i32), SYNCEDMEM_SUCCESS);
        counts_the_same_beside_a_trace();
    }
}

fn counts_the_same_beside_a_trace() {
    let folder = Folder::new();
    let path = c_path(&folder.path("trace"));
    let alone = counted_in_a_child(|| ());
    let traced = counted_in_a_child(|| {
        assert_eq!(unsafe { syncedmem_trace_start(path.as_ptr()) }, SYNCEDMEM_SUCCESS);
    });
    assert_eq!(alone, traced);
}

fn of_threads_that_touch_an_object_at_once_one_is_counted() {
    let allocated = |stats: &syncedmem_stats_t| stats.pageable.allocations.count + stats.pageable.pool_hits.count;
    for turn in 0..200 {
        for bytes in [100, 4096, 50_000] {
            let plain = if turn % 2 == 0 { Plain::new(bytes) } else { Plain::unseen(bytes) };
            let before = counts();
            at_once(4, |_| plain.cpu_data());
            let after = counts();
            let unseen = after.objects_unseen - before.objects_unseen;
            assert_eq!((allocated(&after) - allocated(&before), unseen), (1, turn % 2), "{bytes} bytes");
            assert_eq!(after.host_fills.count - before.host_fills.count, 1, "{bytes} bytes");
            assert_eq!(after.host_reads - before.host_reads, 1, "{bytes} bytes");
            assert_eq!(live(), bytes as u64);
            drop(plain);
            assert_eq!((live(), counts().pageable.frees.count), (0, allocated(&after)));
        }
    }
}

/// Bytes that objects hold by the ledger alone.
fn live() -> u64 {
    recorder::with_ledger(|ledger| ledger.account().memory(Kind::Pageable).live)
}

/// The shares of all holders, summed: live bytes and blocks, and those at the peak.
fn sum_of_shares() -> ((u64, u64), (u64, u64)) {
    let kind = Kind::Pageable as usize;
    let add = |sum: ((u64, u64), (u64, u64)), share: Share| {
        let (live, peak) = sum;
        (
            (live.0 + share.live[kind], live.1 + share.blocks[kind]),
            (peak.0 + share.at_peak[kind], peak.1 + share.blocks_at_peak[kind]),
        )
    };
    recorder::with_ledger(|ledger| ledger.holders().map(|(_, share)| share).fold(Default::default(), add))
}

fn the_peak_of_threads_is_exact_and_its_holders_sum_up_to_it() {
    const THREADS: usize = 4;
    const SMALL: [usize; 4] = [16, 1000, 4096, 30_000];
    // Nothing is freed before all objects have their blocks.
    let all = std::sync::Barrier::new(THREADS);
    at_once(THREADS, |thread| {
        let objects: Vec<_> = (0..400).map(|at| Plain::new(SMALL[(at + thread) % 4])).collect();
        objects.iter().for_each(Plain::mutable_cpu_data);
        all.wait();
    });
    let expected = (THREADS * 100 * SMALL.iter().sum::<usize>()) as u64;
    let blocks = (THREADS * 400) as u64;
    assert_eq!(figures().pageable.peak, expected);
    assert_eq!(sum_of_shares(), ((0, 0), (expected, blocks)));

    // Peaks in between: blocks come and go while names change.
    assert_eq!(syncedmem_reset_peaks(), SYNCEDMEM_SUCCESS);
    at_once(THREADS, |thread| {
        let mut kept: Vec<Object> = Vec::new();
        for turn in 0..2000 {
            let mut object = Object::new(SMALL[(turn * 7 + thread) % 4]);
            object.overwrite_cpu_data().unwrap();
            if turn % 3 == 0 {
                assert_eq!(set_name(object.mem(), ["a", "b", "c"][turn / 3 % 3]), SYNCEDMEM_SUCCESS);
            }
            kept.push(object);
            if kept.len() > turn * 13 % 40 {
                kept.clear();
            }
        }
    });
    let ((live, blocks), (peak, _)) = sum_of_shares();
    assert_eq!((live, blocks), (0, 0));
    assert_eq!(peak, figures().pageable.peak);
}

fn a_child_of_threads_that_count_counts_its_own() {
    let turn = || {
        for bytes in [100, 4096, 50_000] {
            Plain::new(bytes).mutable_cpu_data();
            Plain::unseen(bytes).mutable_cpu_data();
        }
    };
    beside(
        3,
        |_, _| turn(),
        || {
            for _ in 0..60 {
                in_a_child(|| {
                    turn();
                    turn();
                    let stats = counts();
                    assert_eq!((stats.objects_made, stats.objects_unseen, stats.objects_ended), (12, 6, 12));
                    assert_eq!((stats.host_writes, stats.pageable.frees), (12, sum(12, 4 * (100 + 4096 + 50_000))));
                });
            }
        },
    );
}

crate::support::harness::tests![
    alone(&[ON]):
    the_account_alone_counts_what_it_counts_beside_a_trace,
    of_threads_that_touch_an_object_at_once_one_is_counted,
    the_peak_of_threads_is_exact_and_its_holders_sum_up_to_it,
    a_child_of_threads_that_count_counts_its_own,
];
