//! Host memory of the program that is registered with the driver.

use super::{Check, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::{MEMORY_TYPE_HOST, pointer};
use crate::driver::status::{HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE};
use crate::verdict::{Must, Outcome, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(registered_memory_is_known_as_the_hosts, "cuMemHostRegister"),
    check!(registered_memory_keeps_its_bytes, "cuMemHostRegister"),
    check!(memory_is_registered_once, "Data types, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"),
    check!(unregistered_memory_is_unknown_again, "cuMemHostUnregister"),
    check!(memory_that_nobody_registered_is_not_unregistered, "cuMemHostUnregister"),
    check!(registered_memory_is_not_freed_as_pinned, "cuMemFreeHost"),
];

const BYTES: usize = 64 << 10;

fn registered_memory_is_known_as_the_hosts(_: &Session) -> Outcome {
    let host = HostBlock::registered(BYTES)?;
    equal("the type", MEMORY_TYPE_HOST, calls::pointer_attribute(pointer::MEMORY_TYPE, host.address()).must()?)
}

fn registered_memory_keeps_its_bytes(_: &Session) -> Outcome {
    let (host, block) = (HostBlock::registered(BYTES)?, DeviceBlock::new(BYTES)?);
    host.fill_pattern(1);
    copy(block.at(0), host.at(0), BYTES).must()?;
    host.fill(0);
    copy(host.at(0), block.at(0), BYTES).must()?;
    calls::unregister(host.address()).must()?;
    host.has_pattern("what came back", 1)
}

fn memory_is_registered_once(_: &Session) -> Outcome {
    let host = HostBlock::registered(BYTES)?;
    host.register()?.is(HOST_MEMORY_ALREADY_REGISTERED)
}

fn unregistered_memory_is_unknown_again(_: &Session) -> Outcome {
    let host = HostBlock::registered(BYTES)?;
    calls::unregister(host.address()).must()?;
    calls::pointer_attribute(pointer::MEMORY_TYPE, host.address())?.0.is(INVALID_VALUE)
}

fn memory_that_nobody_registered_is_not_unregistered(_: &Session) -> Outcome {
    let host = HostBlock::pageable(BYTES);
    calls::unregister(host.address())?.is_one_of(&[HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE])
}

fn registered_memory_is_not_freed_as_pinned(_: &Session) -> Outcome {
    let host = HostBlock::registered(BYTES)?;
    calls::pinned_free(host.address())?.is(INVALID_VALUE)?;
    calls::unregister(host.address())?.ok()
}
