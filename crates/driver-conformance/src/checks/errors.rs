//! Initialization, and the names of statuses.

use super::{Check, Session, check};
use crate::driver::calls;
use crate::driver::status::{self, INVALID_VALUE, NOT_FOUND, SUCCESS};
use crate::verdict::{Must, Outcome, ensure, equal};

pub(crate) const CHECKS: &[Check] = &[
    check!(initializing_again_changes_nothing, "cuInit"),
    check!(initializing_with_flags_is_refused, "cuInit: flags must be 0"),
    check!(every_known_status_has_its_name, "cuGetErrorName"),
    check!(every_known_status_has_a_description, "cuGetErrorString"),
    check!(an_unknown_status_has_no_name, "cuGetErrorName"),
    check!(an_unknown_status_has_no_description, "cuGetErrorString"),
    check!(an_entry_point_is_handed_out_by_name, "cuGetProcAddress"),
    check!(an_unknown_entry_point_is_not_handed_out, "cuGetProcAddress"),
];

/// Numbers without a name in any driver.
const UNKNOWN: [i32; 3] = [-1, 98_765, i32::MAX];

fn initializing_again_changes_nothing(_: &Session) -> Outcome {
    let before = calls::device_count().must()?;
    calls::init(0).must()?;
    equal("the count of devices", before, calls::device_count().must()?)
}

fn initializing_with_flags_is_refused(_: &Session) -> Outcome {
    calls::init(1)?.is(INVALID_VALUE)
}

fn every_known_status_has_its_name(_: &Session) -> Outcome {
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
}

fn every_known_status_has_a_description(_: &Session) -> Outcome {
    for number in [SUCCESS, INVALID_VALUE, status::OUT_OF_MEMORY, status::NO_DEVICE, status::UNKNOWN] {
        let text = calls::error_string(number).must()?.unwrap_or_default();
        let expected = format!("words for {}", status::named(number));
        ensure(!text.is_empty() && text != "untouched", expected, format!("{text:?}"))?;
    }
    Ok(())
}

fn an_unknown_status_has_no_name(_: &Session) -> Outcome {
    for number in UNKNOWN {
        let (reply, name) = calls::error_name(number)?;
        reply.is(INVALID_VALUE)?;
        equal("the name", None, name)?;
    }
    Ok(())
}

fn an_unknown_status_has_no_description(_: &Session) -> Outcome {
    for number in UNKNOWN {
        let (reply, text) = calls::error_string(number)?;
        reply.is(INVALID_VALUE)?;
        equal("the description", None, text)?;
    }
    Ok(())
}

fn an_entry_point_is_handed_out_by_name(_: &Session) -> Outcome {
    let version = calls::driver_version().must()?;
    let function = calls::procedure("cuMemAlloc", version).must()?;
    ensure(function.is_some(), "an address for cuMemAlloc", "NULL")
}

/// Drivers return either status, and none an address.
fn an_unknown_entry_point_is_not_handed_out(_: &Session) -> Outcome {
    let version = calls::driver_version().must()?;
    let (reply, function) = calls::procedure("cuThereIsNoSuchThing", version)?;
    reply.is_one_of(&[SUCCESS, NOT_FOUND])?;
    equal("the address", None, function)
}
