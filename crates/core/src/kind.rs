//! The three kinds of memory.

use crate::head::Side;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Host memory that the system may move.
    Pageable,
    Pinned,
    Device,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Pageable, Kind::Pinned, Kind::Device];

    pub const fn side(self) -> Side {
        match self {
            Kind::Pageable | Kind::Pinned => Side::Host,
            Kind::Device => Side::Device,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Pageable => "pageable",
            Kind::Pinned => "pinned",
            Kind::Device => "device",
        }
    }

    pub const fn source(self) -> &'static str {
        match self {
            Kind::Pageable => "system",
            Kind::Pinned | Kind::Device => "driver",
        }
    }
}
