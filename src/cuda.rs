//! The door to the GPU.
//!
//! This version has no CUDA half, and the types say so: a [`Driver`] cannot exist, so whatever would
//! need one is reached only through an error that tells why.

use std::convert::Infallible;

use crate::error::Error;

/// Proof that a CUDA driver is there and can be used.
#[derive(Clone, Copy, Debug)]
pub struct Driver(Infallible);

const WHY_NOT: &str = concat!(
    "libsyncedmem ",
    env!("CARGO_PKG_VERSION"),
    " works on host memory only and does not look for a CUDA driver"
);

/// The process's CUDA driver, or why there is none to use.
pub fn driver() -> Result<Driver, Error> {
    Err(Error::NoGpu { why: WHY_NOT })
}

impl Driver {
    /// What follows from a driver that cannot exist.
    pub fn absurd<T>(self) -> T {
        match self.0 {}
    }
}
