//! Before `cuInit`.

use super::{Check, check};
use crate::driver::calls;
use crate::driver::status::{INVALID_VALUE, NOT_INITIALIZED};
use crate::verdict::{Must, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check("every entry point of old drivers is there", "Modules: functions of CUDA 10 and older", |_| {
        let missing: Vec<_> = calls::missing_entry_points().into_iter().filter(|name| !NEWER.contains(name)).collect();
        ensure(missing.is_empty(), "every entry point to be exported", format!("none called {}", missing.join(", ")))
    }),
    check("the version is known before initialization", "cuDriverGetVersion", |_| {
        let version = calls::driver_version().must()?;
        ensure(
            version >= 9000 && version % 10 == 0,
            "1000 times the major and 10 times the minor number",
            version.to_string(),
        )
    }),
    check("the version goes somewhere", "cuDriverGetVersion", |_| {
        calls::driver_version_to_nowhere()?.is(INVALID_VALUE)
    }),
    check("error names are known before initialization", "cuGetErrorName", |_| {
        equal("the name", Some("CUDA_ERROR_NOT_INITIALIZED".to_owned()), calls::error_name(NOT_INITIALIZED).must()?)
    }),
    check("counting devices needs initialization", "cuInit", |_| calls::device_count()?.0.is(NOT_INITIALIZED)),
    check("naming a device needs initialization", "cuInit", |_| calls::device(0)?.0.is(NOT_INITIALIZED)),
    check("retaining a context needs initialization", "cuInit", |session| {
        calls::primary_retain(session.device)?.0.is(NOT_INITIALIZED)
    }),
    check("asking for the current context needs initialization", "cuInit", |_| calls::current()?.0.is(NOT_INITIALIZED)),
    check("allocating needs initialization", "cuInit", |_| calls::memory_alloc(4096)?.0.is(NOT_INITIALIZED)),
];

/// Newer than CUDA 10: they may be missing.
const NEWER: &[&str] = &[
    "cuGetProcAddress_v2",
    "cuCtxGetId",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuDeviceGetDefaultMemPool",
    "cuMemPoolTrimTo",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxReset_v2",
];
