//! Copies that are done when they return.

use super::{Check, Created, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_in_device, copy_to_device, copy_to_host, set8};
use crate::driver::calls;
use crate::driver::status::{INVALID_VALUE, SUCCESS};
use crate::verdict::{Must, Outcome};

pub(crate) const CHECKS: &[Check] = &[
    check("addresses alone tell a copy to the device", "cuMemcpy", |_| {
        let host = HostBlock::pageable(BYTES);
        there_and_back(
            &host,
            |block| copy(block.at(0), host.at(0), BYTES).must(),
            |block| copy_to_host(host.at(0), block.at(0), BYTES).must(),
        )
    }),
    check("addresses alone tell a copy to the host", "cuMemcpy", |_| {
        let host = HostBlock::pageable(BYTES);
        there_and_back(
            &host,
            |block| copy_to_device(block.at(0), host.at(0), BYTES).must(),
            |block| copy(host.at(0), block.at(0), BYTES).must(),
        )
    }),
    check("addresses alone tell a copy in the device", "cuMemcpy", |_| {
        let (host, second) = (HostBlock::pageable(BYTES), DeviceBlock::new(BYTES)?);
        there_and_back(
            &host,
            |block| copy(block.at(0), host.at(0), BYTES).must(),
            |block| {
                copy(second.at(0), block.at(0), BYTES).must()?;
                copy(host.at(0), second.at(0), BYTES).must()
            },
        )
    }),
    check("addresses alone tell a copy in the host", "cuMemcpy", |_| {
        let (one, two) = (HostBlock::pageable(BYTES), HostBlock::pageable(BYTES));
        one.fill_pattern(2);
        copy(two.at(0), one.at(0), BYTES).must()?;
        two.has_pattern("the copy", 2)
    }),
    check("addresses alone tell pinned memory", "cuMemcpy", |_| {
        let (pinned, plain) = (HostBlock::pinned(BYTES, 0)?, HostBlock::pageable(BYTES));
        there_and_back(
            &pinned,
            |block| copy(block.at(0), pinned.at(0), BYTES).must(),
            |block| copy(pinned.at(0), block.at(0), BYTES).must(),
        )?;
        copy(plain.at(0), pinned.at(0), BYTES).must()?;
        plain.has_pattern("the copy in the host", 1)
    }),
    check("the copies that name their sides agree", "cuMemcpyHtoD, cuMemcpyDtoD, cuMemcpyDtoH", |_| {
        let (host, second) = (HostBlock::pageable(BYTES), DeviceBlock::new(BYTES)?);
        there_and_back(
            &host,
            |block| copy_to_device(block.at(0), host.at(0), BYTES).must(),
            |block| {
                copy_in_device(second.at(0), block.at(0), BYTES).must()?;
                copy_to_host(host.at(0), second.at(0), BYTES).must()
            },
        )
    }),
    check("pinned memory is host memory to the copies that name their sides", "cuMemcpyHtoD, cuMemcpyDtoH", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        there_and_back(
            &pinned,
            |block| copy_to_device(block.at(0), pinned.at(0), BYTES).must(),
            |block| copy_to_host(pinned.at(0), block.at(0), BYTES).must(),
        )
    }),
    check("a copy keeps to its range", "cuMemcpy", |_| {
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        host.fill(7);
        set8(block.at(0), 1, BYTES).must()?;
        copy(block.at(333), host.at(5), 1001).must()?;
        host.fill(9);
        copy(host.at(50), block.at(0), 3000).must()?;
        host.compare("the host", 0..BYTES, |at| match at {
            383..1384 => 7,
            50..3050 => 1,
            _ => 9,
        })
    }),
    check("a large copy is complete", "API synchronization behavior, Memcpy", |_| {
        const LARGE: usize = (8 << 20) + 3;
        let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(LARGE));
        host.fill_pattern(3);
        copy(block.at(0), host.at(0), LARGE).must()?;
        host.fill(0);
        copy(host.at(0), block.at(0), LARGE).must()?;
        host.has_pattern("what came back", 3)
    }),
    check("the source of a copy may be changed after it", "API synchronization behavior, Memcpy", |_| {
        const LARGE: usize = 1 << 20;
        let block = DeviceBlock::new(LARGE)?;
        for host in [HostBlock::pageable(LARGE), HostBlock::pinned(LARGE, 0)?] {
            host.fill_pattern(4);
            copy(block.at(0), host.at(0), LARGE).must()?;
            host.fill(0xee);
            copy(host.at(0), block.at(0), LARGE).must()?;
            host.has_pattern("the block", 4)?;
        }
        Ok(())
    }),
    check("a copy in the device comes before a later copy out", "API synchronization behavior, Memcpy", |_| {
        let (one, two, host) = (DeviceBlock::new(BYTES)?, DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        for byte in 0..20 {
            set8(one.at(0), byte, BYTES).must()?;
            copy_in_device(two.at(0), one.at(0), BYTES).must()?;
        }
        copy(host.at(0), two.at(0), BYTES).must()?;
        host.has("the second block", 19)
    }),
    check("a copy of nothing changes nothing", "cuMemcpy: open, so either status", |_| {
        let (block, host) = (DeviceBlock::new(64)?, HostBlock::pageable(64));
        host.fill(6);
        copy(host.at(3), block.at(5), 0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        copy(block.at(5), host.at(3), 0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        host.has("the host", 6)
    }),
    check("a block of another context of the device can be copied", "Unified Addressing, Overview", |session| {
        let (block, host) = (DeviceBlock::new(BYTES)?, HostBlock::pageable(BYTES));
        host.fill_pattern(6);
        let _created = Created::new(session)?;
        copy(block.at(0), host.at(0), BYTES).must()?;
        host.fill(0);
        copy(host.at(0), block.at(0), BYTES).must()?;
        // Work in another context is not ordered with this context's streams.
        calls::synchronize().must()?;
        host.has_pattern("what came back", 6)
    }),
];

const BYTES: usize = 70_001;

/// Copies a pattern through a device block and back.
fn there_and_back(
    host: &HostBlock,
    to: impl Fn(&DeviceBlock) -> Outcome,
    from: impl Fn(&DeviceBlock) -> Outcome,
) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    host.fill_pattern(1);
    to(&block)?;
    host.fill(0);
    from(&block)?;
    host.has_pattern("what came back", 1)
}
