//! Events of every kind.

use std::collections::HashMap;
use std::fmt::Debug;

use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::*;

const SIDES: [Side; 2] = [Side::Host, Side::Device];
const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Overwrite];
const PATHS: [Path; 2] = [Path::Pinned, Path::Pageable];
const CAUSES: [Cause; 4] =
    [Cause::Access(Access::Read), Cause::Access(Access::Write), Cause::Access(Access::Overwrite), Cause::Stream];
const NUMBERS: [u64; 3] = [0, 1 << 30, u64::MAX];

/// Everything that can happen, with every value of each field that has few, and the extremes of the others.
pub fn everything() -> Vec<What> {
    let mut all = vec![What::Ended, What::Synchronised];
    for bytes in NUMBERS {
        for noticed in [Noticed::Construction, Noticed::FirstAccess] {
            all.push(What::Made { bytes, noticed });
        }
        all.push(What::Resized { bytes });
        for kind in Kind::ALL {
            for origin in [Origin::Fresh, Origin::Pool, Origin::Arena] {
                all.push(What::Allocated { kind, bytes, block: bytes, origin });
            }
            all.push(What::Freed { kind, bytes, block: bytes });
        }
        for side in SIDES {
            all.push(What::Filled { side, bytes });
            all.extend(Refusal::ALL.map(|refusal| What::Failed { side, bytes, refusal, limit: 9 }));
            for path in PATHS {
                all.extend(CAUSES.map(|cause| What::Copied { to: side, bytes, path, cause }));
                all.push(What::Started { to: side, bytes, path, copy: bytes });
            }
            all.push(What::Completed { to: side, copy: bytes });
        }
    }
    for side in SIDES {
        all.extend([What::Lent { side }, What::Released { side }]);
        all.extend(ACCESSES.map(|access| What::Accessed { side, access }));
    }
    all
}

/// An event of each of them, at extremes of what events have in common.
pub fn all_events() -> Vec<Event> {
    let mut events = Vec::new();
    for what in everything() {
        for (object, site, thread) in [(0, 0, 1), (u64::MAX, u32::MAX, u32::MAX)] {
            for (start, duration) in [(0, 0), (1_234_567, 1), (u64::MAX - 999_999_999, 999_999_999)] {
                events.push(Event { start, duration, thread, object, site: Site(site), what });
            }
        }
    }
    events
}

/// A plausible run: on each thread, objects that are allocated, filled, copied both ways, in flight too, and freed, with
/// a wait inside an allocation.
pub fn a_run(threads: u32, rounds: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for round in 0..rounds {
        for thread in 0..threads {
            let mut clock = 1_000_000 + round * 100_000 + u64::from(thread) * 37;
            let object = 0x5000_0000 + u64::from(thread) * 0x1000;
            let copy = 1 + round * u64::from(threads) + u64::from(thread);
            let (bytes, block) = (4096 << (round % 8), object << 12);
            let mut add = |duration, after, what| {
                events.push(Event { start: clock, duration, thread: 100 + thread, object, site: Site(1), what });
                clock += after;
            };
            let (host, device) = (Side::Host, Side::Device);
            let read = Cause::Access(Access::Read);
            add(0, 10, What::Made { bytes, noticed: Noticed::Construction });
            add(0, 10, What::Accessed { side: host, access: Access::Write });
            add(900, 1000, What::Allocated { kind: Kind::Pinned, bytes, block, origin: Origin::Fresh });
            add(500, 500, What::Filled { side: host, bytes });
            // The allocation began first, and what is in it ends before it.
            add(300, 50, What::Allocated { kind: Kind::Device, bytes, block: block + 1, origin: Origin::Pool });
            add(200, 400, What::Synchronised);
            add(800, 900, What::Copied { to: device, bytes, path: Path::Pageable, cause: read });
            add(0, 10, What::Started { to: host, bytes, path: Path::Pinned, copy });
            add(70, 100, What::Completed { to: host, copy });
            add(0, 10, What::Freed { kind: Kind::Device, bytes, block: block + 1 });
            add(0, 10, What::Freed { kind: Kind::Pinned, bytes, block });
            add(0, 10, What::Ended);
        }
    }
    events.sort_by_key(|event| event.end());
    events
}

/// How many slices lie in others. On each track two are apart, or one is inside the other: viewers demand it.
pub fn nested<Track: Debug>(slices: HashMap<Track, Vec<(u64, u64)>>) -> usize {
    let mut nested = 0;
    for (track, mut slices) in slices {
        slices.sort_by_key(|&(begin, end)| (begin, std::cmp::Reverse(end)));
        let mut open: Vec<(u64, u64)> = Vec::new();
        for slice in slices {
            while open.last().is_some_and(|outer| outer.1 <= slice.0) {
                open.pop();
            }
            assert!(
                open.last().is_none_or(|outer| slice.1 <= outer.1),
                "on {track:?} {slice:?} sticks out of {open:?}"
            );
            nested += open.len().min(1);
            open.push(slice);
        }
    }
    nested
}
