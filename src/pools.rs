//! The idle blocks of every kind, as one.

use crate::device::ring;
use crate::host::registration;
use crate::kind::Kind;
use crate::{budget, cuda, host};

/// Gives back what lies idle of one kind, and says how many bytes that were.
pub fn give_back_idle(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => host::pool::give_back_all(),
        Kind::Pinned => {
            ring::give_back();
            cuda::pool::give_back_all(kind) + registration::give_back_all()
        }
        Kind::Device => cuda::pool::give_back_all(kind),
    }
}

/// As [`give_back_idle`], but for what may be in use on another device than the thread's current one: the thread would wait.
pub fn give_back_near(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => host::pool::give_back_all(),
        Kind::Pinned => {
            ring::give_back();
            cuda::pool::give_back_near(kind) + registration::give_back_near()
        }
        Kind::Device => cuda::pool::give_back_near(kind),
    }
}

/// How many bytes of one kind lie idle.
pub fn idle(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => host::pool::idle(),
        Kind::Pinned => cuda::pool::idle(kind) + registration::idle(),
        Kind::Device => cuda::pool::idle(kind),
    }
}

/// How many bytes of one kind may lie idle; of device memory, on the device where most may.
pub fn budget(kind: Kind) -> u64 {
    match kind {
        Kind::Pageable => budget::host(kind),
        Kind::Pinned | Kind::Device => cuda::pool::budget(kind),
    }
}

/// Gives back what lies idle beyond the budget.
pub fn reduce(kind: Kind) {
    match kind {
        Kind::Pageable => host::pool::reduce(),
        Kind::Pinned => {
            cuda::pool::reduce(kind);
            registration::reduce();
        }
        Kind::Device => cuda::pool::reduce(kind),
    }
}
