pub mod allocator;
pub(crate) mod deferred;
pub mod source;
