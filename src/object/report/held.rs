//! The memory that objects hold, as the allocators count it.

use syncedmem_core::head::Side;
use syncedmem_core::kind::Kind;
use syncedmem_trace::account::Account;

use crate::memory::blocks;
use crate::memory::limit;
use crate::observe::{control, recorder};
use crate::settings;
use crate::state::flags::{self, ACCOUNT};

/// Bytes; with neither a limit on host memory nor an account, pageable blocks of up to 4 KiB are missing.
pub fn held(kind: Kind) -> u64 {
    let pinned = || blocks::held(Side::Host).bytes;
    match kind {
        // With a limit, `limit` counts both kinds of host memory, as objects asked for it.
        Kind::Pageable if settings::host_limit().is_some() => {
            limit::held().saturating_sub(blocks::held(Side::Host).asked)
        }
        Kind::Pageable => limit::held() + limit::held_in_small_blocks(),
        Kind::Pinned => pinned(),
        Kind::Device => blocks::held(Side::Device).bytes,
    }
}

/// The account so far. What lives is what the allocators count: events that other threads record while the account is
/// switched are counted in part.
pub fn account() -> Account {
    recorder::account().holding(Kind::ALL.map(held))
}

/// Counts events from now on, or no more. Counts stay; the peak begins with the blocks that objects hold already.
pub fn keep_account(wanted: bool) {
    control::read_settings();
    let begins = wanted && !flags::has(ACCOUNT);
    if begins {
        Kind::ALL.into_iter().for_each(|kind| recorder::set_live(kind, held(kind)));
    }
    control::set(ACCOUNT, wanted);
    if begins {
        limit::begin_account();
    }
}
