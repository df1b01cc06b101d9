//! Where the newest data is, and the accesses to it.

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
