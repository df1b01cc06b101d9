//! Before `cuInit`.

use super::{Check, Session, check};
use crate::driver::calls;
use crate::driver::status::{INVALID_VALUE, NOT_INITIALIZED};
use crate::verdict::{Must, Outcome, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(every_entry_point_of_old_drivers_is_there, "Modules: functions of CUDA 10 and older"),
    check!(the_version_is_known_before_initialization, "cuDriverGetVersion"),
    check!(the_version_goes_somewhere, "cuDriverGetVersion"),
    check!(error_names_are_known_before_initialization, "cuGetErrorName"),
    check!(counting_devices_needs_initialization, "cuInit"),
    check!(naming_a_device_needs_initialization, "cuInit"),
    check!(retaining_a_context_needs_initialization, "cuInit"),
    check!(asking_for_the_current_context_needs_initialization, "cuInit"),
    check!(allocating_needs_initialization, "cuInit"),
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

fn every_entry_point_of_old_drivers_is_there(_: &Session) -> Outcome {
    let missing: Vec<_> = calls::missing_entry_points().into_iter().filter(|name| !NEWER.contains(name)).collect();
    ensure(missing.is_empty(), "every entry point to be exported", format!("none called {}", missing.join(", ")))
}

fn the_version_is_known_before_initialization(_: &Session) -> Outcome {
    let version = calls::driver_version().must()?;
    ensure(
        version >= 9000 && version % 10 == 0,
        "1000 times the major and 10 times the minor number",
        version.to_string(),
    )
}

fn the_version_goes_somewhere(_: &Session) -> Outcome {
    calls::driver_version_to_nowhere()?.is(INVALID_VALUE)
}

fn error_names_are_known_before_initialization(_: &Session) -> Outcome {
    equal("the name", Some("CUDA_ERROR_NOT_INITIALIZED".to_owned()), calls::error_name(NOT_INITIALIZED).must()?)
}

fn counting_devices_needs_initialization(_: &Session) -> Outcome {
    calls::device_count()?.0.is(NOT_INITIALIZED)
}

fn naming_a_device_needs_initialization(_: &Session) -> Outcome {
    calls::device(0)?.0.is(NOT_INITIALIZED)
}

fn retaining_a_context_needs_initialization(session: &Session) -> Outcome {
    calls::primary_retain(session.device)?.0.is(NOT_INITIALIZED)
}

fn asking_for_the_current_context_needs_initialization(_: &Session) -> Outcome {
    calls::current()?.0.is(NOT_INITIALIZED)
}

fn allocating_needs_initialization(_: &Session) -> Outcome {
    calls::memory_alloc(4096)?.0.is(NOT_INITIALIZED)
}
