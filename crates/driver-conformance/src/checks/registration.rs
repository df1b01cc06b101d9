//! Host memory of the program that is registered with the driver.

use super::{Check, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::{MEMORY_TYPE_HOST, pointer};
use crate::driver::status::{HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE};
use crate::verdict::{Must, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("registered memory is known as the hosts", "cuMemHostRegister", |_| {
        let host = HostBlock::registered(BYTES)?;
        equal("the type", MEMORY_TYPE_HOST, calls::pointer_attribute(pointer::MEMORY_TYPE, host.address()).must()?)
    }),
    check("registered memory keeps its bytes", "cuMemHostRegister", |_| {
        let (host, block) = (HostBlock::registered(BYTES)?, DeviceBlock::new(BYTES)?);
        host.fill_pattern(1);
        copy(block.at(0), host.at(0), BYTES).must()?;
        host.fill(0);
        copy(host.at(0), block.at(0), BYTES).must()?;
        calls::unregister(host.address()).must()?;
        host.has_pattern("what came back", 1)
    }),
    check("memory is registered once", "Data types, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", |_| {
        let host = HostBlock::registered(BYTES)?;
        host.register()?.is(HOST_MEMORY_ALREADY_REGISTERED)
    }),
    check("unregistered memory is unknown again", "cuMemHostUnregister", |_| {
        let host = HostBlock::registered(BYTES)?;
        calls::unregister(host.address()).must()?;
        calls::pointer_attribute(pointer::MEMORY_TYPE, host.address())?.0.is(INVALID_VALUE)
    }),
    check("memory that nobody registered is not unregistered", "cuMemHostUnregister", |_| {
        let host = HostBlock::pageable(BYTES);
        calls::unregister(host.address())?.is_one_of(&[HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE])
    }),
    check("registered memory is not freed as pinned", "cuMemFreeHost", |_| {
        let host = HostBlock::registered(BYTES)?;
        calls::pinned_free(host.address())?.is(INVALID_VALUE)?;
        calls::unregister(host.address())?.ok()
    }),
];

const BYTES: usize = 64 << 10;
