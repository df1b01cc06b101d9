//! Events for the tests.

use syncedmem_trace::event::{Cause, Event, Origin, Path, Site, What};
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;

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
