//! Before and after `cuInit`: entry points, statuses and devices.

use super::*;

pub(crate) const BEFORE_INIT: &[Check] = &[
    check("every entry point of old drivers is there", "Modules: functions of CUDA 10 and older", |_| {
        let missing = ENTRY_POINTS.iter().filter(|name| symbol(name) == 0 && !OPTIONAL.contains(name));
        equal("the missing entry points", Vec::<&&str>::new(), missing.collect());
    }),
    check("the version is known before initialization", "cuDriverGetVersion", |_| {
        let version: i32 = value(cuDriverGetVersion);
        ensure(version >= 9000 && version % 10 == 0, "1000 times the major and 10 times the minor number", version);
    }),
    check("error names are known before initialization", "cuGetErrorName", |_| {
        equal("the name", (SUCCESS, name(NOT_INITIALIZED)), name_of(NOT_INITIALIZED));
    }),
    check("devices and contexts need initialization", "cuInit", |_| {
        reply(cuDeviceGetCount).is(NOT_INITIALIZED);
        reply(|device| cuDeviceGet(device, 0)).is(NOT_INITIALIZED);
        reply(|context| cuDevicePrimaryCtxRetain(context, DEVICE)).is(NOT_INITIALIZED);
        reply(cuCtxGetCurrent).is(NOT_INITIALIZED);
        reply(|address| cuMemAlloc_v2(address, 4096)).is(NOT_INITIALIZED);
    }),
];

/// Newer than CUDA 10, or of use for descriptions alone.
const OPTIONAL: &[&str] =
    &["cuCtxGetId", "cuDeviceGetPCIBusId", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2"];

pub(crate) const CHECKS: &[Check] = &[
    // Numbers without a name in any driver.
    check("an unknown status has no name", "cuGetErrorName", |_| {
        for status in [-1, 98_765, i32::MAX] {
            equal("the name", (INVALID_VALUE, None), name_of(status));
        }
    }),
    check("every device in the count has a handle", "cuDeviceGet", |_| {
        let count: i32 = value(cuDeviceGetCount);
        (0..count).for_each(|ordinal| equal("the handle", ordinal, value(|device| cuDeviceGet(device, ordinal))));
        reply(|device| cuDeviceGet(device, count)).is(INVALID_DEVICE);
    }),
    check("host and device share addresses", "Unified Addressing, Supported Platforms", |_| {
        equal("the attribute", 1, value(|it| cuDeviceGetAttribute(it, UNIFIED_ADDRESSING, DEVICE)));
    }),
    check("an unknown attribute is refused", "cuDeviceGetAttribute", |_| {
        reply(|it| cuDeviceGetAttribute(it, 1_000_000, DEVICE)).is(INVALID_VALUE);
    }),
];

fn name_of(status: Status) -> (Status, Option<String>) {
    // The driver overwrites this for an unknown status, too.
    let mut name = c"untouched".as_ptr();
    (cuGetErrorName(status, &mut name).status, text(name))
}
