//! The three kinds of memory.

use crate::head::Side;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Host memory that the system may move.
    Pageable,
    Pinned,
    /// Device memory.
    Device,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Pageable, Kind::Pinned, Kind::Device];

    /// The side that this memory belongs to.
    pub const fn side(self) -> Side {
        match self {
            Kind::Pageable | Kind::Pinned => Side::Host,
            Kind::Device => Side::Device,
        }
    }

    /// The word for it in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Pageable => "pageable",
            Kind::Pinned => "pinned",
            Kind::Device => "device",
        }
    }

    /// The source of such memory.
    pub const fn source(self) -> &'static str {
        match self {
            Kind::Pageable => "system",
            Kind::Pinned | Kind::Device => "driver",
        }
    }
}
