//! One [`Event`] for each thing that happened to memory, in the process or read from a trace.

use syncedmem_core::head::{Access, Side};
use syncedmem_core::kind::Kind;
use syncedmem_core::text::Text;

/// A call site: a number for a few frames of the caller's stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u32);

impl Site {
    /// No stack was recorded.
    pub const UNKNOWN: Site = Site(0);
}

/// The text of a site, such as `caffe::Blob<float>::Reshape (libcaffe.so.1.0.0)`.
pub type Place = Text<400>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub start: u64,
    /// Nanoseconds; 0: not measured.
    pub duration: u64,
    /// The kernel's thread id.
    pub thread: u32,
    /// Address; 0 for none. Addresses are reused: `Made` begins another object.
    pub object: u64,
    /// For `Made`, where the object was created; for a copy, the access that needed it.
    pub site: Site,
    pub what: What,
}

impl Event {
    /// Events are recorded in this order.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// Sizes of allocations are the block's: up to an eighth above the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Made {
        bytes: u64,
        noticed: Noticed,
    },
    /// Its blocks were freed before.
    Ended,
    /// The object holds no data now.
    Resized {
        bytes: u64,
    },
    /// A caller asked for a side's address; the events that this needs follow. An access that needs none is not recorded.
    Accessed {
        side: Side,
        access: Access,
    },
    Allocated {
        kind: Kind,
        bytes: u64,
        block: u64,
        origin: Origin,
    },
    /// An object gave its block back.
    Freed {
        kind: Kind,
        bytes: u64,
        block: u64,
    },
    /// The side's first access was not an overwrite, and the system did not give zeros.
    Filled {
        side: Side,
        bytes: u64,
    },
    /// One side to the other, and the caller waited.
    Copied {
        /// The side that is written, here and below.
        to: Side,
        bytes: u64,
        path: Path,
        cause: Cause,
    },
    /// On a caller's stream.
    Started {
        to: Side,
        bytes: u64,
        path: Path,
        /// Never 0.
        copy: u64,
    },
    /// A copy that was started is complete. The duration is the time that a caller waited for it.
    Completed {
        to: Side,
        copy: u64,
    },
    /// `set_cpu_data`, `set_gpu_data`.
    Lent {
        side: Side,
    },
    /// At the caller's request.
    Released {
        side: Side,
    },
    /// A context was synchronized, before a block of it was handed out again.
    Synchronised,
    /// Its caller got the error.
    Failed {
        side: Side,
        bytes: u64,
        refusal: Refusal,
        /// The limit in bytes, of a device its memory; 0: none, or not known.
        limit: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    Construction,
    /// At the first access that needed something, whose site it has: the constructor is inlined, or ran before.
    FirstAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Fresh,
    Pool,
    /// The thread's arena, which lends memory to objects that share it.
    Arena,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    Pinned,
    /// From or to pageable memory.
    Pageable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Access(Access),
    /// A caller's copy on a stream that the library waited for, because the driver gave no event.
    Stream,
}

/// What an allocation failed at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// At no limit that is known.
    #[default]
    System,
    /// RLIMIT_AS.
    AddressSpace,
    /// RLIMIT_DATA.
    Data,
    /// `vm.max_map_count`, which is no number of bytes.
    Mappings,
    /// The commit limit, where `vm.overcommit_memory` is 2.
    Commit,
    /// `SYNCEDMEM_HOST_LIMIT`.
    HostLimit,
    Device,
    /// No address space holds that many bytes.
    Size,
}

impl Refusal {
    pub const ALL: [Refusal; 8] = [
        Refusal::System,
        Refusal::AddressSpace,
        Refusal::Data,
        Refusal::Mappings,
        Refusal::Commit,
        Refusal::HostLimit,
        Refusal::Device,
        Refusal::Size,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Refusal::System => "system",
            Refusal::AddressSpace => "address space",
            Refusal::Data => "data",
            Refusal::Mappings => "mappings",
            Refusal::Commit => "commit",
            Refusal::HostLimit => "host limit",
            Refusal::Device => "device",
            Refusal::Size => "size",
        }
    }
}

impl Path {
    pub const fn name(self) -> &'static str {
        match self {
            Path::Pinned => "pinned",
            Path::Pageable => "pageable",
        }
    }
}

impl Origin {
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Fresh => "fresh",
            Origin::Pool => "pool",
            Origin::Arena => "arena",
        }
    }
}

/// A pass through a net, or an update of its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub start: u64,
    /// Nanoseconds.
    pub duration: u64,
    pub thread: u32,
    pub kind: PassKind,
    /// The solver's, of an update.
    pub iteration: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    Forward,
    Backward,
    Update,
    /// Forward, through a net in phase TEST.
    Test,
}

impl PassKind {
    pub const ALL: [PassKind; 4] = [PassKind::Forward, PassKind::Backward, PassKind::Update, PassKind::Test];

    pub const fn name(self) -> &'static str {
        match self {
            PassKind::Forward => "forward",
            PassKind::Backward => "backward",
            PassKind::Update => "update",
            PassKind::Test => "test",
        }
    }
}
