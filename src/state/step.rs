//! The state machine: what an object's contents are, and what each operation makes of them. The transitions are those of
//! BVLC's `syncedmem.cpp`; overwriting, pulling, releasing and giving up are this library's own.

use syncedmem_core::head::{Access, Head, Side};

/// Where the contents of a live object are. `Word::contents` is the only place that decodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// None were written: a first read gives zeros.
    Untouched,
    /// One side is current.
    At(Side),
    Both,
    /// They were discarded, with the blocks of both sides. Caffe's code, which asks the head alone, sees HEAD_AT_CPU.
    GivenUp,
    /// The object's entry has them, encoded, and neither side has a block. Caffe's code sees HEAD_AT_CPU.
    Parked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Access(Access, Side),
    /// An asynchronous copy to the device.
    Push,
    /// An asynchronous copy to the host.
    Pull,
    /// The block of one side is freed.
    Release(Side),
    /// The caller's memory becomes one side's block.
    Set(Side),
    /// The contents are given up.
    Discard,
    /// The contents are encoded, and the block is freed.
    Park,
}

/// How the block of a side is filled before its pointer is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The side is current, or the operation hands out no pointer.
    Nothing,
    Zeros,
    /// With the other side's contents.
    Copy,
    Undefined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub fill: Fill,
    pub next: Contents,
}

/// Why an operation is refused. The object stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It needs contents that were given up.
    GivenUp,
    /// It is not allowed while the object has its present head.
    Head,
}

impl Contents {
    /// The head that Caffe's code sees.
    #[inline]
    pub const fn head(self) -> Head {
        match self {
            Contents::Untouched => Head::Uninitialized,
            Contents::At(Side::Host) | Contents::GivenUp | Contents::Parked => Head::AtCpu,
            Contents::At(Side::Device) => Head::AtGpu,
            Contents::Both => Head::Synced,
        }
    }

    pub const fn are_current(self, side: Side) -> bool {
        !matches!(self, Contents::GivenUp | Contents::Parked) && self.head().is_current(side)
    }
}

/// What `operation` does to an object with these contents, once no copy that it waits for is in flight.
// Inlined: a first touch knows its contents and its operation, so the compiler decides.
#[inline(always)]
pub const fn step(now: Contents, operation: Operation) -> Result<Step, Refusal> {
    let now = match (operation, now) {
        (Operation::Discard | Operation::Park, now) => now,
        // They come back to the host before any other operation.
        (_, Contents::Parked) => Contents::At(Side::Host),
        (_, now) => now,
    };
    let (fill, next) = match (operation, now) {
        (Operation::Access(Access::Read, _) | Operation::Push | Operation::Release(_), Contents::GivenUp) => {
            return Err(Refusal::GivenUp);
        }
        (Operation::Access(Access::Read, side), _) if now.are_current(side) => (Fill::Nothing, now),
        (Operation::Access(_, side), _) if now.are_current(side) => (Fill::Nothing, Contents::At(side)),
        (Operation::Access(Access::Overwrite, side), _) => (Fill::Undefined, Contents::At(side)),
        (Operation::Access(_, side), Contents::Untouched | Contents::GivenUp) => (Fill::Zeros, Contents::At(side)),
        (Operation::Access(Access::Read, _), _) => (Fill::Copy, Contents::Both),
        (Operation::Access(Access::Write, _), _) if cfg!(syncedmem_fault = "the head is SYNCED after a write") => {
            (Fill::Copy, Contents::Both)
        }
        (Operation::Access(Access::Write, side), _) => (Fill::Copy, Contents::At(side)),
        // Compat: the original refuses a push of anything but the host's contents.
        (Operation::Push, Contents::At(Side::Host)) => (Fill::Copy, Contents::Both),
        (Operation::Pull, Contents::At(Side::Device)) => (Fill::Copy, Contents::Both),
        (Operation::Pull, Contents::At(Side::Host) | Contents::Both | Contents::GivenUp) => (Fill::Nothing, now),
        (Operation::Release(side), _) if now.are_current(side.other()) => (Fill::Nothing, Contents::At(side.other())),
        (Operation::Push | Operation::Pull | Operation::Release(_), _) => return Err(Refusal::Head),
        (Operation::Set(_), _) if cfg!(syncedmem_fault = "borrowed memory is not current") => (Fill::Nothing, now),
        (Operation::Set(side), _) => (Fill::Nothing, Contents::At(side)),
        (Operation::Discard, Contents::Untouched) => (Fill::Nothing, now),
        (Operation::Discard, _) => (Fill::Nothing, Contents::GivenUp),
        (Operation::Park, Contents::At(Side::Host)) => (Fill::Nothing, Contents::Parked),
        (Operation::Park, _) => (Fill::Nothing, now),
    };
    Ok(Step { fill, next })
}

/// Whether `operation` waits for a copy in flight to the side `to`.
pub const fn waits(now: Contents, to: Side, operation: Operation) -> bool {
    match operation {
        Operation::Access(Access::Read, side) => !now.are_current(side),
        // A push reads the host's block alone, and the caller's stream orders the write behind it.
        Operation::Access(_, Side::Device) => matches!(to, Side::Host) || !now.are_current(Side::Device),
        Operation::Pull => matches!(to, Side::Device),
        _ => true,
    }
}
