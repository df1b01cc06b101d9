//! What the arenas reserve, and their system calls, which this suite stands in front of: while one lasts, other threads go on,
//! and forks.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::given_up::{LAYER, discard, inner, place, shared, within};
use super::parked::{half_zeros, holding, park, park_as, read};
use crate::support::pools::MIB;
use crate::support::*;
use syncedmem::abi::net;

/// What another thread does during this thread's next such call.
type Beside = (Call, fn());

thread_local! {
    static BESIDE: Cell<Option<Beside>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, PartialEq)]
enum Call {
    Map,
    Release,
}

/// Numbers of calls during which the other thread ended its work.
static WENT_ON: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the arenas' mappings, less those that were unmapped. No other ones are as large here.
static RESERVED: AtomicIsize = AtomicIsize::new(0);
/// The most that a mapping may have.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

fn beside(call: Call) {
    let Some((_, work)) = BESIDE.get().filter(|(wanted, _)| *wanted == call) else { return };
    BESIDE.set(None);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        work();
        _ = sender.send(());
    });
    WENT_ON.fetch_add(usize::from(receiver.recv_timeout(Duration::from_secs(HANGS_AFTER.into())).is_ok()), Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    at: *mut c_void,
    bytes: usize,
    access: c_int,
    kind: c_int,
    file: c_int,
    from: i64,
) -> *mut c_void {
    if kind & libc::MAP_NORESERVE != 0 {
        beside(Call::Map);
        if bytes > LIMIT.load(Relaxed) {
            return libc::MAP_FAILED;
        }
        RESERVED.fetch_add(bytes as isize, Relaxed);
    }
    unsafe { libc::syscall(libc::SYS_mmap, at, bytes, access, kind, file, from) as *mut c_void }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, bytes: usize) -> c_int {
    beside(Call::Release);
    if bytes >= MIB {
        RESERVED.fetch_sub(bytes as isize, Relaxed);
    }
    unsafe { libc::syscall(libc::SYS_munmap, at, bytes) as c_int }
}

fn planned(bytes: usize, offset: usize, whole: usize) -> Object {
    let mut object = shared(bytes);
    place(&mut object, offset, whole);
    object
}

/// What a layer that writes the object is lent, filled.
fn written(object: &mut Object, bytes: usize, value: u8) -> usize {
    let data = within(LAYER, || object.mutable_cpu_data().unwrap());
    unsafe { data.write_bytes(value, bytes) };
    assert_eq!(data.addr() % 64, 16, "as glibc's large blocks");
    data.addr()
}

/// Lends a block, and gives it back; returns its address.
fn lend(bytes: usize) -> usize {
    let mut object = shared(bytes);
    let data = within(LAYER, || object.mutable_cpu_data().unwrap());
    unsafe { data.write_bytes(7, bytes) };
    data.addr()
}

#[test(alone)]
fn other_threads_lend_while_one_waits_for_the_system() {
    // The end of the last shared object releases the arenas' ranges.
    let last = shared(100);
    let lend_beside = || _ = lend(1 << 20);
    BESIDE.set(Some((Call::Map, lend_beside)));
    lend(5 << 20);
    BESIDE.set(Some((Call::Release, lend_beside)));
    drop(last);
    assert_eq!(WENT_ON.load(Relaxed), 2);
    lend(5 << 20);
}

#[test(alone)]
fn forks_beside_threads_that_lend_leave_every_arena_usable() {
    let lend_two = |_, _| _ = (lend(100), lend(3 << 20));
    let forks = || (0..20).for_each(|_| in_a_child(|| _ = (lend(1000), lend(5 << 20))));
    assert!(crate::support::beside(4, lend_two, forks) >= 4);
}

fn reserved() -> usize {
    RESERVED.load(Relaxed).try_into().unwrap()
}

#[test(alone)]
fn an_arena_reserves_what_the_plan_needs_and_ends_with_the_last_shared_object() {
    for whole in [MIB, 10 * MIB, 50 * MIB] {
        let mut objects = [planned(100_000, 0, whole), planned(50_000, whole - 50_176, whole)];
        let addresses = objects.each_mut().map(|object| written(object, 50_000, 7));
        assert_eq!(addresses[1] - addresses[0], whole - 50_176);
        assert!((whole..=whole + 2 * MIB).contains(&reserved()), "{whole}: {} bytes", reserved());
        drop(objects);
        assert_eq!(RESERVED.load(Relaxed), 0, "{whole}");
    }
}

#[test(alone)]
fn threads_with_small_nets_reserve_little() {
    const THREADS: usize = 8;
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut object = planned(100_000, 0, 300_032);
                written(&mut object, 100_000, 7);
                barrier.wait();
                assert!(reserved() <= THREADS * 2 * MIB, "{} bytes", reserved());
                barrier.wait();
            });
        }
    });
}

#[test(alone)]
fn a_block_stays_while_a_later_plan_needs_more_and_then_both_plans_share_the_memory() {
    const SMALL: usize = 2 * MIB;
    const LARGE: usize = 40 * MIB;
    let (mut first, mut second) = (planned(100_000, 0, SMALL), planned(100_000, 30 * MIB, LARGE));
    let early = written(&mut first, 100_000, 1);
    written(&mut second, 100_000, 2);
    assert!(first.host_bytes(100_000) == [1; 100_000], "the earlier plan's block is as it was");
    assert!(reserved() <= SMALL + LARGE + 2 * MIB, "{} bytes", reserved());
    // It was kept apart by that read.
    let mut again = planned(100_000, MIB, SMALL);
    let [low, high] = [written(&mut again, 100_000, 3), second.mutable_cpu_data().unwrap().addr()];
    assert_eq!(high - low, 29 * MIB, "in one range");
    assert_eq!(first.mutable_cpu_data().unwrap().addr(), early);
    drop(first);
    discard(&mut again);
    assert_eq!(written(&mut again, 100_000, 3), low);
    assert!(reserved() <= LARGE + MIB, "the earlier range has ended: {} bytes", reserved());
}

#[test(alone)]
fn what_finds_no_gap_gets_a_further_range_and_then_one_range_serves_all() {
    let mut objects: Vec<_> = (0..20).map(|_| planned(MIB, 0, MIB + 256)).collect();
    for pass in 0..3 {
        let mut places: Vec<_> = objects.iter_mut().map(|object| written(object, MIB, 5)).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > MIB), "they do not overlap");
        assert!(reserved() <= 2 * 20 * MIB, "{} bytes", reserved());
        assert!(pass == 0 || places[19] - places[0] == 19 * (MIB + 256), "in one range: {places:x?}");
        objects.iter_mut().for_each(discard);
    }
}

#[test(alone)]
fn where_the_system_refuses_a_plan_its_blocks_are_lent_one_by_one_or_not_shared() {
    LIMIT.store(2 * MIB, Relaxed);
    let mut objects: Vec<_> = (0..4).map(|at| planned(MIB, at * 10 * MIB, 40 * MIB)).collect();
    objects.iter_mut().for_each(|object| _ = written(object, MIB, 5));
    assert!((1..=8 * MIB).contains(&reserved()), "{} bytes", reserved());
    LIMIT.store(0, Relaxed);
    let mut object = planned(MIB, 0, 40 * MIB);
    within(LAYER, || object.mutable_cpu_data().unwrap());
    discard(&mut object);
    assert!(object.cpu_data().is_ok(), "it was not shared");
}

#[test(alone)]
fn an_arena_ends_with_the_last_object_though_its_contents_are_parked_there() {
    let contents = half_zeros(1, MIB / 4);
    for as_a_twin in [false, true] {
        let mut objects = [holding(&contents), holding(&contents)];
        if as_a_twin {
            let twin = inner(&mut objects[0]);
            assert_eq!(park_as(&mut objects[1], &[twin], 1), Some(0));
        } else {
            let mut numbers = [0, 0, 4 * MIB, MIB, 8 * MIB];
            unsafe { net::place(inner(&mut objects[1]), NonNull::from(&mut numbers)) };
            park(&mut objects[1]).unwrap();
        }
        assert_ne!(RESERVED.load(Relaxed), 0);
        drop(objects);
        assert_eq!(RESERVED.load(Relaxed), 0, "as a twin: {as_a_twin}");
    }
}

#[test(alone)]
fn parked_contents_come_back_where_the_system_refuses_the_arena() {
    let contents = half_zeros(1, MIB / 4);
    let mut object = holding(&contents);
    assert!(park(&mut object).unwrap() > MIB / 2, "its block's range is free now");
    // The next plan needs another range.
    place(&mut object, 0, 40 * MIB);
    LIMIT.store(0, Relaxed);
    assert_bytes(&read(&mut object, MIB), &contents, &"from outside of the arena");
    assert_eq!(park(&mut object), None, "it is not shared any more");
}
