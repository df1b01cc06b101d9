//! The rules about memory that is held, or allocated anew.

use syncedmem_analysis::advice::{Advice, Certainty::*, Rule::*, Subject};
use syncedmem_trace::event::Path::*;
use syncedmem_trace::kind::Kind;

use super::found::*;
use super::story::*;

const SIZE: u64 = 4096;

/// Data that was made on the host, and copied to the device, by site 3.
fn params() -> Vec<Told> {
    vec![
        made(SIZE),
        asked(Host, Write),
        fresh(Kind::Pageable, SIZE),
        filled(Host, SIZE),
        asked(Device, Read),
        fresh(Kind::Device, SIZE + 512),
        copied(Device, Read, SIZE, Pageable).at(3),
    ]
}

fn the_end() -> Vec<Told> {
    vec![freed(Kind::Pageable, SIZE), freed(Kind::Device, SIZE + 512), ended()]
}

fn unused(side: syncedmem_trace::head::Side, bytes: u64) -> Advice {
    advice(UnusedSide, Certain, Subject::Memory(side), 3).sums(1, bytes, None)
}

fn a_host_side_that_is_not_asked_for_after_the_first_copy_is_unused() {
    for end in [vec![], the_end()] {
        let written = [params(), vec![asked(Device, Write)], end.clone()].concat();
        assert_eq!(both(UnusedSide, &written), [unused(Host, SIZE)]);
        let current = [params(), end].concat();
        assert_eq!(with_every_access(UnusedSide, &current), [unused(Host, SIZE)]);
        assert_eq!(without(UnusedSide, &current), [], "it is up to date, and may be read unseen");
    }
}

fn a_side_that_was_given_back_holds_no_memory() {
    let (host, device) = (freed(Kind::Pageable, SIZE), freed(Kind::Device, SIZE + 512));
    let given: [&[Told]; 5] = [
        &[released(Host), host, device, ended()],
        &[host, released(Host), device, ended()],
        &[host, device, evicted(SIZE), ended()],
        &[lent(Host), host, device, ended()],
        &[resized(2 * SIZE), host, device, ended()],
    ];
    for given in given {
        let story = [params(), vec![ready(Device, Read)], given.to_vec()].concat();
        assert_eq!(with_every_access(UnusedSide, &story), [], "{given:?}");
    }
}

fn memory_of_a_call_that_failed_was_never_held() {
    let fails = vec![fresh(Kind::Device, SIZE), freed(Kind::Device, SIZE)];
    let released = [params(), vec![ready(Device, Read), released(Device), freed(Kind::Device, SIZE + 512)]].concat();
    let end = vec![freed(Kind::Pageable, SIZE), ended()];
    assert_eq!(with_every_access(UnusedSide, &[released.clone(), fails.clone()].concat()), []);
    assert_eq!(with_every_access(UnusedSide, &[released, fails, end].concat()), []);
}

fn a_device_side_without_an_access_is_unused_if_the_host_is_used() {
    let pushed = vec![
        made(SIZE),
        asked(Host, Overwrite),
        fresh(Kind::Pinned, SIZE),
        fresh(Kind::Device, SIZE + 512),
        started(Device, SIZE, Pinned).at(3),
        completed(Device),
    ];
    let story = [pushed.clone(), vec![asked(Host, Write)]].concat();
    assert_eq!(both(UnusedSide, &story), [unused(Device, SIZE + 512)]);
    assert_eq!(both(UnusedSide, &pushed), [], "neither side was used");
    let end = [freed(Kind::Pinned, SIZE), freed(Kind::Device, SIZE + 512), ended()];
    let story = [pushed.clone(), vec![asked(Host, Write), lent(Host)], end.to_vec()].concat();
    assert_eq!(both(UnusedSide, &story), [], "the host's memory is the caller's");
    let story = [pushed, vec![asked(Host, Write), asked(Device, Read), failed(Device, SIZE)]].concat();
    assert_eq!(both(UnusedSide, &story), [], "it was wanted");
}

crate::support::harness::tests![
    a_host_side_that_is_not_asked_for_after_the_first_copy_is_unused,
    a_side_that_was_given_back_holds_no_memory,
    memory_of_a_call_that_failed_was_never_held,
    a_device_side_without_an_access_is_unused_if_the_host_is_used,
];
