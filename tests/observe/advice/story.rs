//! Events, in few words: each a nanosecond after the last, unless it takes longer.

use syncedmem_trace::event::*;
use syncedmem_trace::head::{Access, Side};
use syncedmem_trace::kind::Kind;

pub use syncedmem_trace::head::Access::{Overwrite, Read, Write};
pub use syncedmem_trace::head::Side::{Device, Host};

/// The site that makes every object, unless another is named.
pub const MAKER: Site = Site(7);

/// An event without its time: who asked, how long it took, and what it was.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub object: u64,
    pub site: Site,
    pub duration: u64,
    pub what: What,
}

/// An event of one object, from an unnamed site.
fn told(what: What) -> Told {
    Told { object: 0x10, site: Site(0), duration: 0, what }
}

impl Told {
    pub fn at(self, site: u32) -> Told {
        Told { site: Site(site), ..self }
    }

    pub fn taking(self, duration: u64) -> Told {
        Told { duration, ..self }
    }

    pub fn of(self, object: u64) -> Told {
        Told { object, ..self }
    }
}

pub fn made(bytes: u64) -> Told {
    Told { site: MAKER, ..told(What::Made { bytes, noticed: Noticed::Construction }) }
}

/// Functions that make an event of the one object, or of none.
macro_rules! told {
    ($($(#[$about:meta])* $name:ident($($field:ident: $kind:ty),*) => $what:expr;)*) => {
        $($(#[$about])* pub fn $name($($field: $kind),*) -> Told { told($what) })*
    };
}

told! {
    /// An access that needs something.
    asked(side: Side, access: Access) => What::Accessed { side, access, ready: false };
    /// An access that needs nothing: told only where every access is.
    ready(side: Side, access: Access) => What::Accessed { side, access, ready: true };
    fresh(kind: Kind, bytes: u64) => What::Allocated { kind, bytes, block: 0x1000, origin: Origin::Fresh };
    freed(kind: Kind, bytes: u64) => What::Freed { kind, bytes, block: 0x1000 };
    filled(side: Side, bytes: u64) => What::Filled { side, bytes };
    copied(to: Side, access: Access, bytes: u64, path: Path) => What::Copied { to, bytes, path, cause: Cause::Access(access) };
    pushed_at_once(bytes: u64) => What::Copied { to: Device, bytes, path: Path::Pinned, cause: Cause::Stream };
    started(to: Side, bytes: u64, path: Path) => What::Started { to, bytes, path, copy: 1 };
    completed(to: Side) => What::Completed { to, copy: 1 };
    lent(side: Side) => What::Lent { side };
    released(side: Side) => What::Released { side };
    evicted(bytes: u64) => What::Evicted { bytes };
    failed(side: Side, bytes: u64) => What::Failed { side, bytes, refusal: Refusal::System, limit: 0 };
    resized(bytes: u64) => What::Resized { bytes };
    ended() => What::Ended;
}

/// Made before anything was observed.
pub fn first_seen(bytes: u64) -> Told {
    Told { site: MAKER, ..told(What::Made { bytes, noticed: Noticed::FirstAccess }) }
}

/// The events, with their times.
pub fn events(story: &[Told]) -> Vec<Event> {
    let mut time = 1;
    let timed = story.iter().map(|told| {
        let start = time;
        time += told.duration + 1;
        Event { start, duration: told.duration, thread: 1, object: told.object, site: told.site, what: told.what }
    });
    timed.collect()
}
