//! Where the newest data is, and what each operation makes of that: Caffe's state machine as pure functions.
//!
//! The rows are those of BVLC's `syncedmem.cpp`; `overwrite` and `release` are this library's own.

/// The side that holds the newest data; the numbers are those of `caffe::SyncedMemory::SyncedHead`.
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

/// One of the two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Memory of the CPU.
    Host,
    /// Memory of the GPU.
    Device,
}

/// What a caller wants of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `cpu_data`, `gpu_data`: the data is read.
    Read,
    /// `mutable_cpu_data`, `mutable_gpu_data`: the data is read and changed.
    Write,
    /// `overwrite_cpu_data`, `overwrite_gpu_data`: all of it is written, none of it read.
    Overwrite,
}

/// What a side's buffer must hold before its pointer is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// What it holds now; it needs no work.
    Current,
    /// Zeros, in a new buffer.
    Zeros,
    /// The other side's data.
    Copy,
    /// Anything at all.
    Undefined,
}

/// The outcome of an access: prepare the contents, then move the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What the accessed side must hold first.
    pub contents: Contents,
    /// The head afterwards.
    pub head: Head,
}

impl Head {
    /// The head with that number, or `None`: the bytes are not those of a live object.
    pub const fn from_number(number: u32) -> Option<Head> {
        match number {
            0 => Some(Head::Uninitialized),
            1 => Some(Head::AtCpu),
            2 => Some(Head::AtGpu),
            3 => Some(Head::Synced),
            _ => None,
        }
    }

    /// The head when `side` alone is current.
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

    /// What `access` to `side` needs and leaves.
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

    /// The head after `side`'s buffer is given back, or `None` where the other side could not replace it.
    pub const fn on_release(self, side: Side) -> Option<Head> {
        let other = side.other();
        if self.is_current(other) { Some(Head::only_at(other)) } else { None }
    }

    /// The head after an asynchronous push to the device, or `None` where the original refuses it.
    pub const fn on_push(self) -> Option<Head> {
        match self {
            Head::AtCpu => Some(Head::Synced),
            _ => None,
        }
    }

    /// The name Caffe gives it.
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

    /// The word used for it in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Host => "host",
            Side::Device => "device",
        }
    }
}
