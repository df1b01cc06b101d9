//! Caffe's state machine as pure functions. The transitions are those of BVLC's `syncedmem.cpp`; `overwrite` and
//! `release` are this library's own.

/// Where the newest data is. The numbers are those of `caffe::SyncedMemory::SyncedHead`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Head {
    Uninitialized = 0,
    AtCpu = 1,
    AtGpu = 2,
    Synced = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Host,
    Device,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `cpu_data`, `gpu_data`: reads the data.
    Read,
    /// `mutable_cpu_data`, `mutable_gpu_data`: reads and changes the data.
    Write,
    /// `overwrite_cpu_data`, `overwrite_gpu_data`: writes all of the data and reads none of it.
    Overwrite,
}

/// What a side needs before its pointer is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// No work.
    Current,
    /// In a new block.
    Zeros,
    /// Of the other side.
    Copy,
    Undefined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Prepared first.
    pub contents: Contents,
    pub head: Head,
}

impl Head {
    /// `None` if the number is none: the bytes are not a live object's.
    pub const fn from_number(number: u32) -> Option<Head> {
        match number {
            0 => Some(Head::Uninitialized),
            1 => Some(Head::AtCpu),
            2 => Some(Head::AtGpu),
            3 => Some(Head::Synced),
            _ => None,
        }
    }

    pub const fn only_at(side: Side) -> Head {
        match side {
            Side::Host => Head::AtCpu,
            Side::Device => Head::AtGpu,
        }
    }

    pub const fn is_current(self, side: Side) -> bool {
        match side {
            Side::Host => matches!(self, Head::AtCpu | Head::Synced),
            Side::Device => matches!(self, Head::AtGpu | Head::Synced),
        }
    }

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

    /// `None` if the other side cannot replace it.
    pub const fn on_release(self, side: Side) -> Option<Head> {
        let other = side.other();
        if self.is_current(other) { Some(Head::only_at(other)) } else { None }
    }

    /// After an asynchronous push to the device; `None` if the original refuses it.
    pub const fn on_push(self) -> Option<Head> {
        match self {
            Head::AtCpu => Some(Head::Synced),
            _ => None,
        }
    }

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
    pub const fn other(self) -> Side {
        match self {
            Side::Host => Side::Device,
            Side::Device => Side::Host,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Side::Host => "host",
            Side::Device => "device",
        }
    }
}
