pub(crate) mod bins;
pub(crate) mod budget;
pub(crate) mod decay;
pub mod device;
pub mod host;
