//! Initialization, and the names of statuses.

use super::{Check, check};
use crate::driver::calls;
use crate::driver::status::{self, INVALID_VALUE, NOT_FOUND, SUCCESS};
use crate::verdict::{Must, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("initializing again changes nothing", "cuInit", |_| {
        let before = calls::device_count().must()?;
        calls::init(0).must()?;
        equal("the count of devices", before, calls::device_count().must()?)
    }),
    check("initializing with flags is refused", "cuInit: flags must be 0", |_| calls::init(1)?.is(INVALID_VALUE)),
    check("every known status has its name", "cuGetErrorName", |_| {
        for &(number, _) in status::KNOWN {
            let (reply, name) = calls::error_name(number)?;
            // STUB_LIBRARY came with CUDA 11.1.
            if number == status::STUB_LIBRARY && reply.status == INVALID_VALUE {
                continue;
            }
            reply.ok()?;
            equal("the name", status::name(number), name)?;
        }
        Ok(())
    }),
    check("every known status has a description", "cuGetErrorString", |_| {
        for number in [SUCCESS, INVALID_VALUE, status::OUT_OF_MEMORY, status::NO_DEVICE, status::UNKNOWN] {
            let text = calls::error_string(number).must()?.unwrap_or_default();
            let expected = format!("words for {}", status::named(number));
            ensure(!text.is_empty() && text != "untouched", expected, format!("{text:?}"))?;
        }
        Ok(())
    }),
    check("an unknown status has no name", "cuGetErrorName", |_| {
        for number in UNKNOWN {
            let (reply, name) = calls::error_name(number)?;
            reply.is(INVALID_VALUE)?;
            equal("the name", None, name)?;
        }
        Ok(())
    }),
    check("an unknown status has no description", "cuGetErrorString", |_| {
        for number in UNKNOWN {
            let (reply, text) = calls::error_string(number)?;
            reply.is(INVALID_VALUE)?;
            equal("the description", None, text)?;
        }
        Ok(())
    }),
    check("an entry point is handed out by name", "cuGetProcAddress", |_| {
        let version = calls::driver_version().must()?;
        let function = calls::procedure("cuMemAlloc", version).must()?;
        ensure(function.is_some(), "an address for cuMemAlloc", "NULL")
    }),
    // Drivers return either status, and none an address.
    check("an unknown entry point is not handed out", "cuGetProcAddress", |_| {
        let version = calls::driver_version().must()?;
        let (reply, function) = calls::procedure("cuThereIsNoSuchThing", version)?;
        reply.is_one_of(&[SUCCESS, NOT_FOUND])?;
        equal("the address", None, function)
    }),
];

/// Numbers without a name in any driver.
const UNKNOWN: [i32; 3] = [-1, 98_765, i32::MAX];
