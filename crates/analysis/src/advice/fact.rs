//! The rules' view of events.

use super::rates::{Cost, Time};
use super::rule::Subject;
use syncedmem_trace::event::{Cause, Event, Path, Site};
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
    /// Done or started.
    Copied(Copy),
    /// A pull is complete; `by_writer`: a writing access found that.
    Landed {
        by_writer: bool,
    },
    Filled {
        side: Side,
    },
    /// A writer got a side's address: only this side is up to date.
    Written {
        side: Side,
    },
    Void {
        side: Side,
        why: Why,
    },
    Lent {
        side: Side,
    },
    /// A side got a block of the library.
    Held {
        side: Side,
        bytes: u64,
    },
    /// If no other fact explains that, the object is ending.
    Freed {
        side: Side,
    },
    /// Not every access is recorded from now on.
    OutOfSight,
    /// An event that does not belong to the object's end.
    GoesOn,
    /// The object has ended, or a report is made now.
    End,
}

#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub to: Side,
    pub path: Path,
    /// A push or a pull, for a later access; else an access waited for it.
    pub is_for_later: bool,
    pub in_flight: bool,
    pub site: Site,
    pub cost: Cost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The other side was written.
    Written,
    /// A side is overwritten whole, or a caller's memory took its place.
    Replaced,
    GivenBack,
    Resized,
    Ended,
}

impl Copy {
    pub fn done(event: &Event, to: Side, bytes: u64, path: Path, cause: Cause) -> Copy {
        Copy {
            to,
            path,
            is_for_later: cause == Cause::Stream,
            in_flight: false,
            site: event.site,
            cost: Cost { bytes, time: Time::Measured(event.duration) },
        }
    }

    pub fn started(event: &Event, to: Side, bytes: u64, path: Path) -> Copy {
        let cost = Cost { bytes, time: Time::OnStream(to, path) };
        Copy { to, path, is_for_later: true, in_flight: true, site: event.site, cost }
    }

    pub fn subject(&self) -> Subject {
        Subject::CopyTo(self.to)
    }
}
