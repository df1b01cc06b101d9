//! The rules' view of events.

use super::rates::{Cost, Time};
use super::rule::Subject;
use syncedmem_trace::event::{Cause, Changed, Event, Path, Since, Site};
use syncedmem_trace::head::{Access, Side};

/// Something that happened to an object's data.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    New,
    /// A caller asked for a side's address.
    Asked {
        side: Side,
        access: Access,
    },
    /// One side was copied to the other, or such a copy was started.
    Copied(Copy),
    /// A pull is complete: the host is up to date.
    Landed {
        /// Whether a writing access found it complete.
        by_writer: bool,
    },
    /// A side was filled with zeros.
    Filled {
        side: Side,
        /// The access that needed the fill, if it is known.
        access: Option<Access>,
        site: Site,
        cost: Cost,
    },
    Compared {
        side: Side,
        since: Since,
        changed: Changed,
    },
    /// A writer got the address of a side. Only this side is up to date now.
    Written {
        side: Side,
        access: Access,
        site: Site,
    },
    /// A side's contents became useless.
    Void {
        side: Side,
        why: Why,
    },
    /// A caller's memory became a side.
    Lent {
        side: Side,
    },
    /// A side got a block of the library.
    Held {
        side: Side,
        bytes: u64,
    },
    /// A side's block was freed. If no other fact explains that, the object is ending.
    Freed {
        side: Side,
    },
    /// From now on not every access is recorded.
    OutOfSight,
    /// An event that does not belong to the object's end.
    GoesOn,
    /// The last fact: the object has ended, or a report is made now.
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// The side that was written.
    pub to: Side,
    pub path: Path,
    pub aim: Aim,
    pub in_flight: bool,
    /// The call site that needed it.
    pub site: Site,
    pub cost: Cost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// An access, whose caller waited for it.
    Access(Access),
    /// A push or a pull, for a later access.
    Later,
    /// The other side's.
    Eviction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The other side was written.
    Written,
    /// One of the sides is overwritten whole, or a caller's memory took its place.
    Replaced,
    GivenBack,
    /// The object has another size.
    Resized,
    Ended,
}

impl Copy {
    /// A copy that its caller waited for.
    pub fn done(event: &Event, to: Side, bytes: u64, path: Path, cause: Cause) -> Copy {
        let aim = match cause {
            Cause::Access(access) => Aim::Access(access),
            Cause::Eviction => Aim::Eviction,
            Cause::Stream => Aim::Later,
        };
        Copy {
            to,
            path,
            aim,
            in_flight: false,
            site: event.site,
            cost: Cost { bytes, time: Time::Measured(event.duration) },
        }
    }

    /// A copy in flight.
    pub fn started(event: &Event, to: Side, bytes: u64, path: Path) -> Copy {
        let cost = Cost { bytes, time: Time::OnStream(to, path) };
        Copy { to, path, aim: Aim::Later, in_flight: true, site: event.site, cost }
    }

    pub fn subject(&self) -> Subject {
        match self.aim {
            Aim::Eviction => Subject::EvictionTo(self.to),
            Aim::Access(_) | Aim::Later => Subject::CopyTo(self.to),
        }
    }
}
