//! Copies that are done when they return, and those that have to be refused.

use super::*;

const BYTES: usize = 70_001;

pub(crate) const CHECKS: &[Check] = &[
    check("addresses alone tell the direction of a copy", "cuMemcpy", |_| {
        let (block, second) = (DeviceBlock::new(BYTES), DeviceBlock::new(BYTES));
        let (plain, pinned) = (HostBlock::pageable(BYTES), HostBlock::pinned(BYTES));
        there_and_back(&plain, &block);
        there_and_back(&pinned, &block);
        cuMemcpy(second.0, block.0, BYTES).ok();
        plain.fill(0);
        cuMemcpy(plain.address(), second.0, BYTES).ok();
        plain.has_pattern("the copy in the device", 1);
        plain.fill(0);
        cuMemcpy(plain.address(), pinned.address(), BYTES).ok();
        plain.has_pattern("the copy in the host", 1);
    }),
    check("the source of a copy may be changed after it", "API synchronization behavior, Memcpy", |_| {
        const LARGE: usize = 1 << 20;
        let block = DeviceBlock::new(LARGE);
        for host in [HostBlock::pageable(LARGE), HostBlock::pinned(LARGE)] {
            host.fill_pattern(4);
            cuMemcpy(block.0, host.address(), LARGE).ok();
            host.fill(0xee);
            cuMemcpy(host.address(), block.0, LARGE).ok();
            host.has_pattern("the block", 4);
        }
    }),
    check("a copy in the device comes before a later copy out", "API synchronization behavior, Memcpy", |_| {
        let (one, two, host) = (DeviceBlock::new(BYTES), DeviceBlock::new(BYTES), HostBlock::pageable(BYTES));
        for byte in 0..20 {
            cuMemsetD8_v2(one.0, byte, BYTES).ok();
            cuMemcpy(two.0, one.0, BYTES).ok();
        }
        cuMemcpy(host.address(), two.0, BYTES).ok();
        host.has("the second block", 19);
    }),
    check("a block of another context of the device can be copied", "Unified Addressing, Overview", |_| {
        let (block, host) = (DeviceBlock::new(BYTES), HostBlock::pageable(BYTES));
        let _created = Created::new();
        there_and_back(&host, &block);
    }),
    check("a copy without a current context is refused", "cuMemcpy", |context| {
        let (block, host) = (DeviceBlock::new(4096), HostBlock::pageable(4096));
        detached(context, || cuMemcpy(host.address(), block.0, 4096)).is(INVALID_CONTEXT);
    }),
];
