use super::*;
use syncedmem_trace::event::What::*;
use syncedmem_trace::event::{Noticed, Origin};

/// Numbers events by time, one nanosecond apart.
#[derive(Default)]
struct Story {
    time: u64,
}

impl Story {
    fn event(&mut self, object: u64, site: u32, what: What) -> Event {
        self.time += 1;
        Event { start: self.time, duration: 0, thread: 1, object, site: Site(site), what }
    }
}

fn ledger_of(events: &[(u64, u32, What)]) -> Ledger {
    let (mut ledger, mut story) = (Ledger::default(), Story::default());
    for &(object, site, what) in events {
        ledger.take(&story.event(object, site, what));
    }
    ledger
}

fn made(bytes: u64) -> What {
    Made { bytes, noticed: Noticed::Construction }
}

fn allocated(kind: Kind, bytes: u64) -> What {
    Allocated { kind, bytes, block: 0x1000, origin: Origin::Fresh }
}

fn freed(kind: Kind, bytes: u64) -> What {
    Freed { kind, bytes, block: 0x1000 }
}

fn share(ledger: &Ledger, holder: Holder) -> Share {
    ledger.holders().find(|&(who, _)| who == holder).map(|(_, share)| share).unwrap_or_default()
}

#[test]
fn a_name_takes_the_objects_memory() {
    let mut ledger = ledger_of(&[(0x10, 1, made(100)), (0x10, 0, allocated(Kind::Pageable, 100))]);
    ledger.name(0x10, "conv1");
    let named = ledger.object(0x10).expect("it is known").holder;
    assert_eq!(ledger.name_of(named), Some("conv1"));
    assert_eq!(share(&ledger, named).live[0], 100);
    assert_eq!(share(&ledger, Holder::Site(Site(1))).live[0], 0);
    ledger.name(0x20, "unknown");
    assert!(ledger.object(0x20).is_none());
}

#[test]
fn a_name_takes_what_the_object_held_at_the_peak_and_no_more() {
    let kind = Kind::Pageable;
    let mut ledger = ledger_of(&[
        (0x10, 1, made(100)),
        (0x20, 1, made(50)),
        (0x10, 0, allocated(kind, 100)),
        (0x20, 0, allocated(kind, 50)),
        (0x20, 0, freed(kind, 50)),
        (0x20, 0, allocated(kind, 40)),
    ]);
    let at_peak = |ledger: &Ledger, holder| {
        let share = share(ledger, holder);
        (share.at_peak[0], share.blocks_at_peak[0])
    };
    assert_eq!(at_peak(&ledger, Holder::Site(Site(1))), (150, 2));
    // The object's block was allocated after the peak; the block that it held at the peak was freed.
    ledger.name(0x20, "late");
    ledger.name(0x10, "conv1");
    let holder = |address| ledger.object(address).expect("it is known").holder;
    assert_eq!(at_peak(&ledger, holder(0x20)), (0, 0));
    assert_eq!(at_peak(&ledger, holder(0x10)), (100, 1));
    assert_eq!(at_peak(&ledger, Holder::Site(Site(1))), (50, 1));
}

#[test]
fn an_object_that_was_made_without_a_call_site_has_that_of_its_first_block() {
    let kind = Kind::Pageable;
    let ledger = ledger_of(&[
        (0x10, 0, made(100)),
        (0x10, 2, allocated(kind, 100)),
        (0x10, 0, freed(kind, 100)),
        (0x10, 3, allocated(kind, 100)),
        (0x20, 1, made(50)),
        (0x20, 2, allocated(kind, 50)),
    ]);
    assert_eq!([0x10, 0x20].map(|object| ledger.object(object).expect("it is known").made), [Site(2), Site(1)]);
    assert_eq!(share(&ledger, Holder::Site(Site(2))).live[0], 100);
    assert_eq!(share(&ledger, Holder::Site(Site::UNKNOWN)), Share::default());
}

#[test]
fn another_object_at_the_same_address_ends_the_first() {
    let ledger = ledger_of(&[(0x10, 1, made(100)), (0x10, 0, allocated(Kind::Pageable, 100)), (0x10, 2, made(7))]);
    assert_eq!(share(&ledger, Holder::Site(Site(1))).live[0], 0);
    assert_eq!(ledger.object(0x10).map(|object| object.made), Some(Site(2)));
    assert_eq!(ledger.alive(), 1);
    assert_eq!(ledger.account().memory(Kind::Pageable).live, 0, "its block was freed without a call");
}

#[test]
fn a_block_that_was_replaced_before_its_end_was_recorded_is_counted_once() {
    let other = |kind, bytes| Allocated { kind, bytes, block: 0x2000, origin: Origin::Fresh };
    let ledger = ledger_of(&[
        (0x10, 1, made(100)),
        (0x10, 0, allocated(Kind::Device, 100)),
        (0x10, 0, other(Kind::Device, 100)),
    ]);
    let memory = ledger.account().memory(Kind::Device);
    assert_eq!((memory.live, memory.peak, memory.freed.count), (100, 100, 1));
    assert_eq!(share(&ledger, Holder::Site(Site(1))).live[2], 100);
}

#[test]
fn the_memory_that_grows_with_a_batch_is_summed_by_the_items_of_the_batch() {
    let mut ledger = ledger_of(&[(0x10, 1, made(640)), (0x10, 0, allocated(Kind::Pageable, 640))]);
    // Caffe allocates the first block of a blob before its shape is known.
    ledger.set_items(0x10, 64);
    for event in [(0x20, 1, made(6400)), (0x30, 1, made(77)), (0x40, 1, made(10))] {
        ledger.take(&Story::default().event(event.0, event.1, event.2));
    }
    ledger.set_items(0x20, 64);
    ledger.set_items(0x40, 10);
    for (object, bytes) in [(0x20, 6400), (0x30, 77), (0x40, 10)] {
        ledger.take(&Story::default().event(object, 0, allocated(Kind::Pageable, bytes)));
    }
    ledger.take(&Story::default().event(0x20, 0, freed(Kind::Pageable, 6400)));
    let shares = |ledger: &Ledger| {
        let mut shares: Vec<_> =
            ledger.batches().map(|(items, share)| (items, share.at_peak[0], share.live[0])).collect();
        shares.sort_unstable();
        shares
    };
    assert_eq!(shares(&ledger), [(10, 10, 10), (64, 7040, 640)]);
    ledger.set_items(0x10, 0);
    assert_eq!(shares(&ledger), [(10, 10, 10), (64, 6400, 0)], "it never grew");
}
