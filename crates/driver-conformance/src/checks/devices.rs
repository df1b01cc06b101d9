//! Devices and what is known of them without a context.

use super::{Check, check};
use crate::driver::calls;
use crate::driver::numbers::device;
use crate::driver::status::{INVALID_DEVICE, INVALID_VALUE, SUCCESS};
use crate::verdict::{Must, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("every device in the count has a handle", "cuDeviceGet", |_| {
        for ordinal in 0..calls::device_count().must()? {
            equal("the handle", ordinal, calls::device(ordinal).must()?)?;
        }
        Ok(())
    }),
    check("a device past the count is refused", "cuDeviceGet", |_| {
        let count = calls::device_count().must()?;
        calls::device(count)?.0.is(INVALID_DEVICE)
    }),
    check("a negative device is refused", "cuDeviceGet", |_| {
        calls::device(-1)?.0.is_one_of(&[INVALID_DEVICE, INVALID_VALUE])
    }),
    check("a name ends with a nul", "cuDeviceGetName", |session| {
        let name = calls::device_name(session.device, 128).must()?;
        let end = name.iter().position(|&byte| byte == 0);
        ensure(end.is_some_and(|end| end > 0), "a name and a NUL", format!("{:?}", String::from_utf8_lossy(&name)))
    }),
    check("a name keeps to its buffer", "cuDeviceGetName", |session| {
        let whole = calls::device_name(session.device, 128).must()?;
        let (reply, short) = calls::device_name(session.device, 3)?;
        // Older drivers refuse a buffer that is too short.
        reply.is_one_of(&[SUCCESS, INVALID_VALUE])?;
        if reply.status == SUCCESS {
            equal("the shortened name", &[whole[0], whole[1], 0][..], &short[..])?;
        }
        Ok(())
    }),
    check("a device has memory", "cuDeviceTotalMem", |session| {
        let bytes = calls::device_memory(session.device).must()?;
        ensure(bytes > 0, "bytes", "none")
    }),
    check("a warp has 32 threads", "Programming Guide, Hardware Implementation, SIMT Architecture", |session| {
        equal("the size of a warp", 32, calls::device_attribute(session.device, device::WARP_SIZE).must()?)
    }),
    check(
        "a block may have many threads",
        "Programming Guide, Compute Capabilities, Features and Technical Specifications",
        |session| {
            let threads = calls::device_attribute(session.device, device::MAX_THREADS_PER_BLOCK).must()?;
            ensure(threads >= 512, "512 threads or more", threads.to_string())
        },
    ),
    check("host and device share addresses", "Unified Addressing, Supported Platforms", |session| {
        equal("the attribute", 1, calls::device_attribute(session.device, device::UNIFIED_ADDRESSING).must()?)
    }),
    check("an unknown attribute is refused", "cuDeviceGetAttribute", |session| {
        calls::device_attribute(session.device, 1_000_000)?.0.is(INVALID_VALUE)
    }),
    check("an attribute of no device is refused", "cuDeviceGetAttribute", |_| {
        let count = calls::device_count().must()?;
        calls::device_attribute(count, device::WARP_SIZE)?.0.is(INVALID_DEVICE)
    }),
];
