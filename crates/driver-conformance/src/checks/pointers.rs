//! The driver's answers about addresses.

use super::{Check, Created, Session, check, detached};
use crate::driver::blocks::{DeviceBlock, HostBlock};
use crate::driver::calls;
use crate::driver::numbers::{MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, pointer};
use crate::driver::status::{INVALID_CONTEXT, INVALID_VALUE};
use crate::driver::table::Handle;
use crate::verdict::{Must, Outcome, Verdict, differ, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(device_memory_is_of_the_devices_type, "cuPointerGetAttribute: MEMORY_TYPE"),
    check!(pinned_memory_is_of_the_hosts_type, "cuPointerGetAttribute: MEMORY_TYPE"),
    check!(an_address_inside_a_block_is_the_blocks, "cuPointerGetAttribute: MEMORY_TYPE"),
    check!(a_block_knows_its_context, "cuPointerGetAttribute: CONTEXT"),
    check!(a_block_of_a_created_context_knows_that_one, "cuPointerGetAttribute: CONTEXT"),
    check!(a_block_knows_the_number_of_its_device, "cuPointerGetAttribute: DEVICE_ORDINAL"),
    check!(a_block_has_a_device_address_and_no_host_address, "cuPointerGetAttribute: DEVICE_POINTER, HOST_POINTER"),
    check!(pinned_memory_has_a_host_address, "cuPointerGetAttribute: HOST_POINTER"),
    check!(a_block_is_not_managed, "cuPointerGetAttribute: IS_MANAGED"),
    check!(an_address_inside_a_block_knows_its_range, "cuPointerGetAttribute: RANGE_START_ADDR, RANGE_SIZE"),
    check!(every_block_has_an_id_of_its_own, "cuPointerGetAttribute: BUFFER_ID"),
    check!(a_block_at_the_same_address_has_another_id, "cuPointerGetAttribute: BUFFER_ID"),
    check!(a_block_keeps_its_id, "cuPointerGetAttribute: BUFFER_ID"),
    check!(pageable_memory_is_unknown, "cuPointerGetAttribute: CONTEXT, MEMORY_TYPE"),
    check!(a_freed_block_is_unknown, "cuPointerGetAttribute: CONTEXT, MEMORY_TYPE"),
    check!(an_unknown_attribute_of_a_block_is_refused, "cuPointerGetAttribute"),
    check!(several_attributes_come_at_once, "cuPointerGetAttributes"),
    check!(several_attributes_of_an_unknown_address_are_empty, "cuPointerGetAttributes"),
    check!(a_block_is_known_without_a_current_context, "cuPointerGetAttribute: CONTEXT, DEVICE_ORDINAL, BUFFER_ID"),
    check!(pageable_memory_is_unknown_without_a_current_context, "cuPointerGetAttribute: CONTEXT"),
    check!(a_device_address_needs_a_current_context, "cuPointerGetAttribute: DEVICE_POINTER"),
];

const BYTES: usize = 100_000;

/// Types and ordinals have 32 bits in `cuda.h`.
fn small(attribute: i32, address: u64) -> Result<u64, Verdict> {
    Ok(calls::pointer_attribute(attribute, address).must()? & 0xffff_ffff)
}

fn device_memory_is_of_the_devices_type(_: &Session) -> Outcome {
    equal("the type", MEMORY_TYPE_DEVICE, small(pointer::MEMORY_TYPE, DeviceBlock::new(BYTES)?.address())?)
}

fn pinned_memory_is_of_the_hosts_type(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    equal("the type", MEMORY_TYPE_HOST, small(pointer::MEMORY_TYPE, pinned.address())?)
}

fn an_address_inside_a_block_is_the_blocks(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    equal("the type", MEMORY_TYPE_DEVICE, small(pointer::MEMORY_TYPE, block.address() + 77_777)?)
}

fn a_block_knows_its_context(session: &Session) -> Outcome {
    let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    for address in [block.address(), pinned.address()] {
        let context = calls::pointer_attribute(pointer::CONTEXT, address).must()?;
        equal("the context", session.context, context as Handle)?;
    }
    Ok(())
}

fn a_block_of_a_created_context_knows_that_one(session: &Session) -> Outcome {
    let created = Created::new(session)?;
    let block = DeviceBlock::new(BYTES)?;
    calls::push(session.context).must()?;
    let context = calls::pointer_attribute(pointer::CONTEXT, block.address()).must();
    calls::pop().must()?;
    equal("the context", created.0, context? as Handle)
}

fn a_block_knows_the_number_of_its_device(session: &Session) -> Outcome {
    let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    for address in [block.address(), pinned.address()] {
        equal("the ordinal", session.device as u64, small(pointer::DEVICE_ORDINAL, address)?)?;
    }
    Ok(())
}

fn a_block_has_a_device_address_and_no_host_address(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    let device = calls::pointer_attribute(pointer::DEVICE_POINTER, block.address()).must()?;
    equal("the device's address", block.address(), device)?;
    calls::pointer_attribute(pointer::HOST_POINTER, block.address())?.0.is(INVALID_VALUE)
}

fn pinned_memory_has_a_host_address(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    let host = calls::pointer_attribute(pointer::HOST_POINTER, pinned.address()).must()?;
    equal("the host's address", pinned.address(), host)
}

fn a_block_is_not_managed(_: &Session) -> Outcome {
    let (block, pinned) = (DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    for address in [block.address(), pinned.address()] {
        equal("IS_MANAGED", 0, calls::pointer_attribute(pointer::IS_MANAGED, address).must()? & 0xff)?;
    }
    Ok(())
}

fn an_address_inside_a_block_knows_its_range(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    let inside = block.address() + 1234;
    equal("the start", block.address(), calls::pointer_attribute(pointer::RANGE_START_ADDR, inside).must()?)?;
    let bytes = calls::pointer_attribute(pointer::RANGE_SIZE, inside).must()?;
    ensure(bytes >= BYTES as u64, format!("{BYTES} bytes or more"), bytes.to_string())
}

fn id(address: u64) -> Result<u64, Verdict> {
    calls::pointer_attribute(pointer::BUFFER_ID, address).must()
}

fn every_block_has_an_id_of_its_own(_: &Session) -> Outcome {
    let (one, two, pinned) = (DeviceBlock::new(BYTES)?, DeviceBlock::new(BYTES)?, HostBlock::pinned(BYTES, 0)?);
    differ("the ids of two blocks", id(one.address())?, id(two.address())?)?;
    differ("the ids of a device and a pinned block", id(one.address())?, id(pinned.address())?)
}

/// The driver chooses addresses: a block of the same size usually gets the one that was freed last.
fn a_block_at_the_same_address_has_another_id(_: &Session) -> Outcome {
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
}

fn a_block_keeps_its_id(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    let before = id(block.address())?;
    let _other = DeviceBlock::new(BYTES)?;
    equal("the id", before, id(block.address())?)?;
    equal("the id inside", before, id(block.address() + 4096)?)
}

fn pageable_memory_is_unknown(_: &Session) -> Outcome {
    let plain = HostBlock::pageable(BYTES);
    for attribute in [pointer::CONTEXT, pointer::MEMORY_TYPE] {
        calls::pointer_attribute(attribute, plain.address())?.0.is(INVALID_VALUE)?;
    }
    Ok(())
}

fn a_freed_block_is_unknown(_: &Session) -> Outcome {
    // Large, so that no other block takes its place.
    let block = DeviceBlock::new(16 << 20)?;
    let address = block.address();
    block.free()?.ok()?;
    for attribute in [pointer::CONTEXT, pointer::MEMORY_TYPE] {
        calls::pointer_attribute(attribute, address)?.0.is(INVALID_VALUE)?;
    }
    Ok(())
}

fn an_unknown_attribute_of_a_block_is_refused(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    calls::pointer_attribute(100_000, block.address())?.0.is(INVALID_VALUE)
}

fn several_attributes_come_at_once(session: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    let attributes = [pointer::CONTEXT, pointer::DEVICE_POINTER, pointer::BUFFER_ID];
    let values = calls::pointer_attributes(attributes, block.address()).must()?;
    equal("the values", [session.context as u64, block.address(), id(block.address())?], values)
}

fn several_attributes_of_an_unknown_address_are_empty(_: &Session) -> Outcome {
    let plain = HostBlock::pageable(BYTES);
    let values = calls::pointer_attributes([pointer::CONTEXT, pointer::DEVICE_POINTER], plain.address()).must()?;
    equal("the context", 0, values[0])
}

fn a_block_is_known_without_a_current_context(session: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    let ask = |attribute| detached(session, || calls::pointer_attribute(attribute, block.address())).must();
    equal("the context", session.context, ask(pointer::CONTEXT)? as Handle)?;
    equal("the ordinal", session.device as u64, ask(pointer::DEVICE_ORDINAL)? & 0xffff_ffff)?;
    equal("the id", id(block.address())?, ask(pointer::BUFFER_ID)?)
}

fn pageable_memory_is_unknown_without_a_current_context(session: &Session) -> Outcome {
    let plain = HostBlock::pageable(BYTES);
    detached(session, || calls::pointer_attribute(pointer::CONTEXT, plain.address()))?.0.is(INVALID_VALUE)
}

fn a_device_address_needs_a_current_context(session: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    detached(session, || calls::pointer_attribute(pointer::DEVICE_POINTER, block.address()))?.0.is(INVALID_CONTEXT)
}
