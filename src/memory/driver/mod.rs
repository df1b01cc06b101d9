pub mod blocks;
pub(crate) mod deferred;
pub mod host_register;
pub mod record;
pub mod source;
