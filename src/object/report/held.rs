//! The memory that objects hold, as the allocators count it.

use syncedmem_trace::head::Side;
use syncedmem_trace::kind::Kind;

use crate::memory::blocks;
use crate::memory::host_usage;
use crate::observe::{control, recorder};
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

/// Bytes; without a limit on host memory, pageable blocks of up to 4 KiB are missing.
pub fn held(kind: Kind) -> u64 {
    let pinned = || blocks::held(Side::Host).bytes;
    match kind {
        // With a limit, `host_usage` counts both kinds of host memory.
        Kind::Pageable if settings::host_limit().is_some() => host_usage::held().saturating_sub(pinned()),
        Kind::Pageable => host_usage::held(),
        Kind::Pinned => pinned(),
        Kind::Device => blocks::held(Side::Device).bytes,
    }
}

/// Counts events from now on, or no more. Counts stay; blocks that objects hold already count as live.
pub fn keep_account(wanted: bool) {
    control::read_settings();
    if wanted && !flags::has(ACCOUNT) {
        Kind::ALL.into_iter().for_each(|kind| recorder::set_live(kind, held(kind)));
    }
    control::set(ACCOUNT, wanted);
}
