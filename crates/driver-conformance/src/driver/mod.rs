//! The driver as the checks see it: harmless calls, and owners of what they allocate.

pub(crate) mod blocks;
pub(crate) mod calls;
pub(crate) mod captures;
pub(crate) mod gate;
pub(crate) mod numbers;
pub(crate) mod queues;
pub(crate) mod status;
pub(crate) mod table;
