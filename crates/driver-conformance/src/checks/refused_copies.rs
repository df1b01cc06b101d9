//! Copies that have to be refused before the device sees them. All of them read from the device: a driver that does not
//! refuse one writes nothing.

use super::{Check, check, detached};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host_from};
use crate::driver::status::{INVALID_CONTEXT, INVALID_VALUE};

pub(crate) const CHECKS: &[Check] = &[
    check("a copy without a current context is refused", "cuMemcpy", |session| {
        let (block, host) = (DeviceBlock::new(4096)?, HostBlock::pageable(4096));
        detached(session, || copy(host.at(0), block.at(0), 4096))?.is(INVALID_CONTEXT)
    }),
    check("a copy from a freed block is refused", "cuMemcpyDtoH", |_| {
        // Large, so that no other block takes its place.
        let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(4096));
        let address = block.address();
        block.free()?.ok()?;
        copy_to_host_from(host.at(0), address, 4096)?.is(INVALID_VALUE)
    }),
    check("a copy past the end of a block is refused", "cuMemcpyDtoH", |_| {
        let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(8192));
        copy_to_host_from(host.at(0), block.address() + LARGE as u64 - 4096, 8192)?.is(INVALID_VALUE)
    }),
    check("a copy from the devices null is refused", "cuMemcpyDtoH", |_| {
        let host = HostBlock::pageable(4096);
        copy_to_host_from(host.at(0), 0, 4096)?.is(INVALID_VALUE)
    }),
    check("what was refused wrote nothing", "cuMemcpyDtoH", |_| {
        let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(8192));
        host.fill(0x77);
        copy_to_host_from(host.at(0), block.address() + LARGE as u64 - 4096, 8192)?.fails()?;
        host.has("the host's block", 0x77)
    }),
];

const LARGE: usize = 16 << 20;
