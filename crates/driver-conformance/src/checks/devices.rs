//! Devices and what is known of them without a context.

use super::{Check, Session, check};
use crate::driver::calls;
use crate::driver::numbers::device;
use crate::driver::status::{INVALID_DEVICE, INVALID_VALUE, SUCCESS};
use crate::verdict::{Must, Outcome, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(every_device_in_the_count_has_a_handle, "cuDeviceGet"),
    check!(a_device_past_the_count_is_refused, "cuDeviceGet"),
    check!(a_negative_device_is_refused, "cuDeviceGet"),
    check!(a_name_ends_with_a_nul, "cuDeviceGetName"),
    check!(a_name_keeps_to_its_buffer, "cuDeviceGetName"),
    check!(a_device_has_memory, "cuDeviceTotalMem"),
    check!(a_warp_has_32_threads, "Programming Guide, Hardware Implementation, SIMT Architecture"),
    check!(
        a_block_may_have_many_threads,
        "Programming Guide, Compute Capabilities, Features and Technical Specifications"
    ),
    check!(host_and_device_share_addresses, "Unified Addressing, Supported Platforms"),
    check!(an_unknown_attribute_is_refused, "cuDeviceGetAttribute"),
    check!(an_attribute_of_no_device_is_refused, "cuDeviceGetAttribute"),
];

fn every_device_in_the_count_has_a_handle(_: &Session) -> Outcome {
    for ordinal in 0..calls::device_count().must()? {
        equal("the handle", ordinal, calls::device(ordinal).must()?)?;
    }
    Ok(())
}

fn a_device_past_the_count_is_refused(_: &Session) -> Outcome {
    let count = calls::device_count().must()?;
    calls::device(count)?.0.is(INVALID_DEVICE)
}

fn a_negative_device_is_refused(_: &Session) -> Outcome {
    calls::device(-1)?.0.is_one_of(&[INVALID_DEVICE, INVALID_VALUE])
}

fn a_name_ends_with_a_nul(session: &Session) -> Outcome {
    let name = calls::device_name(session.device, 128).must()?;
    let end = name.iter().position(|&byte| byte == 0);
    ensure(end.is_some_and(|end| end > 0), "a name and a NUL", format!("{:?}", String::from_utf8_lossy(&name)))
}

fn a_name_keeps_to_its_buffer(session: &Session) -> Outcome {
    let whole = calls::device_name(session.device, 128).must()?;
    let (reply, short) = calls::device_name(session.device, 3)?;
    // Older drivers refuse a buffer that is too short.
    reply.is_one_of(&[SUCCESS, INVALID_VALUE])?;
    if reply.status == SUCCESS {
        equal("the shortened name", &[whole[0], whole[1], 0][..], &short[..])?;
    }
    Ok(())
}

fn a_device_has_memory(session: &Session) -> Outcome {
    let bytes = calls::device_memory(session.device).must()?;
    ensure(bytes > 0, "bytes", "none")
}

fn a_warp_has_32_threads(session: &Session) -> Outcome {
    equal("the size of a warp", 32, calls::device_attribute(session.device, device::WARP_SIZE).must()?)
}

fn a_block_may_have_many_threads(session: &Session) -> Outcome {
    let threads = calls::device_attribute(session.device, device::MAX_THREADS_PER_BLOCK).must()?;
    ensure(threads >= 512, "512 threads or more", threads.to_string())
}

fn host_and_device_share_addresses(session: &Session) -> Outcome {
    equal("the attribute", 1, calls::device_attribute(session.device, device::UNIFIED_ADDRESSING).must()?)
}

fn an_unknown_attribute_is_refused(session: &Session) -> Outcome {
    calls::device_attribute(session.device, 1_000_000)?.0.is(INVALID_VALUE)
}

fn an_attribute_of_no_device_is_refused(_: &Session) -> Outcome {
    let count = calls::device_count().must()?;
    calls::device_attribute(count, device::WARP_SIZE)?.0.is(INVALID_DEVICE)
}
