//! Freed blocks, kept whole for the next object that one of them fits.

pub(crate) mod bins;
pub(crate) mod budget;
pub(crate) mod decay;
pub mod device;
pub mod host;
