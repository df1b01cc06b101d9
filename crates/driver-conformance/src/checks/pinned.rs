//! Page-locked host memory of the driver's.

use super::{Check, Created, Session, check};
use crate::driver::blocks::{DeviceBlock, HostBlock, copy};
use crate::driver::calls;
use crate::driver::numbers::{HOST_DEVICEMAP, HOST_PORTABLE, HOST_WRITECOMBINED, pointer};
use crate::driver::status::{INVALID_VALUE, SUCCESS};
use crate::verdict::{Must, Outcome, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(the_host_reads_and_writes_it, "cuMemHostAlloc"),
    check!(it_remembers_what_it_was_asked_for, "cuMemHostGetFlags"),
    check!(an_address_inside_tells_the_flags_too, "cuMemHostGetFlags"),
    check!(unknown_flags_are_refused, "cuMemHostAlloc"),
    check!(nothing_pinned_harms_nothing, "cuMemHostAlloc: open, so either status"),
    check!(the_device_reaches_it_at_the_same_address, "cuMemHostAlloc: unified addressing"),
    check!(pageable_memory_has_no_flags, "cuMemHostGetFlags"),
    check!(device_memory_has_no_host_flags, "cuMemHostGetFlags"),
    check!(it_is_freed_once, "cuMemFreeHost"),
    check!(an_address_inside_it_is_not_freed, "cuMemFreeHost"),
    check!(pageable_memory_is_not_freed_as_pinned, "cuMemFreeHost"),
    check!(device_memory_is_not_freed_as_pinned, "cuMemFreeHost"),
    check!(freeing_no_pinned_memory_harms_nothing, "cuMemFreeHost: open, so any status"),
    check!(portable_memory_is_pinned_to_another_context, "cuMemHostAlloc"),
];

const BYTES: usize = 100_000;

fn the_host_reads_and_writes_it(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    pinned.fill_pattern(1);
    pinned.has_pattern("the block", 1)?;
    pinned.free()?.ok()
}

/// The driver may add flags of its own.
fn it_remembers_what_it_was_asked_for(_: &Session) -> Outcome {
    for asked in [0, HOST_PORTABLE, HOST_DEVICEMAP, HOST_PORTABLE | HOST_DEVICEMAP] {
        let pinned = HostBlock::pinned(BYTES, asked)?;
        let flags = calls::pinned_flags(pinned.address()).must()?;
        equal("the flags that were asked for", asked, flags & asked)?;
        equal("the flag for write-combined memory", 0, flags & HOST_WRITECOMBINED)?;
    }
    Ok(())
}

fn an_address_inside_tells_the_flags_too(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, HOST_PORTABLE)?;
    let flags = calls::pinned_flags(pinned.address() + 4097).must()?;
    equal("the flag that was asked for", HOST_PORTABLE, flags & HOST_PORTABLE)
}

fn unknown_flags_are_refused(_: &Session) -> Outcome {
    HostBlock::try_pinned(BYTES, 1 << 20)?.is(INVALID_VALUE)
}

fn nothing_pinned_harms_nothing(_: &Session) -> Outcome {
    HostBlock::try_pinned(0, 0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
    calls::synchronize()?.ok()
}

fn the_device_reaches_it_at_the_same_address(_: &Session) -> Outcome {
    for flags in [0, HOST_PORTABLE, HOST_DEVICEMAP] {
        let pinned = HostBlock::pinned(BYTES, flags)?;
        let device = calls::pointer_attribute(pointer::DEVICE_POINTER, pinned.address()).must()?;
        equal("the device's address", pinned.address(), device)?;
    }
    Ok(())
}

fn pageable_memory_has_no_flags(_: &Session) -> Outcome {
    let plain = HostBlock::pageable(BYTES);
    calls::pinned_flags(plain.address())?.0.is(INVALID_VALUE)
}

fn device_memory_has_no_host_flags(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    calls::pinned_flags(block.address())?.0.is(INVALID_VALUE)
}

fn it_is_freed_once(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    let address = pinned.address();
    pinned.free()?.ok()?;
    calls::pinned_free(address)?.is(INVALID_VALUE)
}

fn an_address_inside_it_is_not_freed(_: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, 0)?;
    calls::pinned_free(pinned.address() + 4096)?.is(INVALID_VALUE)?;
    pinned.free()?.ok()
}

fn pageable_memory_is_not_freed_as_pinned(_: &Session) -> Outcome {
    let plain = HostBlock::pageable(BYTES);
    calls::pinned_free(plain.address())?.is(INVALID_VALUE)
}

fn device_memory_is_not_freed_as_pinned(_: &Session) -> Outcome {
    let block = DeviceBlock::new(BYTES)?;
    calls::pinned_free(block.address())?.is(INVALID_VALUE)?;
    block.free()?.ok()
}

fn freeing_no_pinned_memory_harms_nothing(_: &Session) -> Outcome {
    calls::pinned_free(0)?.is_one_of(&[SUCCESS, INVALID_VALUE])?;
    HostBlock::pinned(BYTES, 0)?.free()?.ok()
}

fn portable_memory_is_pinned_to_another_context(session: &Session) -> Outcome {
    let pinned = HostBlock::pinned(BYTES, HOST_PORTABLE)?;
    pinned.fill_pattern(3);
    let _created = Created::new(session)?;
    let flags = calls::pinned_flags(pinned.address()).must()?;
    ensure(flags & HOST_PORTABLE != 0, "the flag for portable memory", format!("flags {flags:#x}"))?;
    let block = DeviceBlock::new(BYTES)?;
    copy(block.at(0), pinned.at(0), BYTES).must()?;
    pinned.fill(0);
    copy(pinned.at(0), block.at(0), BYTES).must()?;
    pinned.has_pattern("what came back", 3)
}
