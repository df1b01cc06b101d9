//! Where a block comes from and where it goes: the C library, mappings and the driver, and what is kept for reuse.

pub(crate) mod cache;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod host;
pub(crate) mod host_usage;
pub(crate) mod malloc;
pub(crate) mod mapping;
