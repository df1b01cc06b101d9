//! The records of a trace, as text.

pub mod block;
pub mod chrome;
pub mod fields;
pub mod rmm;

/// Version of the record format. A reader of another version reports the difference.
pub const FORMAT: u32 = 1;

/// Bytes that objects hold, by [`crate::kind::Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    pub bytes: [u64; 3],
}
