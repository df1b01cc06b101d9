//! What an event means for the data of its object: the terms in which the rules are written.

use super::rates::{Cost, Time};
use super::rule::Subject;
use crate::observe::event::{Cause, Changed, Event, Path, Since, Site};
use crate::state::head::{Access, Side};

/// Something that happened to an object's data.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// The object is new.
    New,
    /// A caller asked for a side's address.
    Asked {
        /// The side.
        side: Side,
        /// For what.
        access: Access,
    },
    /// One side was copied to the other, or such a copy was started.
    Copied(Copy),
    /// A pull has come to its end: the host is up to date.
    Landed {
        /// Whether that was noticed by an access that is to write.
        by_writer: bool,
    },
    /// A side was filled with zeros.
    Filled {
        /// The side.
        side: Side,
        /// The access that needed it, if that is known.
        access: Option<Access>,
        /// Who asked.
        site: Site,
        /// What it cost.
        cost: Cost,
    },
    /// What a side holds was compared.
    Compared {
        /// The side.
        side: Side,
        /// With what.
        since: Since,
        /// What has changed.
        changed: Changed,
    },
    /// A writer has got the address of a side, which alone is the newest from now on.
    Written {
        /// The side.
        side: Side,
        /// How.
        access: Access,
        /// Who.
        site: Site,
    },
    /// What a side held is of no use any more.
    Void {
        /// The side.
        side: Side,
        /// Why.
        why: Why,
    },
    /// A caller's memory became a side.
    Lent {
        /// The side.
        side: Side,
    },
    /// A side has memory of the library's.
    Held {
        /// The side.
        side: Side,
        /// Bytes of the block.
        bytes: u64,
    },
    /// A side's memory was given back: because the object ends, if nothing else is said before that.
    Freed {
        /// The side.
        side: Side,
    },
    /// From now on not every access is told.
    OutOfSight,
    /// Something happens that does not belong to the object's end.
    GoesOn,
    /// That was all: the object has ended, or a report is asked for.
    End,
}

/// A copy.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// The side that was written.
    pub to: Side,
    /// The way it took.
    pub path: Path,
    /// What it was for.
    pub aim: Aim,
    /// Whether it goes on in the background.
    pub in_flight: bool,
    /// Who needed it.
    pub site: Site,
    /// What it cost.
    pub cost: Cost,
}

/// What a copy was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// An access, whose caller waited for it.
    Access(Access),
    /// A push or a pull: an access later on.
    Later,
    /// The other side is evicted.
    Eviction,
}

/// Why what a side held is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The other side was written.
    Written,
    /// All of it is overwritten, or the other side is; or a caller's memory took its place.
    Replaced,
    /// It was given back.
    GivenBack,
    /// The object has another size.
    Resized,
    /// The object has ended.
    Ended,
}

impl Copy {
    /// A copy that was waited for.
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
            cost: Cost { bytes, time: Time::measured(event.duration) },
        }
    }

    /// A copy that was started.
    pub fn started(event: &Event, to: Side, bytes: u64, path: Path) -> Copy {
        let cost = Cost { bytes, time: Time::on_stream(to, path) };
        Copy { to, path, aim: Aim::Later, in_flight: true, site: event.site, cost }
    }

    /// What advice about it is about.
    pub fn subject(&self) -> Subject {
        match self.aim {
            Aim::Eviction => Subject::EvictionTo(self.to),
            Aim::Access(_) | Aim::Later => Subject::CopyTo(self.to),
        }
    }
}
