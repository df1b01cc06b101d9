//! The idle blocks of every kind, as one.

use crate::copy::staging_buffers;
use crate::memory::cache;
use crate::memory::cache::budget;
use crate::memory::host::registration;
use crate::state::kind::Kind;

/// Gives back what lies idle of one kind, and says how many bytes that were.
pub fn give_back_idle(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => cache::host::give_back_all(),
        Kind::Pinned => {
            staging_buffers::give_back();
            cache::device::give_back_all(kind) + registration::give_back_all()
        }
        Kind::Device => cache::device::give_back_all(kind),
    }
}

/// As [`give_back_idle`], but for what may be in use on another device than the thread's current one: the thread would wait.
pub fn give_back_near(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => cache::host::give_back_all(),
        Kind::Pinned => {
            staging_buffers::give_back();
            cache::device::give_back_near(kind) + registration::give_back_near()
        }
        Kind::Device => cache::device::give_back_near(kind),
    }
}

/// How many bytes of one kind lie idle.
pub fn idle(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => cache::host::idle(),
        Kind::Pinned => cache::device::idle(kind) + registration::idle(),
        Kind::Device => cache::device::idle(kind),
    }
}

/// How many bytes of one kind may lie idle; of device memory, on the device where most may.
pub fn budget(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => budget::host(kind),
        Kind::Pinned | Kind::Device => cache::device::budget(kind),
    }
}

/// Gives back what lies idle beyond the budget.
pub fn reduce(kind: Kind) {
    match kind {
        Kind::Pageable => cache::host::reduce(),
        Kind::Pinned => {
            cache::device::reduce(kind);
            registration::reduce();
        }
        Kind::Device => cache::device::reduce(kind),
    }
}
