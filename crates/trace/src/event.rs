//! An [`Event`] is one thing that happened to memory, in this process or read from a trace.

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
    /// The call site: for `Made` the constructor's, for a copy that of the access that needed it.
    pub site: Site,
    pub what: What,
}

impl Event {
    /// Events are recorded in this order.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// What happened. The bytes of an allocation are those of the block: up to an eighth more than the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Made {
        bytes: u64,
        noticed: Noticed,
    },
    /// The object ended. Its blocks were freed before.
    Ended,
    /// The object has another size, and holds no data now.
    Resized {
        bytes: u64,
    },
    /// A caller asked for the address of a side. The events that this needs follow; an access that needs none is not recorded.
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
    /// An object returned its block.
    Freed {
        kind: Kind,
        bytes: u64,
        block: u64,
    },
    /// A side was filled with zeros: its first access was not an overwrite, and the system did not give zeros.
    Filled {
        side: Side,
        bytes: u64,
    },
    /// A copy from one side to the other that the caller waited for.
    Copied {
        /// The side that is written, here and below.
        to: Side,
        bytes: u64,
        path: Path,
        cause: Cause,
    },
    /// A copy began on a caller's stream.
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
    /// A caller set the memory of a side: `set_cpu_data`, `set_gpu_data`.
    Lent {
        side: Side,
    },
    /// A caller released the memory of a side.
    Released {
        side: Side,
    },
    /// The library synchronized a context before it reused a block of the context.
    Synchronised,
    /// An allocation failed, and the caller got the error.
    Failed {
        side: Side,
        bytes: u64,
        refusal: Refusal,
        /// The limit in bytes, or the memory of the device; 0: none, or not known.
        limit: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    Construction,
    /// At the first access that needed work. The constructor is inlined, or ran before; the site is that of the access.
    FirstAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Fresh,
    Pool,
    /// The thread's arena, whose memory several objects share.
    Arena,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    Pinned,
    /// A side of the copy is pageable memory.
    Pageable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Access(Access),
    /// A caller's copy on a stream that the library waited for, because the driver gave no event.
    Stream,
}

/// The limit that an allocation reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// None that is known.
    #[default]
    System,
    /// RLIMIT_AS.
    AddressSpace,
    /// RLIMIT_DATA.
    Data,
    /// `vm.max_map_count`, which counts mappings and not bytes.
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
    pub const ALL: [Refusal; 8] = {
        use Refusal::*;
        [System, AddressSpace, Data, Mappings, Commit, HostLimit, Device, Size]
    };

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
    /// The iteration of the solver, for an update.
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
