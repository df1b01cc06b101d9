use super::*;
use syncedmem_trace::event::Origin;
use syncedmem_trace::event::What::*;

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
    let (mut ledger, mut story) = (Ledger::new(), Story::default());
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
fn the_peak_is_the_most_that_was_live_at_once_and_whose_it_was_then() {
    let ledger = ledger_of(&[
        (0x10, 1, made(100)),
        (0x20, 2, made(50)),
        (0x10, 0, allocated(Kind::Pageable, 100)),
        (0x20, 0, allocated(Kind::Pageable, 50)),
        (0x10, 0, freed(Kind::Pageable, 100)),
        (0x30, 3, made(60)),
        (0x30, 0, allocated(Kind::Pageable, 60)),
    ]);
    let memory = ledger.account().memory(Kind::Pageable);
    assert_eq!((memory.live, memory.peak, memory.peak_time), (110, 150, 4));
    let at_peak = |site| share(&ledger, Holder::Site(Site(site))).at_peak[0];
    assert_eq!([at_peak(1), at_peak(2), at_peak(3)], [100, 50, 0]);
    let live = |site| share(&ledger, Holder::Site(Site(site))).live[0];
    assert_eq!([live(1), live(2), live(3)], [0, 50, 60]);
}

#[test]
fn each_kind_has_a_peak_of_its_own() {
    let ledger = ledger_of(&[
        (0x10, 1, made(100)),
        (0x10, 0, allocated(Kind::Pinned, 100)),
        (0x10, 0, allocated(Kind::Device, 112)),
        (0x10, 0, freed(Kind::Pinned, 100)),
    ]);
    let share = share(&ledger, Holder::Site(Site(1)));
    assert_eq!((share.live, share.at_peak), ([0, 0, 112], [0, 100, 112]));
}

#[test]
fn a_name_takes_the_objects_memory_along() {
    let mut ledger = ledger_of(&[(0x10, 1, made(100)), (0x10, 0, allocated(Kind::Pageable, 100))]);
    ledger.name(0x10, "conv1");
    let named = ledger.object(0x10).expect("it is known").holder;
    assert_eq!(ledger.name_of(named), Some("conv1"));
    assert_eq!(share(&ledger, named).live[0], 100);
    assert_eq!(share(&ledger, Holder::Site(Site(1))).live[0], 0);
    ledger.name(0x20, "nobody");
    assert!(!ledger.knows(0x20));
}

#[test]
fn a_name_takes_what_the_object_held_at_the_peak_along_and_no_more() {
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
fn what_is_forgotten_holds_nothing_and_what_was_counted_stays() {
    let mut ledger = ledger_of(&[(0x10, 1, made(100)), (0x10, 0, allocated(Kind::Pageable, 100))]);
    ledger.forget_objects();
    let memory = ledger.account().memory(Kind::Pageable);
    assert_eq!((memory.live, memory.peak, memory.fresh.count, ledger.objects().count()), (0, 100, 1, 0));
    let share = share(&ledger, Holder::Site(Site(1)));
    assert_eq!((share.live[0], share.at_peak[0]), (0, 100));
}

#[test]
fn another_object_at_the_same_address_ends_the_first() {
    let ledger = ledger_of(&[(0x10, 1, made(100)), (0x10, 0, allocated(Kind::Pageable, 100)), (0x10, 2, made(7))]);
    assert_eq!(share(&ledger, Holder::Site(Site(1))).live[0], 0);
    assert_eq!(ledger.object(0x10).map(|object| (object.bytes, object.made)), Some((7, Site(2))));
    assert_eq!(ledger.objects().count(), 1);
    assert_eq!(ledger.account().memory(Kind::Pageable).live, 0, "its block was freed behind our back");
}

#[test]
fn a_block_from_before_the_first_event_is_not_taken_off_what_is_live() {
    let ledger = ledger_of(&[
        (0x10, 1, made(100)),
        (0x10, 0, allocated(Kind::Pageable, 100)),
        (0x20, 0, freed(Kind::Pageable, 100)),
    ]);
    assert_eq!(ledger.account().memory(Kind::Pageable).live, 100);
}

#[test]
fn what_ended_is_not_known_any_more() {
    let ledger = ledger_of(&[(0x10, 1, made(4)), (0x10, 0, Ended)]);
    assert!(!ledger.knows(0x10));
    assert_eq!((ledger.account().made, ledger.account().ended), (1, 1));
}

#[test]
fn peaks_can_be_begun_anew() {
    let mut ledger = ledger_of(&[
        (0x10, 1, made(100)),
        (0x10, 0, allocated(Kind::Pageable, 100)),
        (0x10, 0, freed(Kind::Pageable, 100)),
    ]);
    ledger.reset_peaks(9);
    assert_eq!(ledger.account().memory(Kind::Pageable).peak, 0);
    assert_eq!(share(&ledger, Holder::Site(Site(1))).at_peak[0], 0);
}

#[test]
fn a_forked_child_begins_with_nothing() {
    let mut ledger = ledger_of(&[(0x10, 1, made(100)), (0x10, 0, allocated(Kind::Pageable, 100))]);
    ledger.begin_anew();
    assert!(!ledger.knows(0x10));
    assert_eq!((ledger.account().made, ledger.account().memory(Kind::Pageable).live), (0, 0));
}

#[test]
fn a_block_that_was_replaced_before_its_end_was_told_is_counted_once() {
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
    // As when Caffe has made a blob: its shape is known after the first block.
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

#[derive(Debug, PartialEq)]
struct Figures {
    account: Account,
    holders: Vec<(Holder, Share)>,
    objects: Vec<(u64, u64, Site)>,
}

/// In an order of their own.
fn figures(ledger: &Ledger) -> Figures {
    let mut holders: Vec<_> = ledger.holders().filter(|(_, share)| *share != Share::default()).collect();
    holders.sort_unstable_by_key(|&(holder, _)| holder);
    let mut objects: Vec<_> = ledger.objects().map(|(address, object)| (address, object.bytes, object.made)).collect();
    objects.sort_unstable();
    Figures { account: *ledger.account(), holders, objects }
}

#[test]
fn a_block_with_its_zeros_and_an_end_with_its_block_count_as_their_events_do() {
    let (mut one, mut other, mut story) = (Ledger::new(), Ledger::new(), Story::default());
    let mut random = 1u64;
    let mut below = |most: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % most
    };
    for _ in 0..5000 {
        let (object, bytes, block) = (0x10 * below(20), 1 + below(3), 0x1000 + below(30));
        let mut both = |event: &Event| assert_eq!(one.take(event), other.take(event));
        match below(8) {
            0 | 1 if object > 0 => both(&story.event(object, 1 + below(4) as u32, made(bytes))),
            2 => both(&story.event(object, 0, Allocated { kind: Kind::Device, bytes, block, origin: Origin::Fresh })),
            3 if object > 0 => both(&story.event(object, 0, Resized { bytes })),
            4 if object > 0 => {
                let name = ["a", "b"][below(2) as usize];
                one.name(object, name);
                other.name(object, name);
            }
            5 | 6 => {
                let (side, access, ready) = (Side::Host, [Access::Read, Access::Write][below(2) as usize], false);
                let (kind, origin) = (Kind::ALL[below(2) as usize], [Origin::Fresh, Origin::Pool][below(2) as usize]);
                let (fill, needed) = ((below(2) == 0).then_some((bytes + 1, 7)), (below(2) == 0).then_some(access));
                let new = NewBlock { access: needed, kind, bytes, address: block, origin, allocation: 5, fill };
                let is_known = one.knows(object);
                assert_eq!(one.add_block(object, new), is_known);
                if is_known {
                    let mut tell =
                        |duration, what| other.take(&Event { start: 0, duration, ..story.event(object, 0, what) });
                    if needed.is_some() {
                        tell(0, Accessed { side, access, ready });
                    }
                    tell(5, Allocated { kind, bytes, block, origin });
                    if let Some((bytes, duration)) = fill {
                        tell(duration, Filled { side, bytes });
                    }
                }
            }
            7 if object > 0 => {
                // Its block, another one's, or none.
                let held = one.object(object).and_then(|object| object.block(Side::Host)).map(|block| block.address);
                let block = [None, Some(block), held][below(3) as usize];
                let is_known = one.knows(object);
                one.end(object, block.map(|address| (address, bytes)));
                if is_known {
                    if let Some(block) = block {
                        other.take(&story.event(object, 0, Freed { kind: Kind::Pageable, bytes, block }));
                    }
                    other.take(&story.event(object, 0, Ended));
                }
            }
            _ => {}
        }
        assert_eq!(figures(&one), figures(&other));
    }
    assert!(one.account().memory(Kind::Pageable).peak > 10 && one.account().ended > 100, "{:?}", one.account());
}
