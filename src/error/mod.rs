//! What can go wrong, as plain values: copied freely, never allocated, turned into words only at the edge.

pub mod no_trace;
mod why_not;

use std::fmt;

use crate::head::{Head, Side};
use crate::sync::Interrupted;
use crate::text::Bytes;
use no_trace::Trouble;
pub use why_not::{DriverFailure, LoaderWords, Version, WhyNot, describe_with};

/// Why an operation did not happen. The object it was asked of is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Memory ran out.
    OutOfMemory {
        /// Where.
        side: Side,
        /// Bytes asked for.
        asked: usize,
        /// What stood in the way.
        cause: Cause,
    },
    /// The operation needs a GPU and there is none to use.
    NoGpu {
        /// The reason.
        why: WhyNot,
    },
    /// A call of the driver failed.
    Driver(DriverFailure),
    /// A call of the driver found what an earlier kernel or copy of this process left behind.
    Pending(DriverFailure),
    /// A call of the driver was refused because a CUDA graph is being captured.
    Captured(DriverFailure),
    /// The object's device block is gone: its device was reset since it was made.
    DeviceReset,
    /// The device check is on, and the object's device block is on another device than the current one.
    WrongDevice {
        /// The ordinal of the device that is current on the calling thread.
        current: i32,
        /// The ordinal of the device that holds the block.
        holder: i32,
    },
    /// An argument cannot be used.
    InvalidArgument {
        /// Which one, what is wrong with it, what to pass instead.
        what: &'static str,
    },
    /// `set_cpu_data` or `set_gpu_data` was given NULL.
    NullData {
        /// The side that was to be set.
        side: Side,
    },
    /// A handle does not lead to a live object.
    InvalidHandle,
    /// A side was to be given back while the other could not replace it.
    NotRedundant {
        /// The side that was to be given back.
        side: Side,
        /// Where the newest data is.
        head: Head,
    },
    /// An asynchronous push was asked of an object whose newest data is not on the host.
    NotAtCpu {
        /// Where the newest data is.
        head: Head,
    },
    /// An asynchronous pull was asked of an object that has no data yet.
    NothingToPull,
    /// An access was to be ended of an object that has none open.
    NoOpenAccess,
    /// An object's host memory was to be page-locked, and there is none.
    NothingToPin,
    /// Another object has a shorter range from the same address page-locked.
    PinnedInPart,
    /// Tensors of an object's memory are in use, which what was asked would take away.
    Exported {
        /// How many of the host's.
        host: usize,
        /// How many of the device's.
        device: usize,
    },
    /// A trace cannot be written.
    NoTrace {
        /// The reason.
        why: Trouble,
    },
    /// This thread is already inside an operation on the same object.
    Reentered,
    /// This is a signal handler, and the thread that it interrupted holds a lock of the library.
    Interrupted,
    /// A bug of this library, caught before it could leave it.
    Internal,
}

/// What stood in the way of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No address space holds that many bytes.
    Absurd,
    /// The system or its C library said no.
    System,
    /// `SYNCEDMEM_HOST_LIMIT`, this many bytes.
    Limit(u64),
    /// `SYNCEDMEM_PINNED_LIMIT`, this many bytes.
    PinnedLimit(u64),
    /// The library's own bookkeeping found no room.
    Bookkeeping,
    /// The device has no room. Bytes; a total of 0 says that they could not be asked for.
    Device {
        /// The device's ordinal.
        ordinal: i32,
        /// What is free on it.
        free: u64,
        /// What there is.
        total: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::OutOfMemory { side, asked, cause } => {
                write!(f, "{} allocation of {} failed: ", side.name(), Bytes(asked as u64))?;
                cause.fmt(f)
            }
            Error::NoGpu { why } => write!(f, "no GPU: {why}"),
            Error::Driver(failure) => failure.fmt(f),
            Error::NoTrace { why } => write!(f, "the trace cannot be written: {why}"),
            Error::Pending(failure) => write!(
                f,
                "{failure}; this was found pending: a kernel or a copy that this process had started before left it \
                 behind, and this call only met it; look there (CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds it)"
            ),
            Error::Captured(failure) => write!(
                f,
                "{failure}; a CUDA graph is being captured, of which what was asked would be no part, and which it may have \
                 invalidated; bring data to where it is used before the capture, or end the capture first"
            ),
            Error::DeviceReset => f.write_str(
                "the data on the device is gone: the device was reset (cudaDeviceReset) after it was put there; \
                 put new data there, or read the host's before the reset",
            ),
            Error::WrongDevice { current, holder } => write!(
                f,
                "device {current} is current and the data is on device {holder}; make that one current, or turn \
                 SYNCEDMEM_CHECK_DEVICE off"
            ),
            Error::InvalidArgument { what } => f.write_str(what),
            Error::NullData { side: Side::Host } => {
                f.write_str("data is NULL; pass the address of at least size() bytes of host memory")
            }
            Error::NullData { side: Side::Device } => {
                f.write_str("data is NULL; pass the address of at least size() bytes of device memory")
            }
            Error::InvalidHandle => f.write_str(
                "the handle does not lead to a live SyncedMemory: it was destroyed, or its memory was overwritten",
            ),
            Error::NotRedundant { side, head } => write!(
                f,
                "the {} side cannot be given back: the head is {}, so the {} side does not hold the newest data; \
                 read the data there first",
                side.name(),
                head.name(),
                side.other().name()
            ),
            Error::NotAtCpu { head } => write!(
                f,
                "the head is {}, and an asynchronous push needs HEAD_AT_CPU; call mutable_cpu_data first",
                head.name()
            ),
            Error::NothingToPull => f.write_str(
                "there is no data on the device to pull: the head is UNINITIALIZED; call mutable_gpu_data first",
            ),
            Error::NoOpenAccess => f.write_str(
                "no access to the object is open: each address that cpu_data, gpu_data and their like hand out opens \
                 one, to be ended once; set_evictable begins with none, whatever was handed out before",
            ),
            Error::NothingToPin => f.write_str(
                "the object has no host memory to page-lock; touch its host side first (syncedmem_cpu_data or \
                 syncedmem_overwrite_cpu_data), or lend it yours (syncedmem_set_cpu_data)",
            ),
            Error::PinnedInPart => f.write_str(
                "another object has a shorter part of this memory page-locked; unpin that one first, or pin the longer \
                 one before it",
            ),
            Error::Exported { host, device } => write!(
                f,
                "tensors of the object's memory are in use ({host} of the host's, {device} of the device's), which this would \
                 take away; delete them first, each by its deleter"
            ),
            Error::Reentered => f.write_str(
                "this thread is already inside an operation on the same object; let that operation return first",
            ),
            Error::Interrupted => f.write_str(
                "a signal handler asked for it and has interrupted this thread inside the library, which it cannot wait \
                 for; ask again in a later signal, or outside of handlers",
            ),
            Error::Internal => f.write_str("a bug in libsyncedmem was caught; its panic message is on standard error"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::Absurd => {
                f.write_str("no address space holds that; a negative number may have been taken for a size")
            }
            Cause::System => f.write_str("the system has no pageable memory left for it"),
            Cause::Limit(limit) => write!(f, "SYNCEDMEM_HOST_LIMIT is {}", Bytes(limit)),
            Cause::PinnedLimit(limit) => write!(f, "SYNCEDMEM_PINNED_LIMIT is {}", Bytes(limit)),
            Cause::Bookkeeping => f.write_str("there is no memory for the library's own bookkeeping"),
            Cause::Device { ordinal, total: 0, .. } => write!(f, "device {ordinal} has no memory left for it"),
            Cause::Device { ordinal, free, total } => {
                write!(f, "device {ordinal} has {} free of {}", Bytes(free), Bytes(total))
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Error::Interrupted
    }
}
