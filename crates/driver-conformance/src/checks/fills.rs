//! Fills.

use super::{Check, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host, set8, set32};
use crate::driver::status::{INVALID_VALUE, SUCCESS};
use crate::verdict::Must;

pub(crate) const CHECKS: &[Check] = &[
    check("bytes are filled", "cuMemsetD8", |_| {
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        set8(block.at(0), 0xa7, BYTES).must()?;
        copy_to_host(host.at(0), block.at(0), BYTES).must()?;
        host.has("the block", 0xa7)
    }),
    check("words are filled", "cuMemsetD32", |_| {
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        set32(block.at(0), 0x1234_5678, BYTES / 4).must()?;
        copy_to_host(host.at(0), block.at(0), BYTES).must()?;
        host.compare("the block", 0..BYTES, |at| 0x1234_5678u32.to_le_bytes()[at % 4])
    }),
    check("a fill keeps to its range", "cuMemsetD8", |_| {
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        set8(block.at(0), 1, BYTES).must()?;
        set8(block.at(777), 2, 1000).must()?;
        copy_to_host(host.at(0), block.at(0), BYTES).must()?;
        host.compare("the block", 0..BYTES, |at| if (777..1777).contains(&at) { 2 } else { 1 })
    }),
    check("the later of two fills counts", "API synchronization behavior, Memset", |_| {
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        for byte in 0..50 {
            set8(block.at(0), byte, BYTES).must()?;
        }
        copy_to_host(host.at(0), block.at(0), BYTES).must()?;
        host.has("the block", 49)
    }),
    check("a fill of nothing changes nothing", "cuMemsetD8: open, so either status", |_| {
        let (block, host) = (DeviceBlock::new(64)?, HostBlock::pageable(64));
        set8(block.at(0), 3, 64).must()?;
        set8(block.at(8), 4, 0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        copy(host.at(0), block.at(0), 64).must()?;
        host.has("the block", 3)
    }),
    check("a fill of pinned memory is done when it returns", "API synchronization behavior, Memset", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        set8(pinned.at(0), 0xc3, BYTES).must()?;
        pinned.has("the pinned block", 0xc3)
    }),
];

const BYTES: usize = 100_000;
