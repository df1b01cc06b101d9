//! The advice, from real calls: each rule is triggered and nearly triggered, and the copies that it speaks of are counted in
//! the driver's own log.

use crate::support::gpu::*;
use crate::support::object::*;
use crate::support::pools::*;
use crate::support::traced::{self, in_a_traced_process};
use crate::support::*;
use syncedmem::abi::c::eviction::syncedmem_eviction_t::SYNCEDMEM_EVICT_ALWAYS;
use syncedmem_analysis::advice::{Advice, Certainty, Rule, Subject};
use syncedmem_trace::event::Site;
use syncedmem_trace::head::Side::{self, Device, Host};
use syncedmem_trace::kind::Kind;

const BYTES: usize = 4096;
const LARGE: usize = 64 << 10;

/// What is asked to be observed.
const ACCESSES: (&str, &str) = ("SYNCEDMEM_ACCOUNT", "accesses");
const ON: (&str, &str) = ("SYNCEDMEM_ACCOUNT", "on");
const COMPARED: (&str, &str) = ("SYNCEDMEM_COMPARE", "on");

/// Runs `body` in a process where that is observed from the beginning.
fn observed<F: FnOnce(&Gpu)>(environment: &[(&str, &str)], body: F) {
    in_a_traced_process(environment, || {
        body(&simulated_gpu());
    });
}

/// The advice of one rule by now.
fn advice(rule: Rule) -> Vec<Advice> {
    traced::advice().into_iter().filter(|advice| advice.rule == rule).collect()
}

/// The one piece of advice that there is by that rule.
#[track_caller]
fn one(rule: Rule) -> Advice {
    let advice = advice(rule);
    assert_eq!(advice.len(), 1, "{advice:?}");
    advice[0]
}

/// That advice is about all copies to that side in the log, and no other.
#[track_caller]
fn assert_counts(advice: Advice, calls: &[Call], to: Side) {
    let kind = if to == Device { "HtoD" } else { "DtoH" };
    let copies: Vec<_> = calls.iter().filter(|call| call.field("kind") == Some(kind)).collect();
    let bytes: u64 = copies.iter().map(|call| call.field("bytes").unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!((advice.count, advice.bytes), (copies.len() as u64, bytes), "{advice:?} {calls:?}");
    assert_ne!(advice.count, 0);
}

/// An object whose data is on the host, without a fill.
fn on_host(bytes: usize) -> Object {
    filled(bytes, 3)
}

fn on_device(gpu: &Gpu, bytes: usize) -> Object {
    let mut object = Object::new(bytes);
    gpu.write(object.overwrite_gpu_data().unwrap().addr(), &pattern(4, bytes));
    object
}

fn a_push_that_is_written_over_before_the_device_is_read_is_unread() {
    observed(&[ACCESSES], |gpu| {
        let stream = gpu.stream();
        let mut object = on_host(BYTES);
        let (_, calls) = gpu.watch(|| assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS));
        object.mutable_cpu_data().unwrap();
        let unread = one(Rule::UnreadCopy);
        assert_counts(unread, &calls, Device);
        assert_eq!((unread.certainty, unread.subject), (Certainty::Certain, Subject::CopyTo(Device)));
        // Read in between, however late it is noticed that it has landed.
        for waits in [false, true] {
            assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
            if waits {
                assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
            }
            object.gpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
        }
        assert_eq!(one(Rule::UnreadCopy).count, 1);
        // By now the caller has the address, and may use it without asking again.
        assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
        object.mutable_cpu_data().unwrap();
        let found: Vec<_> = advice(Rule::UnreadCopy).iter().map(|found| (found.certainty, found.count)).collect();
        assert!(found.contains(&(Certainty::Possible, 1)) && found.len() == 2, "{found:?}");
    });
}

fn of_a_push_nothing_is_said_where_the_device_may_have_been_read_unseen() {
    observed(&[ON], |gpu| {
        let stream = gpu.stream();
        let mut object = on_host(BYTES);
        assert_eq!(object.push(stream.handle()), SYNCEDMEM_SUCCESS);
        object.mutable_cpu_data().unwrap();
        assert_eq!(advice(Rule::UnreadCopy), []);
    });
}

fn a_pull_that_the_device_is_written_before_is_unread_however_few_accesses_are_told() {
    observed(&[ON], |gpu| {
        let (stream, _pinning) = (gpu.stream(), Pinning::always());
        let mut object = on_device(gpu, BYTES);
        gpu.control().simcuda_hold_streams();
        let (_, calls) = gpu.watch(|| assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS));
        gpu.control().simcuda_release_streams();
        object.mutable_gpu_data().unwrap();
        let unread = one(Rule::UnreadCopy);
        assert_counts(unread, &calls, Host);
        assert_eq!(unread.subject, Subject::CopyTo(Host));
        // The host's access waits for it: a caller that waits may read unseen.
        assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
        object.cpu_data().unwrap();
        object.mutable_gpu_data().unwrap();
        assert_eq!(object.pull(stream.handle()), SYNCEDMEM_SUCCESS);
        assert_eq!(object.wait(), SYNCEDMEM_SUCCESS);
        object.mutable_gpu_data().unwrap();
        assert_eq!(one(Rule::UnreadCopy).count, 1);
    });
}

fn what_an_eviction_saved_is_unread_if_it_is_overwritten_and_not_if_it_is_asked_for() {
    observed(&[ACCESSES], |gpu| {
        const ROOM: usize = 4 << 20;
        gpu.control().simcuda_set_memory(0, ROOM);
        let mut objects = [on_device(gpu, ROOM / 2), on_device(gpu, ROOM / 2)];
        for object in &mut objects {
            assert_eq!(object.set_evictable(SYNCEDMEM_EVICT_ALWAYS), SYNCEDMEM_SUCCESS);
        }
        let mut third = Object::new(ROOM);
        let (_, calls) = gpu.watch(|| third.overwrite_gpu_data().unwrap());
        drop(third);
        objects[0].overwrite_gpu_data().unwrap();
        objects[1].gpu_data().unwrap();
        let unread = one(Rule::UnreadCopy);
        assert_eq!(unread.subject, Subject::EvictionTo(Host));
        assert_eq!((unread.count, unread.bytes), (1, ROOM as u64 / 2));
        assert_eq!(calls.iter().filter(|call| call.field("kind") == Some("DtoH")).count(), 2, "one of them is needed");
        assert!(unread.saved_nanoseconds > Some(0));
    });
}

fn a_copy_of_data_that_did_not_change_is_unchanged_on_either_side() {
    observed(&[ON, COMPARED], |gpu| {
        let mut object = on_host(BYTES);
        object.gpu_data().unwrap();
        object.mutable_cpu_data().unwrap();
        let (_, calls) = gpu.watch(|| object.mutable_gpu_data().unwrap());
        let unchanged = one(Rule::UnchangedCopy);
        assert_counts(unchanged, &calls, Device);
        assert_ne!(unchanged.at, Site::UNKNOWN, "who asked to write");
        assert_eq!((unchanged.certainty, unchanged.subject), (Certainty::Compared, Subject::CopyTo(Device)));
        let (_, calls) = gpu.watch(|| object.cpu_data().unwrap());
        let to_host = advice(Rule::UnchangedCopy).into_iter().find(|found| found.subject == Subject::CopyTo(Host));
        assert_counts(to_host.unwrap(), &calls, Host);
    });
}

fn a_copy_is_changed_if_one_byte_is_or_the_devices_memory_is_new() {
    observed(&[ON, COMPARED], |gpu| {
        let mut object = on_host(BYTES);
        object.gpu_data().unwrap();
        let data = object.mutable_cpu_data().unwrap();
        unsafe { data.add(BYTES - 1).write(99) };
        let address = object.mutable_gpu_data().unwrap().addr();
        gpu.write(address + 17, &[1]);
        object.mutable_cpu_data().unwrap();
        assert_eq!(object.release_gpu(), SYNCEDMEM_SUCCESS);
        object.gpu_data().unwrap();
        assert_eq!(advice(Rule::UnchangedCopy), []);
    });
}

fn four_copies_to_and_fro_are_a_ping_pong() {
    observed(&[ON], |gpu| {
        let mut object = on_host(BYTES);
        let (_, calls) = gpu.watch(|| {
            object.mutable_gpu_data().unwrap();
            object.mutable_cpu_data().unwrap();
            object.mutable_gpu_data().unwrap();
            assert_eq!(advice(Rule::PingPong), []);
            object.cpu_data().unwrap();
        });
        let row = one(Rule::PingPong);
        assert_eq!((row.count, row.bytes), (4, 4 * BYTES as u64));
        assert_eq!(calls.iter().filter(|call| call.field("kind").is_some_and(|kind| kind != "DtoD")).count(), 4);
    });
}

fn zeros_of_which_every_sample_has_changed_were_overwritten() {
    observed(&[ACCESSES, COMPARED], |_| {
        let (mut whole, mut half) = (Object::new(BYTES), Object::new(BYTES));
        whole.fill_host(&pattern(7, BYTES).iter().map(|byte| byte | 1).collect::<Vec<_>>());
        half.fill_host(&[pattern(7, BYTES / 2), vec![0; BYTES / 2]].concat());
        for object in [&mut whole, &mut half] {
            object.gpu_data().unwrap();
        }
        let fill = one(Rule::OverwrittenFill);
        assert_eq!((fill.certainty, fill.subject), (Certainty::Compared, Subject::Memory(Host)));
        assert_eq!((fill.count, fill.bytes, fill.object), (1, BYTES as u64, Some(whole.mem().addr() as u64)));
        // An object that is never copied is looked at when it ends.
        let mut never_copied = Object::new(BYTES);
        never_copied.fill_host(&[1; BYTES]);
        drop(never_copied);
        assert_eq!(one(Rule::OverwrittenFill).count, 2);
        // Zeros that are added to were needed, although everything has changed.
        let mut sum = Object::new(BYTES);
        for addend in [1, 2] {
            let data = sum.mutable_cpu_data().unwrap();
            (0..BYTES).for_each(|at| unsafe { *data.add(at) += addend });
        }
        drop(sum);
        let possible = |found: &Advice| found.certainty == Certainty::Possible && found.count == 1;
        assert_eq!(advice(Rule::OverwrittenFill).iter().filter(|found| possible(found)).count(), 1);
    });
}

fn zeros_that_are_replaced_before_anybody_asks_again_may_have_been_for_nothing() {
    observed(&[ACCESSES], |_| {
        let mut objects = [Object::new(BYTES), Object::new(BYTES)];
        objects.iter_mut().for_each(|object| _ = object.mutable_gpu_data().unwrap());
        objects[1].gpu_data().unwrap();
        objects.iter_mut().for_each(|object| _ = object.overwrite_cpu_data().unwrap());
        let fill = one(Rule::OverwrittenFill);
        assert_eq!((fill.certainty, fill.subject), (Certainty::Possible, Subject::Memory(Device)));
        assert_eq!((fill.count, fill.object), (1, Some(objects[0].mem().addr() as u64)));
    });
}

fn a_copy_for_a_writer_may_have_been_overwritten() {
    observed(&[ON], |gpu| {
        let mut object = on_host(BYTES);
        object.gpu_data().unwrap();
        assert_eq!(advice(Rule::OverwrittenCopy), []);
        object.mutable_gpu_data().unwrap();
        let (_, calls) = gpu.watch(|| object.mutable_cpu_data().unwrap());
        let copy = one(Rule::OverwrittenCopy);
        assert_counts(copy, &calls, Host);
        assert_eq!(copy.certainty, Certainty::Possible);
    });
}

fn whether_a_copy_was_overwritten_is_known_where_contents_are_compared() {
    observed(&[ON, COMPARED], |gpu| {
        let (mut whole, mut part) = (on_device(gpu, BYTES), on_device(gpu, BYTES));
        let (_, calls) = gpu.watch(|| whole.fill_host(&[9; BYTES]));
        unsafe { part.mutable_cpu_data().unwrap().write_bytes(9, BYTES / 2) };
        for object in [&mut whole, &mut part] {
            object.gpu_data().unwrap();
        }
        let copy = one(Rule::OverwrittenCopy);
        assert_counts(copy, &calls, Host);
        assert_eq!((copy.certainty, copy.object), (Certainty::Compared, Some(whole.mem().addr() as u64)));
    });
}

fn copies_from_pageable_memory_are_slow_from_the_second_on() {
    observed(&[ON], |gpu| {
        let mut object = on_host(LARGE);
        let copy = |object: &mut Object| {
            object.overwrite_cpu_data().unwrap();
            object.gpu_data().unwrap();
        };
        let (_, calls) = gpu.watch(|| {
            copy(&mut object);
            assert_eq!(advice(Rule::PageableCopy), []);
            copy(&mut object);
        });
        let slow = one(Rule::PageableCopy);
        assert_counts(slow, &calls, Device);
        assert_eq!(slow.saved_nanoseconds, None, "there is no pinned copy to compare with");
        let mut small = on_host(LARGE - 1);
        let _pinning = Pinning::always();
        let mut pinned = on_host(LARGE);
        for object in [&mut small, &mut pinned] {
            copy(object);
            copy(object);
        }
        let slow = advice(Rule::PageableCopy);
        assert!(slow.iter().all(|slow| slow.count == 2 && slow.saved_nanoseconds > Some(0)), "{slow:?}");
    });
}

fn a_host_side_that_is_stale_and_not_asked_for_again_is_unused() {
    observed(&[ON], |_| {
        let mut objects = [on_host(LARGE), on_host(LARGE), on_host(LARGE)];
        objects[0].mutable_gpu_data().unwrap();
        objects[1].mutable_gpu_data().unwrap();
        objects[1].cpu_data().unwrap();
        // Up to date: it may be read unseen.
        objects[2].gpu_data().unwrap();
        let unused = one(Rule::UnusedSide);
        assert_eq!(unused.subject, Subject::Memory(Host));
        assert_eq!((unused.count, unused.bytes), (1, LARGE as u64));
        assert_eq!(unused.object, Some(objects[0].mem().addr() as u64));
        drop(objects);
        assert_eq!(one(Rule::UnusedSide), unused, "at its end as before");
    });
}

fn a_host_side_that_is_released_is_not_unused_and_an_unused_device_side_is() {
    observed(&[ACCESSES], |gpu| {
        let stream = gpu.stream();
        let mut released = on_host(LARGE);
        released.gpu_data().unwrap();
        assert_eq!(one(Rule::UnusedSide).subject, Subject::Memory(Host));
        assert_eq!(released.release_cpu(), SYNCEDMEM_SUCCESS);
        assert_eq!(advice(Rule::UnusedSide), []);
        drop(released);
        assert_eq!(advice(Rule::UnusedSide), []);
        let mut pushed = on_host(LARGE);
        assert_eq!(pushed.push(stream.handle()), SYNCEDMEM_SUCCESS);
        assert_eq!(advice(Rule::UnusedSide), [], "neither side was used");
        pushed.cpu_data().unwrap();
        assert_eq!(one(Rule::UnusedSide).subject, Subject::Memory(Device));
    });
}

fn blocks_that_a_budget_turned_away_would_have_served() {
    observed(&[ON], |gpu| {
        set_pools(true);
        set_budget(DEVICE, MIB);
        for bytes in [2 * MIB, MIB] {
            drop(on_device(gpu, bytes));
        }
        // The larger was turned away, the smaller is kept.
        let mut kept = Object::new(MIB);
        let (_, calls) = gpu.watch(|| kept.overwrite_gpu_data().unwrap());
        assert_eq!(names(&calls).iter().filter(|name| name.starts_with("cuMemAlloc")).count(), 0, "{calls:?}");
        assert_eq!(advice(Rule::TurnedAway), []);
        let mut fresh = Object::new(2 * MIB - 4096);
        let (_, calls) = gpu.watch(|| fresh.overwrite_gpu_data().unwrap());
        assert_eq!(names(&calls).iter().filter(|name| name.starts_with("cuMemAlloc")).count(), 1, "{calls:?}");
        let turned_away = one(Rule::TurnedAway);
        assert_eq!((turned_away.subject, turned_away.count), (Subject::Kind(Kind::Device), 1));
        assert!((2 * MIB - 4096..=2 * MIB).contains(&(turned_away.bytes as usize)), "{turned_away:?}");
        // Only one was turned away.
        let mut again = Object::new(2 * MIB);
        again.overwrite_gpu_data().unwrap();
        assert_eq!(one(Rule::TurnedAway).count, 1);
        drop((kept, fresh, again));
    });
}

crate::support::harness::tests![
    a_push_that_is_written_over_before_the_device_is_read_is_unread,
    of_a_push_nothing_is_said_where_the_device_may_have_been_read_unseen,
    a_pull_that_the_device_is_written_before_is_unread_however_few_accesses_are_told,
    what_an_eviction_saved_is_unread_if_it_is_overwritten_and_not_if_it_is_asked_for,
    a_copy_of_data_that_did_not_change_is_unchanged_on_either_side,
    a_copy_is_changed_if_one_byte_is_or_the_devices_memory_is_new,
    four_copies_to_and_fro_are_a_ping_pong,
    zeros_of_which_every_sample_has_changed_were_overwritten,
    zeros_that_are_replaced_before_anybody_asks_again_may_have_been_for_nothing,
    a_copy_for_a_writer_may_have_been_overwritten,
    whether_a_copy_was_overwritten_is_known_where_contents_are_compared,
    copies_from_pageable_memory_are_slow_from_the_second_on,
    a_host_side_that_is_stale_and_not_asked_for_again_is_unused,
    a_host_side_that_is_released_is_not_unused_and_an_unused_device_side_is,
    blocks_that_a_budget_turned_away_would_have_served,
];
