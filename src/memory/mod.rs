pub(crate) mod cache;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod host;
pub(crate) mod host_usage;
pub(crate) mod malloc;
pub(crate) mod mapping;
mod thread_slot;
