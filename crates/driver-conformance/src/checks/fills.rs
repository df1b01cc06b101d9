//! Fills.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host, set8, set32};
use crate::driver::status::{INVALID_VALUE, SUCCESS};
use crate::verdict::{Must, Outcome};

pub(crate) const CHECKS: &[Check] = &[
    check!(bytes_are_filled, "cuMemsetD8"),
    check!(words_are_filled, "cuMemsetD32"),
    check!(a_fill_keeps_to_its_range, "cuMemsetD8"),
    check!(the_later_of_two_fills_counts, "API synchronization behavior, Memset"),
    check!(a_fill_of_nothing_changes_nothing, "cuMemsetD8: open, so either status"),
    check!(a_fill_of_pinned_memory_is_done_when_it_returns, "API synchronization behavior, Memset"),
];

const BYTES: usize = 100_000;

fn bytes_are_filled(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
    set8(block.at(0), 0xa7, BYTES).must()?;
    copy_to_host(host.at(0), block.at(0), BYTES).must()?;
    host.has("the block", 0xa7)
}

fn words_are_filled(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
    set32(block.at(0), 0x1234_5678, BYTES / 4).must()?;
    copy_to_host(host.at(0), block.at(0), BYTES).must()?;
    host.compare("the block", 0..BYTES, |at| 0x1234_5678u32.to_le_bytes()[at % 4])
}

fn a_fill_keeps_to_its_range(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
    set8(block.at(0), 1, BYTES).must()?;
    set8(block.at(777), 2, 1000).must()?;
    copy_to_host(host.at(0), block.at(0), BYTES).must()?;
    host.compare("the block", 0..BYTES, |at| if (777..1777).contains(&at) { 2 } else { 1 })
}

fn the_later_of_two_fills_counts(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
    for byte in 0..50 {
        set8(block.at(0), byte, BYTES).must()?;
    }
    copy_to_host(host.at(0), block.at(0), BYTES).must()?;
    host.has("the block", 49)
}

fn a_fill_of_nothing_changes_nothing(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(64)?, HostBlock::pageable(64));
    set8(block.at(0), 3, 64).must()?;
    set8(block.at(8), 4, 0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
    copy(host.at(0), block.at(0), 64).must()?;
    host.has("the block", 3)
}

fn a_fill_of_pinned_memory_is_done_when_it_returns(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    set8(pinned.at(0), 0xc3, BYTES).must()?;
    pinned.has("the pinned block", 0xc3)
}
