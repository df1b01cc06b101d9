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
    let mut all = Evaluation::default();
    let mut start = 0;
    for &(object, site, duration, what) in events {
        all.take(&Event { start, duration, thread: 1, object, site: Site(site), what });
        start += duration + 1;
    }
    all.ledger_mut().name(0x30, "data");
    all
}

fn text_of(all: &Evaluation) -> String {
    format!("{}", Report { summary: &Summary::of(all.ledger()), program: "caffe", process: 7, place })
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
    let device: Vec<_> = summary.at_peak(Kind::Device).iter().map(|entry| entry.label.clone()).collect();
    assert_eq!(device, [Label::Name("data".into())]);
}

#[test]
fn the_text_has_the_account_s_figures_and_nothing_that_did_not_happen() {
    let text = text_of(&state_of(&three_objects()));
    for line in [
        "libsyncedmem: memory of caffe (process 7)",
        "objects made: 3, ended: 0, alive: 3",
        "pageable memory: 3.0 MiB at its peak, 3.0 MiB now",
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
fn where_layers_have_names_memory_is_summed_by_role() {
    let mut all = Evaluation::default();
    for (object, bytes, name) in
        [(0x10, 3, "fc6 weights"), (0x20, 3, "fc7 weights"), (0x30, 1, "fc6 output"), (0x40, 1, "")]
    {
        for what in [made(bytes), allocated(Kind::Pageable, bytes)] {
            all.take(&Event { start: 0, duration: 0, thread: 1, object, site: Site(1), what });
        }
        if !name.is_empty() {
            all.ledger_mut().name(object, name);
        }
    }
    let (roles, others) = Summary::of(all.ledger()).roles_at_peak(Kind::Pageable);
    let of = |role: Role| roles[role as usize];
    assert_eq!((of(Role::Weights), of(Role::Activations), others), (6, 1, 1));
}

#[test]
fn objects_that_were_first_seen_at_an_access_are_told_as_such() {
    let unseen = What::Made { bytes: 8, noticed: Noticed::FirstAccess };
    let text = text_of(&state_of(&[(0x10, 1, 0, unseen)]));
    assert!(text.contains("objects made: 1 (1 were first seen at an access"), "{text}");
    assert!(!text_of(&state_of(&three_objects())).contains("first seen"));
}
