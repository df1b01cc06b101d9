//! Blocks of the driver: device memory and page-locked host memory.

pub mod blocks;
pub(crate) mod deferred;
pub mod host_register;
pub mod record;
pub mod source;
