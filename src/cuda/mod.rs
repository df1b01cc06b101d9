//! The CUDA driver: found at run time, once, or a reason why there is none to use.
//!
//! ```text
//! blocks (in use), pool (idle), left (not taken back)  →  source (the allocations), streams (what may be using them)
//! source, streams, events  →  context, capture (graphs of the program's)  →  driver (typed entry points), process (exit, fork)
//! ```
//! Nothing here is opened or asked before the first device operation, or the first host block in GPU mode.

pub mod blocks;
pub mod capture;
pub mod context;
pub mod driver;
pub mod events;
mod left;
mod load;
pub mod pool;
mod process;
pub mod registering;
mod runtime;
mod shelf;
pub mod source;
mod status;
pub mod streams;
pub mod usage;

use std::ffi::CStr;
use std::sync::OnceLock;

use crate::error::{DriverFailure, Error, WhyNot};
use crate::text::Text;
use driver::Driver;
pub use process::{begin_child, is_lost_in_child};

/// The driver, or why there is none. It stays mapped for ever.
static FOUND: OnceLock<Result<Driver, WhyNot>> = OnceLock::new();

/// The process's CUDA driver, or why there is none to use.
pub fn driver() -> Result<&'static Driver, Error> {
    find().map_err(|why| Error::NoGpu { why })
}

/// The driver if it was found before and may still be used: for whatever must not be the first to look for it.
pub fn driver_in_use() -> Option<&'static Driver> {
    process::usable().ok()?;
    FOUND.get()?.as_ref().ok()
}

fn find() -> Result<&'static Driver, WhyNot> {
    process::usable()?;
    let found = match FOUND.get() {
        Some(found) => found,
        None => {
            process::begin();
            // No lock is held: threads that look at once both load and start it, which is harmless.
            let found = load::load();
            if let Err(why) = found {
                if load::is_passing(why) {
                    return Err(why);
                }
            }
            FOUND.get_or_init(|| found)
        }
    };
    // A look takes long enough for the process to begin to exit.
    process::usable()?;
    found.as_ref().map_err(|why| *why)
}

/// Whether a failure says that nothing runs any more in the context of the call that failed.
pub fn ends_all_work(failure: DriverFailure) -> bool {
    status::is_context_gone(failure.status) || status::is_left_behind(failure.status)
}

/// Whether a failed question about an address says that the driver does not know it.
pub fn is_unknown_address(failure: DriverFailure) -> bool {
    failure.status == status::INVALID_VALUE
}

/// Whether nothing stands against the use of a driver: the process is not exiting, nor forked from one that had used it.
pub fn may_be_used() -> bool {
    process::usable().is_ok()
}

/// Whether an error says that the driver had no memory left.
pub fn is_out_of_memory(error: Error) -> bool {
    matches!(error, Error::Driver(failure) if failure.status == status::OUT_OF_MEMORY)
}

/// Whether there is a driver to use, and a sentence about it that lives for ever.
pub fn status() -> (Result<(), Error>, &'static CStr) {
    static FOUND: OnceLock<Text<700>> = OnceLock::new();
    static FORKED: OnceLock<Text<700>> = OnceLock::new();
    static EXITING: OnceLock<Text<700>> = OnceLock::new();
    static NOT_NOW: [OnceLock<Text<700>>; 2] = [const { OnceLock::new() }; 2];
    static PASSING: OnceLock<Text<700>> = OnceLock::new();
    let answer = find();
    let sentence = match answer {
        Err(WhyNot::Forked) => &FORKED,
        Err(WhyNot::Exiting) => &EXITING,
        Err(WhyNot::NotNow(want)) => &NOT_NOW[usize::from(want == load::NO_DESCRIPTOR)],
        Err(why) if load::is_passing(why) => &PASSING,
        _ => &FOUND,
    };
    // Made first: a fork in the middle of it leaves nothing half done behind.
    let text = match answer {
        Ok(driver) => driver.introduce(),
        Err(why) => Text::of(format_args!("{}", Error::NoGpu { why })),
    };
    (answer.map(drop).map_err(|why| Error::NoGpu { why }), sentence.get_or_init(|| text).as_c_str())
}

/// Holds what is kept here still, until `release`: for fork.
pub fn acquire() {
    blocks::acquire();
    streams::acquire();
    pool::acquire();
    left::acquire();
    events::acquire();
}

/// Ends `acquire`.
pub fn release() {
    events::release();
    left::release();
    pool::release();
    streams::release();
    blocks::release();
}
