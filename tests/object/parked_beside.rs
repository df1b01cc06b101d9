//! Parked contents beside other threads, forks, and memory that runs out.

use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::given_up::{LAYER, discard, inner, within};
use super::parked::{assert_parked, dense, half_zeros, holding, park, park_as, read, write};
use crate::support::figures::{ON, counts};
use crate::support::*;
use syncedmem::abi::net;
use syncedmem::object::SyncedMemory;

const BYTES: usize = 4096;
const TURNS: u64 = 3000;

fn live() -> usize {
    counts().pageable.live as usize
}

#[test(alone, ON)]
fn parked_contents_take_fewer_bytes_and_all_are_given_back() {
    const SIZE: usize = 1 << 20;
    let before = live();
    let mut objects = [holding(&[0; SIZE]), holding(&half_zeros(1, SIZE / 4)), holding(&[9; SIZE])];
    assert_eq!(live() - before, 3 * SIZE);
    let taken: usize = objects.each_mut().map(|object| park(object).unwrap()).iter().sum();
    assert_eq!(live() - before, taken);
    assert!(taken < SIZE * 4 / 5, "{taken}");
    read(&mut objects[0], SIZE);
    discard(&mut objects[2]);
    assert_eq!(live() - before, SIZE + taken - 16, "one object is back, and one is given up");
    drop(objects);
    assert_eq!(live(), before);
}

#[test(alone, ("SYNCEDMEM_HOST_LIMIT", "3M"))]
fn under_a_limit_an_access_that_finds_no_memory_is_an_error_and_succeeds_later() {
    const SIZE: usize = 2 << 20;
    let contents = [&[0; SIZE / 2][..], &[1; SIZE / 2]].concat();
    let out_of_memory = |outcome: Outcome| assert_refused(outcome.unwrap_err(), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "limit");
    for by_layer in [true, false] {
        let mut object = holding(&contents);
        assert!(park(&mut object).is_some());
        let other = Object::touched(Storage::cpu_data, SIZE);
        for access in [Storage::cpu_data, Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
            let mut access = || access(&mut object);
            out_of_memory(if by_layer { within(LAYER, access) } else { access() });
            assert_parked(&mut object);
        }
        drop(other);
        let are = if by_layer { read(&mut object, SIZE) } else { object.host_bytes(SIZE) };
        assert_bytes(&are, &contents, &"once there is memory");
    }
}

#[test(alone, ("SYNCEDMEM_HOST_LIMIT", "3M"))]
fn under_a_limit_a_twin_that_finds_no_memory_is_not_written_and_is_later() {
    const SIZE: usize = 1 << 20;
    let contents = dense(1, SIZE / 4);
    let (mut twin, mut object) = (holding(&contents), holding(&contents));
    assert_eq!(park_as(&mut object, &[inner(&mut twin)], 1), Some(0));
    let other = Object::touched(Storage::cpu_data, 2 * SIZE);
    for access in [Storage::mutable_cpu_data, Storage::overwrite_cpu_data] {
        within(LAYER, || assert_refused(access(&mut twin).unwrap_err(), SYNCEDMEM_ERROR_OUT_OF_MEMORY, "limit"));
    }
    assert_bytes(&read(&mut twin, SIZE), &contents, &"the twin");
    drop(other);
    write(&mut twin, &[1; SIZE]);
    assert_bytes(&read(&mut object, SIZE), &contents, &"the parked object");
    assert!(read(&mut twin, SIZE) == [1; SIZE]);
}

/// In each turn another thread does `beside` while this one parks an object and brings it back.
fn while_it_is_parked(beside: impl Fn(&mut Storage) + Sync) {
    struct Mine(*mut Object);
    unsafe impl Sync for Mine {}
    let (contents, barrier) = (half_zeros(1, BYTES / 4), Barrier::new(2));
    for turn in 0..TURNS {
        let mut object = holding(&contents);
        // Both threads only call the library, which allows it.
        let mine = Mine(&raw mut object);
        let of = |mine: &Mine| unsafe { &mut *mine.0 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                (0..turn % 64).for_each(|_| std::hint::spin_loop());
                beside(of(&mine));
            });
            barrier.wait();
            for _ in 0..3 {
                park(of(&mine));
                let data = within(LAYER, || of(&mine).cpu_data());
                data.unwrap_or_else(|status| panic!("{status:?}: {}", last_error()));
            }
        });
        assert_bytes(&object.host_bytes(BYTES), &contents, &"after the turn");
    }
}

#[test(alone)]
fn another_thread_reads_while_the_contents_are_parked_and_come_back() {
    let contents = half_zeros(1, BYTES / 4);
    while_it_is_parked(|object| {
        assert_bytes(&object.host_bytes(BYTES), &contents, &"read beside");
    });
}

#[test(alone_with_driver)]
fn another_thread_pushes_while_the_contents_are_parked_and_come_back() {
    let _gpu = gpu();
    while_it_is_parked(|object| {
        assert_eq!(object.push(std::ptr::null_mut()), SYNCEDMEM_SUCCESS, "{}", last_error());
        assert_eq!((object.wait(), object.head()), (SYNCEDMEM_SUCCESS, 3));
    });
}

#[test(alone)]
fn contents_that_are_being_parked_never_look_given_up() {
    let mut object = holding(&half_zeros(1, BYTES / 4));
    let (address, parks) = (inner(&mut object).as_ptr().expose_provenance(), AtomicUsize::new(0));
    let parks_and_asks = |thread, _| {
        let object = std::ptr::with_exposed_provenance_mut::<SyncedMemory>(address);
        if thread == 0 {
            let taken = unsafe { net::park(NonNull::new(object).unwrap(), std::ptr::null(), 0, 0) };
            parks.fetch_add(usize::from(taken > 0), Relaxed);
        }
        within(LAYER, || assert!(Shared(object.cast()).read(false).is_ok(), "{}", last_error()));
    };
    let wait = || pools::until(|| parks.load(Relaxed) > 4 * TURNS as usize);
    beside(2, parks_and_asks, wait);
}

#[test(alone)]
fn another_thread_writes_a_twin_while_objects_are_parked_as_it() {
    let contents = dense(1, BYTES / 4);
    let barrier = Barrier::new(2);
    for turn in 0..TURNS {
        let (mut twin, mut object) = (holding(&contents), holding(&contents));
        let of = inner(&mut twin);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                (0..turn % 64).for_each(|_| std::hint::spin_loop());
                twin.fill_host(&[turn as u8; BYTES]);
                assert!(twin.host_bytes(BYTES) == [turn as u8; BYTES]);
            });
            barrier.wait();
            for _ in 0..3 {
                park_as(&mut object, &[of], 1);
                assert_bytes(&read(&mut object, BYTES), &contents, &turn);
            }
        });
    }
}

#[test(alone)]
fn nets_on_several_threads_park_beside_each_other() {
    at_once(4, |thread| {
        for turn in 0..TURNS / 10 {
            let (contents, other) = (half_zeros(turn, BYTES), dense(thread as u64, BYTES));
            let mut objects = [&contents, &contents, &other, &other].map(|contents| holding(contents));
            let twins = objects.each_mut().map(inner);
            park(&mut objects[0]).unwrap();
            assert_eq!(park_as(&mut objects[1], &[twins[0]], 1), Some(0));
            assert_eq!(park_as(&mut objects[2], &[twins[3]], 1), Some(0));
            write(&mut objects[3], &contents);
            let bytes = objects.each_mut().map(|object| read(object, contents.len()));
            assert!(bytes == [&*contents, &contents, &other, &contents]);
        }
    });
}

#[test(alone)]
fn a_forked_child_reads_what_is_parked_and_writes_a_twin_and_so_does_the_parent() {
    let (contents, other) = (half_zeros(1, BYTES), dense(1, BYTES));
    let mut objects = [&contents, &other, &other].map(|contents| holding(contents));
    let twin = inner(&mut objects[2]);
    park(&mut objects[0]).unwrap();
    assert_eq!(park_as(&mut objects[1], &[twin], 1), Some(0));
    let mut check = || {
        write(&mut objects[2], &contents);
        let bytes = objects.each_mut().map(|object| read(object, contents.len()));
        assert!(bytes == [&*contents, &other, &contents]);
        assert!(park(&mut objects[0]).is_some() && park(&mut objects[2]).is_some());
    };
    in_a_child(&mut check);
    check();
}

#[test(alone)]
fn forks_beside_threads_that_park_leave_every_object_usable() {
    let work = |thread: usize, turn: usize| {
        let (contents, other) = (half_zeros(turn as u64, BYTES), dense(thread as u64, BYTES));
        let mut objects = [&contents, &other, &other].map(|contents| holding(contents));
        let twin = inner(&mut objects[2]);
        park(&mut objects[0]).unwrap();
        park_as(&mut objects[1], &[twin], 1);
        write(&mut objects[2], &contents);
        let bytes = objects.each_mut().map(|object| read(object, contents.len()));
        assert!(bytes == [&*contents, &other, &contents]);
    };
    let forks = || (0..20).for_each(|turn| in_a_child(|| work(9, turn)));
    assert!(beside(2, work, forks) >= 2);
}
