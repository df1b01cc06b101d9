//! Events for the tests.

use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_trace::event::{Cause, Event, Noticed, Origin, Path, Site, What};

use super::facts::Process;
use super::gather::Gathering;

pub fn at(start: u64, duration: u64, what: What) -> Event {
    Event { start, duration, thread: 1, object: 0x1000, site: Site(1), what }
}

/// A block from the system or the driver.
pub fn allocated(kind: Kind, bytes: u64) -> What {
    What::Allocated { kind, bytes, block: 0x10_0000, origin: Origin::Fresh }
}

pub fn freed(kind: Kind, bytes: u64) -> What {
    What::Freed { kind, bytes, block: 0x10_0000 }
}

/// A copy that an access needed.
pub fn copied(to: Side, bytes: u64) -> What {
    What::Copied { to, bytes, path: Path::Pageable, cause: Cause::Access(Access::Read) }
}

/// Events of an object on both sides.
pub fn life() -> Vec<Event> {
    let path = Path::Pinned;
    let cause = Cause::Access(Access::Read);
    vec![
        at(1000, 0, What::Made { bytes: 4096, noticed: Noticed::FirstAccess }),
        at(1010, 20, allocated(Kind::Pinned, 4096)),
        at(1030, 5, What::Filled { side: Side::Host, bytes: 4096 }),
        at(1050, 40, allocated(Kind::Device, 4608)),
        at(1100, 70, What::Copied { to: Side::Device, bytes: 4096, path, cause }),
        at(1200, 80, copied(Side::Host, 4096)),
        at(1300, 3, What::Completed { to: Side::Host, copy: 1 }),
        at(1310, 30, What::Synchronised),
        at(1500, 2, freed(Kind::Device, 4608)),
        at(1510, 0, What::Allocated { kind: Kind::Device, bytes: 4608, block: 8, origin: Origin::Pool }),
    ]
}

pub fn process(events: &[Event]) -> Process {
    let mut gathering = Gathering::default();
    events.iter().for_each(|event| gathering.take(event));
    gathering.finish(77, "caffe train".to_string(), [1, 2].map(|n| (Site(n), format!("place {n}"))).into())
}

/// Nanoseconds that a measurement may be wrong: the kernel counts some milliseconds at once.
pub const TICKS: u64 = 50_000_000;

/// Nanoseconds on a processor, the least of three runs.
pub fn cost(of: impl Fn()) -> u64 {
    let now = || -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a kernel with schedstat");
        stat.split(' ').next().and_then(|time| time.parse().ok()).expect("a number")
    };
    let once = |_| {
        let begin = now();
        of();
        now() - begin
    };
    (0..3).map(once).min().unwrap_or(0)
}
