use super::*;
use crate::evaluation::Evaluation;
use syncedmem_trace::event::Place;
use syncedmem_trace::event::{Cause, Event, Noticed, Origin, Path, What};
use syncedmem_trace::head::{Access, Side};

fn place(site: Site) -> Place {
    Place::of(format_args!("place {}", site.0))
}

/// The state after events of (object, site, nanoseconds, sort).
fn state_of(events: &[(u64, u32, u64, What)]) -> Evaluation {
    let mut all = Evaluation::new();
    let mut start = 0;
    for &(object, site, duration, what) in events {
        all.take(&Event { start, duration, thread: 1, object, site: Site(site), what });
        start += duration + 1;
    }
    all.ledger_mut().name(0x30, "data");
    all
}

fn text_of(all: &Evaluation) -> String {
    let (summary, advice) = (&Summary::of(all.ledger()), &all.advice());
    let idle = [Idle { bytes: 1 << 20, budget: 4 << 20 }; 3];
    let about = About { program: "caffe", process: 7, idle: Some(idle), not_ours: &[(0, 512 << 20)] };
    format!("{}", Report { summary, advice, every_access: all.has_every_access(), about: &about, place })
}

fn made(bytes: u64) -> What {
    What::Made { bytes, noticed: Noticed::Construction }
}

fn allocated(kind: Kind, bytes: u64) -> What {
    What::Allocated { kind, bytes, block: 0x1000, origin: Origin::Fresh }
}

fn three_objects() -> Vec<(u64, u32, u64, What)> {
    vec![
        (0x10, 1, 0, made(2 << 20)),
        (0x20, 2, 0, made(1 << 20)),
        (0x30, 2, 0, made(8 << 20)),
        (0x10, 0, 1500, allocated(Kind::Pageable, 2 << 20)),
        (0x20, 0, 500, allocated(Kind::Pageable, 1 << 20)),
        (0x10, 0, 0, What::Filled { side: Side::Host, bytes: 2 << 20 }),
        (0x30, 0, 0, allocated(Kind::Device, 8 << 20)),
        (0x10, 3, 2_000_000, copied(Side::Device, Path::Pageable, 2 << 20)),
    ]
}

fn copied(to: Side, path: Path, bytes: u64) -> What {
    What::Copied { to, bytes, path, cause: Cause::Access(Access::Read) }
}

#[test]
fn holders_are_listed_the_largest_first_by_name_or_by_maker() {
    let summary = Summary::of(state_of(&three_objects()).ledger());
    let at_peak: Vec<_> = summary.at_peak(Kind::Pageable).iter().map(|entry| entry.label.clone()).collect();
    assert_eq!(at_peak, [Label::Site(Site(1)), Label::Site(Site(2))]);
    let device: Vec<_> = summary.now(Kind::Device).iter().map(|entry| entry.label.clone()).collect();
    assert_eq!(device, [Label::Name("data".into())]);
}

#[test]
fn the_text_has_the_account_s_figures_and_nothing_that_did_not_happen() {
    let text = text_of(&state_of(&three_objects()));
    for line in [
        "libsyncedmem: memory of caffe (process 7)",
        "objects made: 3, ended: 0, alive: 3",
        "  pageable       3.0 MiB     3.0 MiB     1.0 MiB     4.0 MiB",
        "  device 0: 512.0 MiB are in use beyond libsyncedmem",
        "     2.0 MiB in     1 block   place 1",
        "     8.0 MiB in     1 block   data",
        "  pageable memory from the system                    2     3.0 MiB      2.0 us",
        "  copy to the device, pageable                       1     2.0 MiB      2.0 ms",
    ] {
        assert!(text.lines().any(|told| told == line), "{line:?} is not in\n{text}");
    }
    assert!(!text.contains("copy to the host"), "{text}");
    assert!(!text.contains("failed"), "{text}");
}

#[test]
fn where_layers_have_names_memory_is_summed_by_role_the_largest_first() {
    let mut all = Evaluation::new();
    for (object, bytes, name) in
        [(0x10, 3, "fc6 weights"), (0x20, 3, "fc7 weights"), (0x30, 1, "fc6 output"), (0x40, 1, "")]
    {
        for what in [made(bytes << 20), allocated(Kind::Pageable, bytes << 20)] {
            all.take(&Event { start: 0, duration: 0, thread: 1, object, site: Site(1), what });
        }
        if !name.is_empty() {
            all.ledger_mut().name(object, name);
        }
    }
    let text = text_of(&all);
    let roles = text.split("pageable memory at its peak of 8.0 MiB, by role\n").nth(1).unwrap_or_default();
    let expected = "     6.0 MiB  75.0 %  weights\n     1.0 MiB  12.5 %  activations\n     1.0 MiB  12.5 %  without a layer's name\n\n";
    assert!(roles.starts_with(expected), "{text}");
    assert!(!text_of(&state_of(&three_objects())).contains("by role"));
}

#[test]
fn a_holder_of_less_than_at_the_peak_is_listed_too() {
    let mut events = three_objects();
    assert!(!text_of(&state_of(&events)).contains("of it now"), "all of it was just told");
    events.push((0x10, 0, 0, What::Freed { kind: Kind::Pageable, bytes: 2 << 20, block: 0x1000 }));
    let text = text_of(&state_of(&events));
    let now = text.split("who holds 1.0 MiB of it now\n").nth(1).unwrap_or_default();
    assert!(now.starts_with("     1.0 MiB in     1 block   place 2\n\n"), "{text}");
}

#[test]
fn objects_that_were_first_seen_at_an_access_are_told_as_such() {
    let unseen = What::Made { bytes: 8, noticed: Noticed::FirstAccess };
    let text = text_of(&state_of(&[(0x10, 1, 0, unseen)]));
    assert!(text.contains("1 of them were noticed at an access"), "{text}");
    assert!(!text_of(&state_of(&three_objects())).contains("noticed at an access"));
}

#[test]
fn advice_that_says_the_same_of_several_places_says_it_once() {
    let mut events = Vec::new();
    for object in [0x40, 0x50, 0x60] {
        events.push((object, object as u32, 0, made(1 << 20)));
        for to in [Side::Device, Side::Host, Side::Device, Side::Host, Side::Device] {
            events.push((object, 9, 0, What::Accessed { side: to, access: Access::Write, ready: false }));
            events.push((object, 9, 1000, copied(to, Path::Pinned, 1 << 20)));
        }
    }
    let state = state_of(&events);
    assert_eq!(state.advice().iter().filter(|advice| advice.rule.name() == "ping-pong").count(), 3);
    let text = text_of(&state);
    assert_eq!(text.matches(". ping-pong, certain: ").count(), 1, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    for object in [0x40, 0x50, 0x60] {
        assert!(text.contains(&format!("1 object made by place {object}")), "{text}");
    }
}

#[test]
fn where_nothing_could_be_spared_the_summary_says_so_and_what_was_not_watched() {
    let text = text_of(&state_of(&[(0x10, 1, 0, made(8))]));
    assert!(text.contains("advice: none"), "{text}");
    assert!(text.contains("SYNCEDMEM_ACCOUNT=accesses"), "{text}");
}
