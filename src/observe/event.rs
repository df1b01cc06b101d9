//! What can be observed of memory: one value for each thing that happened, in the process or read back from a trace.

use crate::state::head::{Access, Side};
use crate::state::kind::Kind;

/// A place in the program that called: a number that stands for a few frames of its stack. [`Site::UNKNOWN`] where none was
/// taken down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u32);

impl Site {
    /// No place was taken down.
    pub const UNKNOWN: Site = Site(0);
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began: nanoseconds of CLOCK_MONOTONIC.
    pub start: u64,
    /// How long it took, in nanoseconds; 0 where that is not measured.
    pub duration: u64,
    /// The kernel's number of the thread.
    pub thread: u32,
    /// Address of the object that it is about; 0 for none. Addresses are used again: `Made` begins another object.
    pub object: u64,
    /// Who asked for it: of `Made`, who made the object; of a copy, whose access needed it.
    pub site: Site,
    /// What it was.
    pub what: What,
}

impl Event {
    /// When it was over. Events are told in this order.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// What happened. Bytes of allocations are those of the block, which may exceed what was asked for by up to an eighth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An object came to be.
    Made {
        /// Its size.
        bytes: u64,
        /// How that was noticed.
        noticed: Noticed,
    },
    /// An object was destroyed. What it held was freed before.
    Ended,
    /// An object has another size, and no data.
    Resized {
        /// The new size.
        bytes: u64,
    },
    /// A caller asks for a side's address. What that needs comes next. An access that needs nothing is told only where every
    /// access is counted.
    Accessed {
        /// The side.
        side: Side,
        /// For what.
        access: Access,
        /// Whether the side held the newest data, for reading, or it alone did, for writing: nothing was to be done.
        ready: bool,
    },
    /// A block was allocated.
    Allocated {
        /// What it is made of.
        kind: Kind,
        /// Its size.
        bytes: u64,
        /// Its address.
        block: u64,
        /// Where it came from.
        origin: Origin,
    },
    /// An object gave its block back.
    Freed {
        /// What it is made of.
        kind: Kind,
        /// Its size.
        bytes: u64,
        /// Its address.
        block: u64,
    },
    /// A side was filled with zeros, because its first access was not for overwriting.
    Filled {
        /// The side.
        side: Side,
        /// Its size.
        bytes: u64,
    },
    /// A side was copied to the other one, and the caller waited for it.
    Copied {
        /// The side that was written.
        to: Side,
        /// How many bytes.
        bytes: u64,
        /// The way they took.
        path: Path,
        /// What needed the copy.
        cause: Cause,
    },
    /// A copy was started on a caller's stream.
    Started {
        /// The side that is written.
        to: Side,
        /// How many bytes.
        bytes: u64,
        /// The way they take.
        path: Path,
        /// A number of its own, never 0.
        copy: u64,
    },
    /// A copy that was started is known to be done. The duration is what was waited for it.
    Completed {
        /// The side that was written.
        to: Side,
        /// Its number.
        copy: u64,
    },
    /// What a side held was compared with what it had held when it was filled, or last the same as the other side.
    Compared {
        /// The side that was looked at: the host, whose memory alone can be.
        side: Side,
        /// What it had held.
        since: Since,
        /// What has changed.
        changed: Changed,
    },
    /// The caller's own memory became a side.
    Lent {
        /// The side.
        side: Side,
    },
    /// A side was given back because the caller said so.
    Released {
        /// The side.
        side: Side,
    },
    /// A side was given back to make room for another allocation.
    Evicted {
        /// The side.
        side: Side,
        /// Its size.
        bytes: u64,
        /// Whether it held the newest data, which was copied to the other side before.
        newest: bool,
    },
    /// Pageable memory was page-locked where it is.
    Registered {
        /// How many bytes.
        bytes: u64,
    },
    /// A context was waited for, before a block in it could be handed out again, evicted, or unlocked.
    Synchronised,
    /// A block was not kept for the next object, or one was not page-locked, because a budget was used up.
    TurnedAway {
        /// The kind of memory whose budget that is.
        kind: Kind,
        /// The block's size.
        bytes: u64,
    },
    /// An allocation failed for good, and its caller was told.
    Failed {
        /// The side that it was for.
        side: Side,
        /// How many bytes were asked for.
        bytes: u64,
    },
}

/// How an object was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// At its construction.
    Construction,
    /// At the first access that needed something: its constructor is compiled into its user, or came before anything was
    /// observed. The site is that access.
    FirstAccess,
}

/// Where a block came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The system or the driver.
    Fresh,
    /// The blocks that were given back before.
    Pool,
}

/// The way that a copy took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// Straight from or to page-locked memory.
    Pinned,
    /// In pieces through page-locked slots of this library.
    Staged,
    /// From or to pageable memory, as the driver does it.
    Pageable,
}

/// What needed a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An access to the side that was written.
    Access(Access),
    /// The other side was given back to make room.
    Eviction,
    /// A caller asked for a copy on a stream, and it was waited for: the driver gave nothing to know its end by.
    Stream,
}

/// What contents are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The zeros that it was filled with.
    Fill,
    /// What both sides held when the one was last copied to the other.
    Copy,
}

/// What has changed in contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// No byte.
    Nothing,
    /// Some of the places that were looked at.
    Part,
    /// Every one of the places that were looked at.
    Everything,
}

impl Path {
    /// The word used for it.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Pinned => "pinned",
            Path::Staged => "staged",
            Path::Pageable => "pageable",
        }
    }
}
