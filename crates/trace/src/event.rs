//! The vocabulary of observation: one [`Event`] for each thing that happened to memory, in the process or read from a trace.

use crate::head::{Access, Side};
use crate::kind::Kind;
use crate::text::Text;

/// A call site: a number for a few frames of the caller's stack. [`Site::UNKNOWN`] if no stack was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u32);

impl Site {
    /// No stack was recorded.
    pub const UNKNOWN: Site = Site(0);
}

/// The text of a site, such as `caffe::Blob<float>::Reshape (libcaffe.so.1.0.0)`.
pub type Place = Text<400>;

/// One thing that happened to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Start: nanoseconds of CLOCK_MONOTONIC.
    pub start: u64,
    /// Duration in nanoseconds; 0 where it is not measured.
    pub duration: u64,
    /// The kernel's thread id.
    pub thread: u32,
    /// Address of the object; 0 for none. Addresses are reused: `Made` begins another object.
    pub object: u64,
    /// The call site: for `Made`, of the object's creation; for a copy, of the access that needed it.
    pub site: Site,
    pub what: What,
}

impl Event {
    /// End of the event. Events are recorded in this order.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// The sorts of events. Sizes of allocations are the block's, which may exceed the request by up to an eighth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An object was made.
    Made {
        bytes: u64,
        /// How the library noticed the object.
        noticed: Noticed,
    },
    /// An object was destroyed. Its blocks were freed before.
    Ended,
    /// An object got another size, and holds no data now.
    Resized {
        /// The new size in bytes.
        bytes: u64,
    },
    /// A caller asked for a side's address. The events that this access needs follow it. An access that needs nothing
    /// is recorded only while every access is counted.
    Accessed {
        side: Side,
        access: Access,
        /// Whether nothing had to be done: the side held the newest data (reading), or was the only one that did (writing).
        ready: bool,
    },
    /// A block was allocated.
    Allocated {
        kind: Kind,
        bytes: u64,
        block: u64,
        /// The block's source.
        origin: Origin,
    },
    /// An object gave its block back.
    Freed { kind: Kind, bytes: u64, block: u64 },
    /// A side was filled with zeros, because its first access was not an overwrite. Memory that the system gives as zeros is not
    /// filled.
    Filled { side: Side, bytes: u64 },
    /// A side was copied to the other one, and the caller waited for the copy.
    Copied {
        /// The side that was written.
        to: Side,
        bytes: u64,
        path: Path,
        cause: Cause,
    },
    /// A copy was started on a caller's stream.
    Started {
        /// The side that is written.
        to: Side,
        bytes: u64,
        path: Path,
        /// The copy's own number, never 0.
        copy: u64,
    },
    /// A copy that was started is known to be complete. The duration is the time that a caller waited for it.
    Completed {
        /// The side that was written.
        to: Side,
        /// The copy's number.
        copy: u64,
    },
    /// A side's contents were compared with its contents at its fill, or when both sides were last equal.
    Compared {
        /// The side that was read: always the host.
        side: Side,
        /// The contents to compare with.
        since: Since,
        changed: Changed,
    },
    /// The caller's own memory became a side (`set_cpu_data`, `set_gpu_data`).
    Lent { side: Side },
    /// A side was given back at the caller's request.
    Released { side: Side },
    /// A side was given back to make room for another allocation.
    Evicted {
        side: Side,
        bytes: u64,
        /// Whether the side held the newest data. They were copied to the other side before.
        newest: bool,
    },
    /// Pageable memory was page-locked where it is.
    Registered { bytes: u64 },
    /// The library waited for a context before it handed out, evicted or unlocked a block of it.
    Synchronised,
    /// A budget was used up: a block was not kept for reuse, or not page-locked.
    TurnedAway {
        /// The kind of memory that the budget limits.
        kind: Kind,
        /// Size of the block in bytes.
        bytes: u64,
    },
    /// An allocation failed, and its caller got the error.
    Failed {
        /// The side that the block was for.
        side: Side,
        /// The bytes that were requested.
        bytes: u64,
    },
}

/// How the library noticed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// At its construction.
    Construction,
    /// At the first access that needed something. The constructor is inlined into its user, or ran before observation
    /// began. The site is that access's.
    FirstAccess,
}

/// The source of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The system or the driver.
    Fresh,
    /// A cache of blocks that objects gave back.
    Pool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// Directly from or to page-locked memory.
    Pinned,
    /// In pieces through the library's page-locked staging buffers.
    Staged,
    /// From or to pageable memory, by the driver.
    Pageable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An access to the side that was written.
    Access(Access),
    /// The other side was evicted to make room.
    Eviction,
    /// A caller asked for a copy on a stream, and the library waited for it because the driver gave no event.
    Stream,
}

/// The contents that a comparison refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The zeros of the side's fill.
    Fill,
    /// The contents of both sides at their last copy.
    Copy,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// No byte.
    Nothing,
    /// Some of the sampled words.
    Part,
    /// Every sampled word.
    Everything,
}

impl Path {
    /// The word for it in reports and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Pinned => "pinned",
            Path::Staged => "staged",
            Path::Pageable => "pageable",
        }
    }
}

impl Cause {
    /// The access that needed a copy, if an access did.
    pub fn access(self) -> Option<Access> {
        match self {
            Cause::Access(access) => Some(access),
            Cause::Eviction | Cause::Stream => None,
        }
    }
}

impl Origin {
    /// The word for it in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Fresh => "fresh",
            Origin::Pool => "pool",
        }
    }
}
