//! Copies that have to be refused before the device sees them. All of them read from the device: a driver that does not
//! refuse one writes nothing.

use super::{Check, Session, check, detached};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy, copy_to_host_from};
use crate::driver::status::{INVALID_CONTEXT, INVALID_VALUE};
use crate::verdict::Outcome;

pub(crate) const CHECKS: &[Check] = &[
    check!(a_copy_without_a_current_context_is_refused, "cuMemcpy"),
    check!(a_copy_from_a_freed_block_is_refused, "cuMemcpyDtoH"),
    check!(a_copy_past_the_end_of_a_block_is_refused, "cuMemcpyDtoH"),
    check!(a_copy_from_the_devices_null_is_refused, "cuMemcpyDtoH"),
    check!(what_was_refused_wrote_nothing, "cuMemcpyDtoH"),
];

const LARGE: usize = 16 << 20;

fn a_copy_without_a_current_context_is_refused(session: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(4096)?, HostBlock::pageable(4096));
    detached(session, || copy(host.at(0), block.at(0), 4096))?.is(INVALID_CONTEXT)
}

fn a_copy_from_a_freed_block_is_refused(_: &Session) -> Outcome {
    // Large, so that no other block takes its place.
    let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(4096));
    let address = block.address();
    block.free()?.ok()?;
    copy_to_host_from(host.at(0), address, 4096)?.is(INVALID_VALUE)
}

fn a_copy_past_the_end_of_a_block_is_refused(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(8192));
    copy_to_host_from(host.at(0), block.address() + LARGE as u64 - 4096, 8192)?.is(INVALID_VALUE)
}

fn a_copy_from_the_devices_null_is_refused(_: &Session) -> Outcome {
    let host = HostBlock::pageable(4096);
    copy_to_host_from(host.at(0), 0, 4096)?.is(INVALID_VALUE)
}

fn what_was_refused_wrote_nothing(_: &Session) -> Outcome {
    let (block, host) = (DeviceBlock::new(LARGE)?, HostBlock::pageable(8192));
    host.fill(0x77);
    copy_to_host_from(host.at(0), block.address() + LARGE as u64 - 4096, 8192)?.fails()?;
    host.has("the host's block", 0x77)
}
