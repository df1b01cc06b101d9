//! The state machine: whether a side is current, what it needs if not, and the next head. The transitions are those of
//! BVLC's `syncedmem.cpp`; overwriting and releasing are this library's own.

use syncedmem_core::head::{Access, Head, Side};

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

pub const fn on_access(head: Head, access: Access, side: Side) -> Step {
    let contents = match (access, head) {
        _ if head.is_current(side) => Contents::Current,
        (Access::Overwrite, _) => Contents::Undefined,
        (_, Head::Uninitialized) => Contents::Zeros,
        _ => Contents::Copy,
    };
    let next = match (access, contents) {
        (Access::Read, Contents::Current) => head,
        (Access::Read, Contents::Copy) => Head::Synced,
        _ => Head::only_at(side),
    };
    Step { contents, head: next }
}

/// `None` if the other side cannot replace it.
pub const fn on_release(head: Head, side: Side) -> Option<Head> {
    let other = side.other();
    if head.is_current(other) { Some(Head::only_at(other)) } else { None }
}

/// After an asynchronous push to the device; `None` if the original refuses it.
pub const fn on_push(head: Head) -> Option<Head> {
    match head {
        Head::AtCpu => Some(Head::Synced),
        _ => None,
    }
}
