//! The three kinds of memory that blocks are made of.

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Host memory that the system may move about.
    Pageable,
    /// Host memory that is page-locked.
    Pinned,
    /// Memory of a device.
    Device,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::Pageable, Kind::Pinned, Kind::Device];
}

impl Kind {
    /// The word used for it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Pageable => "pageable",
            Kind::Pinned => "pinned",
            Kind::Device => "device",
        }
    }

    /// Who has it.
    pub const fn source(self) -> &'static str {
        match self {
            Kind::Pageable => "system",
            Kind::Pinned | Kind::Device => "driver",
        }
    }
}
