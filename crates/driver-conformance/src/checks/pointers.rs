//! The driver's answers about addresses.

use super::{Check, Created, check, detached};
use crate::driver::blocks::{DeviceBlock, HostBlock};
use crate::driver::calls;
use crate::driver::numbers::{MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, pointer};
use crate::driver::status::{INVALID_CONTEXT, INVALID_VALUE};
use crate::driver::table::Handle;
use crate::verdict::{Must, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("device memory is of the devices type", "cuPointerGetAttribute: MEMORY_TYPE", |_| {
        equal("the type", MEMORY_TYPE_DEVICE, small(pointer::MEMORY_TYPE, DeviceBlock::new(BYTES)?.address())?)
    }),
    check("pinned memory is of the hosts type", "cuPointerGetAttribute: MEMORY_TYPE", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        equal("the type", MEMORY_TYPE_HOST, small(pointer::MEMORY_TYPE, pinned.address())?)
    }),
    check("an address inside a block is the blocks", "cuPointerGetAttribute: MEMORY_TYPE", |_| {
        let block = DeviceBlock::new(BYTES)?;
        equal("the type", MEMORY_TYPE_DEVICE, small(pointer::MEMORY_TYPE, block.address() + 77_777)?)
    }),
    check("a block knows its context", "cuPointerGetAttribute: CONTEXT", |session| {
        let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        for address in [block.address(), pinned.address()] {
            let context = calls::pointer_attribute(pointer::CONTEXT, address).must()?;
            equal("the context", session.context, context as Handle)?;
        }
        Ok(())
    }),
    check("a block of a created context knows that one", "cuPointerGetAttribute: CONTEXT", |session| {
        let created = Created::new(session)?;
        let block = DeviceBlock::new(BYTES)?;
        calls::push(session.context).must()?;
        let context = calls::pointer_attribute(pointer::CONTEXT, block.address()).must();
        calls::pop().must()?;
        equal("the context", created.0, context? as Handle)
    }),
    check("a block knows the number of its device", "cuPointerGetAttribute: DEVICE_ORDINAL", |session| {
        let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        for address in [block.address(), pinned.address()] {
            equal("the ordinal", session.device as u64, small(pointer::DEVICE_ORDINAL, address)?)?;
        }
        Ok(())
    }),
    check(
        "a block has a device address and no host address",
        "cuPointerGetAttribute: DEVICE_POINTER, HOST_POINTER",
        |_| {
            let block = DeviceBlock::new(BYTES)?;
            let device = calls::pointer_attribute(pointer::DEVICE_POINTER, block.address()).must()?;
            equal("the device's address", block.address(), device)?;
            calls::pointer_attribute(pointer::HOST_POINTER, block.address())?.0.is(INVALID_VALUE)
        },
    ),
    check("pinned memory has a host address", "cuPointerGetAttribute: HOST_POINTER", |_| {
        let pinned = HostBlock::pinned(BYTES, 0)?;
        let host = calls::pointer_attribute(pointer::HOST_POINTER, pinned.address()).must()?;
        equal("the host's address", pinned.address(), host)
    }),
    check("a block is not managed", "cuPointerGetAttribute: IS_MANAGED", |_| {
        let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        for address in [block.address(), pinned.address()] {
            equal("IS_MANAGED", 0, calls::pointer_attribute(pointer::IS_MANAGED, address).must()? & 0xff)?;
        }
        Ok(())
    }),
    check("an address inside a block knows its range", "cuPointerGetAttribute: RANGE_START_ADDR, RANGE_SIZE", |_| {
        let block = DeviceBlock::new(BYTES)?;
        let inside = block.address() + 1234;
        equal("the start", block.address(), calls::pointer_attribute(pointer::RANGE_START_ADDR, inside).must()?)?;
        let bytes = calls::pointer_attribute(pointer::RANGE_SIZE, inside).must()?;
        ensure(bytes >= BYTES as u64, format!("{BYTES} bytes or more"), bytes.to_string())
    }),
    check("every block has an id of its own", "cuPointerGetAttribute: BUFFER_ID", |_| {
        let (one, two, pinned) = (DeviceBlock::new(BYTES)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
        differ("the ids of two blocks", id(one.address())?, id(two.address())?)?;
        differ("the ids of a device and a pinned block", id(one.address())?, id(pinned.address())?)
    }),
    // The driver chooses addresses: a block of the same size usually gets the one that was freed last.
    check("a block at the same address has another id", "cuPointerGetAttribute: BUFFER_ID", |_| {
        for _ in 0..16 {
            let first = DeviceBlock::new(BYTES)?;
            let (address, before) = (first.address(), id(first.address())?);
            first.free()?.ok()?;
            let second = DeviceBlock::new(BYTES)?;
            if second.address() == address {
                return differ("the ids", before, id(address)?);
            }
        }
        Err(Verdict::skipped("no address was used twice"))
    }),
    check("a block keeps its id", "cuPointerGetAttribute: BUFFER_ID", |_| {
        let block = DeviceBlock::new(BYTES)?;
        let before = id(block.address())?;
        let _other = DeviceBlock::new(BYTES)?;
        equal("the id", before, id(block.address())?)?;
        equal("the id inside", before, id(block.address() + 4096)?)
    }),
    check("pageable memory is unknown", "cuPointerGetAttribute: CONTEXT, MEMORY_TYPE", |_| {
        let plain = HostBlock::pageable(BYTES);
        for attribute in [pointer::CONTEXT, pointer::MEMORY_TYPE] {
            calls::pointer_attribute(attribute, plain.address())?.0.is(INVALID_VALUE)?;
        }
        Ok(())
    }),
    check("a freed block is unknown", "cuPointerGetAttribute: CONTEXT, MEMORY_TYPE", |_| {
        // Large, so that no other block takes its place.
        let block = DeviceBlock::new(16 << 20)?;
        let address = block.address();
        block.free()?.ok()?;
        for attribute in [pointer::CONTEXT, pointer::MEMORY_TYPE] {
            calls::pointer_attribute(attribute, address)?.0.is(INVALID_VALUE)?;
        }
        Ok(())
    }),
    check("an unknown attribute of a block is refused", "cuPointerGetAttribute", |_| {
        let block = DeviceBlock::new(BYTES)?;
        calls::pointer_attribute(100_000, block.address())?.0.is(INVALID_VALUE)
    }),
    check("several attributes come at once", "cuPointerGetAttributes", |session| {
        let block = DeviceBlock::new(BYTES)?;
        let attributes = [pointer::CONTEXT, pointer::DEVICE_POINTER, pointer::BUFFER_ID];
        let values = calls::pointer_attributes(attributes, block.address()).must()?;
        equal("the values", [session.context as u64, block.address(), id(block.address())?], values)
    }),
    check("several attributes of an unknown address are empty", "cuPointerGetAttributes", |_| {
        let plain = HostBlock::pageable(BYTES);
        let values = calls::pointer_attributes([pointer::CONTEXT, pointer::DEVICE_POINTER], plain.address()).must()?;
        equal("the context", 0, values[0])
    }),
    check(
        "a block is known without a current context",
        "cuPointerGetAttribute: CONTEXT, DEVICE_ORDINAL, BUFFER_ID",
        |session| {
            let block = DeviceBlock::new(BYTES)?;
            let ask = |attribute| detached(session, || calls::pointer_attribute(attribute, block.address())).must();
            equal("the context", session.context, ask(pointer::CONTEXT)? as Handle)?;
            equal("the ordinal", session.device as u64, ask(pointer::DEVICE_ORDINAL)? & 0xffff_ffff)?;
            equal("the id", id(block.address())?, ask(pointer::BUFFER_ID)?)
        },
    ),
    check("pageable memory is unknown without a current context", "cuPointerGetAttribute: CONTEXT", |session| {
        let plain = HostBlock::pageable(BYTES);
        detached(session, || calls::pointer_attribute(pointer::CONTEXT, plain.address()))?.0.is(INVALID_VALUE)
    }),
    check("a device address needs a current context", "cuPointerGetAttribute: DEVICE_POINTER", |session| {
        let block = DeviceBlock::new(BYTES)?;
        detached(session, || calls::pointer_attribute(pointer::DEVICE_POINTER, block.address()))?.0.is(INVALID_CONTEXT)
    }),
];

const BYTES: usize = 100_000;

/// Types and ordinals have 32 bits in `cuda.h`.
fn small(attribute: i32, address: u64) -> Result<u64, Verdict> {
    Ok(calls::pointer_attribute(attribute, address).must()? & 0xffff_ffff)
}

fn id(address: u64) -> Result<u64, Verdict> {
    calls::pointer_attribute(pointer::BUFFER_ID, address).must()
}
