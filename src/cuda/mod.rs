//! The CUDA driver: found once, at run time, or a reason why none can be used.
//!
//! ```text
//! streams (work that may use a block)  →  events  →  synchronize  →  capture (CUDA graphs)
//! capture, pointer (whose an address is)  →  context  →  driver (typed entry points)
//! cublas (the math of blobs)  →  capture, context
//! load (find and start the driver)  →  driver  →  process (exit, fork, captures)
//! ```
//! The first device operation, or the first host block in GPU mode, looks for the driver.
#![expect(unsafe_code, reason = "the driver is asked for the names of devices")]

#[macro_use]
mod entry_points;

pub mod capture;
pub mod context;
#[cfg(feature = "blob")]
pub mod cublas;
pub mod driver;
pub mod events;
mod load;
pub mod pointer;
mod process;
mod runtime;
pub mod status;
pub mod streams;
pub mod synchronize;

use std::ffi::CStr;
use std::fmt::Write;
use std::sync::OnceLock;

use syncedmem_core::text::Text;

use crate::error::{DriverFailure, Error, Version, WhyNot};
use driver::Driver;
pub use process::{begin_child, captures_graphs, is_lost_in_child};

/// More devices than any machine has. Nothing is cached about devices from this ordinal on.
pub const MOST_DEVICES: usize = 64;

/// The driver's library stays loaded until the process ends.
static FOUND: OnceLock<Result<Driver, WhyNot>> = OnceLock::new();

pub fn driver() -> Result<&'static Driver, Error> {
    find().map_err(|why| Error::NoGpu { why })
}

/// The driver that an earlier call found. Does not search.
pub fn driver_in_use() -> Option<&'static Driver> {
    process::usable().ok()?;
    FOUND.get()?.as_ref().ok()
}

fn find() -> Result<&'static Driver, WhyNot> {
    process::usable()?;
    let found = match FOUND.get() {
        Some(found) => found,
        None => {
            process::begin_search();
            // Two threads may both load and start it, which is harmless.
            let found = load::load();
            if let Err(why) = found {
                if load::is_temporary(why) {
                    return Err(why);
                }
            }
            FOUND.get_or_init(|| found)
        }
    };
    // The process may have begun to exit during the search.
    process::usable()?;
    found.as_ref().map_err(|why| *why)
}

/// Whether the failure means that no work of its context runs any more.
pub fn ends_all_work(failure: DriverFailure) -> bool {
    status::is_context_gone(failure.status) || status::is_sticky(failure.status)
}

/// `false` while the process exits, and in a child of a process that had used the driver.
pub fn may_be_used() -> bool {
    process::usable().is_ok()
}

pub fn is_out_of_memory(error: Error) -> bool {
    matches!(error, Error::Driver(failure) if failure.status == status::OUT_OF_MEMORY)
}

/// Whether the driver can be used, and a sentence about it.
pub fn status() -> (Result<(), Error>, &'static CStr) {
    static SENTENCES: [OnceLock<Text<700>>; 6] = [const { OnceLock::new() }; 6];
    let answer = find();
    let sentence = &SENTENCES[match answer {
        Err(WhyNot::Forked) => 0,
        Err(WhyNot::Exiting) => 1,
        Err(WhyNot::NotNow(want)) => 2 + usize::from(want == load::NO_DESCRIPTOR),
        Err(why) if load::is_temporary(why) => 4,
        _ => 5,
    }];
    // The text is made first, so that no fork finds the cell half initialised.
    let text = match answer {
        Ok(driver) => introduce(driver),
        Err(why) => Text::of(format_args!("{}", Error::NoGpu { why })),
    };
    (answer.map(drop).map_err(|why| Error::NoGpu { why }), sentence.get_or_init(|| text).as_c_str())
}

fn introduce(driver: &Driver) -> Text<700> {
    let count = driver.count().unwrap_or(0);
    let mut text = Text::of(format_args!(
        "CUDA driver {} with {count} device{}",
        Version(load::version()),
        if count == 1 { "" } else { "s" }
    ));
    for ordinal in 0..count {
        let mut name = [0u8; 100];
        // SAFETY: `name` has 100 writable bytes, and ordinals below the count are devices.
        let named = unsafe { driver.device_name(name.as_mut_ptr().cast(), 100, ordinal) };
        let name = CStr::from_bytes_until_nul(&name).ok().and_then(|name| name.to_str().ok());
        let name = name.filter(|_| named.is_ok()).unwrap_or("(without a name)");
        let _ = write!(text, "{}{ordinal} is {name}", if ordinal == 0 { ": " } else { ", " });
    }
    text
}
