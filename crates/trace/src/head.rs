//! Caffe's state machine as pure functions: where the newest data is, and what each operation changes.
//!
//! The transitions are those of BVLC's `syncedmem.cpp`; `overwrite` and `release` are this library's own.

/// The sides that hold the newest data. The numbers are those of `caffe::SyncedMemory::SyncedHead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Head {
    /// Neither side has been touched.
    Uninitialized = 0,
    /// The host is newer.
    AtCpu = 1,
    /// The device is newer.
    AtGpu = 2,
    /// Both sides hold the same data.
    Synced = 3,
}

/// A side of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Host,
    Device,
}

/// The kind of an access to a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `cpu_data`, `gpu_data`: reads the data.
    Read,
    /// `mutable_cpu_data`, `mutable_gpu_data`: reads and changes the data.
    Write,
    /// `overwrite_cpu_data`, `overwrite_gpu_data`: writes all of the data and reads none of it.
    Overwrite,
}

/// The contents that a side needs before its pointer is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Its present contents: no work.
    Current,
    /// Zeros, in a new block.
    Zeros,
    /// The other side's data.
    Copy,
    /// Any.
    Undefined,
}

/// A transition: prepare the contents, then set the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The contents that the side needs first.
    pub contents: Contents,
    /// The head afterwards.
    pub head: Head,
}

impl Head {
    /// The head with that number; `None` if the number is none, so that the bytes are not a live object's.
    pub const fn from_number(number: u32) -> Option<Head> {
        match number {
            0 => Some(Head::Uninitialized),
            1 => Some(Head::AtCpu),
            2 => Some(Head::AtGpu),
            3 => Some(Head::Synced),
            _ => None,
        }
    }

    /// The head if only `side` is current.
    pub const fn only_at(side: Side) -> Head {
        match side {
            Side::Host => Head::AtCpu,
            Side::Device => Head::AtGpu,
        }
    }

    /// Whether `side` holds the newest data.
    pub const fn is_current(self, side: Side) -> bool {
        match side {
            Side::Host => matches!(self, Head::AtCpu | Head::Synced),
            Side::Device => matches!(self, Head::AtGpu | Head::Synced),
        }
    }

    /// The transition of `access` to `side`.
    pub const fn on(self, access: Access, side: Side) -> Step {
        let contents = match (access, self) {
            _ if self.is_current(side) => Contents::Current,
            (Access::Overwrite, _) => Contents::Undefined,
            (_, Head::Uninitialized) => Contents::Zeros,
            _ => Contents::Copy,
        };
        let head = match (access, contents) {
            (Access::Read, Contents::Current) => self,
            (Access::Read, Contents::Copy) => Head::Synced,
            _ => Head::only_at(side),
        };
        Step { contents, head }
    }

    /// The head after `side`'s block is given back; `None` if the other side cannot replace it.
    pub const fn on_release(self, side: Side) -> Option<Head> {
        let other = side.other();
        if self.is_current(other) { Some(Head::only_at(other)) } else { None }
    }

    /// The head after an asynchronous push to the device; `None` if the original refuses it.
    pub const fn on_push(self) -> Option<Head> {
        match self {
            Head::AtCpu => Some(Head::Synced),
            _ => None,
        }
    }

    /// Caffe's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Head::Uninitialized => "UNINITIALIZED",
            Head::AtCpu => "HEAD_AT_CPU",
            Head::AtGpu => "HEAD_AT_GPU",
            Head::Synced => "SYNCED",
        }
    }
}

impl Side {
    /// The opposite side.
    pub const fn other(self) -> Side {
        match self {
            Side::Host => Side::Device,
            Side::Device => Side::Host,
        }
    }

    /// The word for it in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Host => "host",
            Side::Device => "device",
        }
    }
}
