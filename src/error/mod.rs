//! Errors as plain values, formatted only where they leave the library.

pub(crate) mod callback_slot;
mod why_not;

use std::fmt;

use syncedmem_core::head::{Head, Side};
use syncedmem_core::text::Bytes;

use crate::platform::file_error::FileError;
use crate::platform::sync::Interrupted;
pub use why_not::{DriverFailure, Version, WhyNot, describe_with};

/// Why an operation failed; its object is unchanged. `what` is the whole sentence: the subject, the fault, the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// `asked` is in bytes.
    OutOfMemory {
        side: Side,
        asked: usize,
        cause: Cause,
    },
    NoGpu {
        why: WhyNot,
    },
    Driver(DriverFailure),
    /// A driver call reported the error of an earlier kernel or copy of this process.
    Pending(DriverFailure),
    Captured(DriverFailure),
    /// The device was reset, and the object's block is gone; or the caller has freed the block that it set.
    DeviceReset,
    /// Both are ordinals of devices.
    WrongDevice {
        current: i32,
        owner: i32,
    },
    InvalidArgument {
        what: &'static str,
    },
    NullData {
        side: Side,
    },
    InvalidHandle,
    /// The contents were given up, and the memory; `what` is the sentence of a shared object.
    GivenUp {
        what: Option<&'static str>,
    },
    EndedHandle {
        what: &'static str,
    },
    /// Only this side holds the newest data.
    NotRedundant {
        side: Side,
        head: Head,
    },
    NotAtCpu {
        head: Head,
    },
    NothingToPull,
    Exported {
        host: usize,
        device: usize,
    },
    NoTrace {
        why: FileError,
    },
    Reentered,
    /// A signal handler made the call, and the interrupted thread holds a lock of the library.
    Interrupted,
    /// A panic that was caught at the library's boundary, which is a bug in the library.
    Internal,
}

impl Error {
    pub const fn no_room(asked: usize) -> Error {
        Error::OutOfMemory { side: Side::Host, asked, cause: Cause::Bookkeeping }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No address space has that many bytes.
    Absurd,
    /// The system or its C library refused.
    System,
    /// `SYNCEDMEM_HOST_LIMIT`, in bytes.
    Limit(u64),
    /// `SYNCEDMEM_PINNED_LIMIT`, in bytes.
    PinnedLimit(u64),
    Bookkeeping,
    /// `free` and `total` are bytes; a total of 0 means that both are unknown.
    Device {
        ordinal: i32,
        free: u64,
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
                "{failure}; this was found pending: an earlier kernel or copy of this process caused it, and this call \
                 only reports it; look there (CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds it)"
            ),
            Error::Captured(failure) => write!(
                f,
                "{failure}; a CUDA graph is being captured: this call cannot be part of it, and may have invalidated it; \
                 bring data to where it is used before the capture, or end the capture first"
            ),
            Error::DeviceReset => f.write_str(
                "the data on the device is gone: after it was put there, the device was reset (cudaDeviceReset) or the caller \
                 freed its memory (syncedmem_set_gpu_data); put new data there, or read the host's before that",
            ),
            Error::WrongDevice { current, owner } => write!(
                f,
                "device {current} is current and the data is on device {owner}; make that one current, or turn \
                 SYNCEDMEM_CHECK_DEVICE off"
            ),
            Error::InvalidArgument { what } | Error::EndedHandle { what } => f.write_str(what),
            Error::NullData { side } => {
                write!(f, "data is NULL; pass the address of at least size() bytes of {} memory", side.name())
            }
            Error::InvalidHandle => f.write_str(
                "the handle does not lead to a live SyncedMemory: it was destroyed, or its memory was overwritten",
            ),
            Error::GivenUp { what } => f.write_str(what.unwrap_or(
                "the contents were given up (syncedmem_discard), and the memory; write the object first \
                 (syncedmem_mutable_cpu_data begins with zeros)",
            )),
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
