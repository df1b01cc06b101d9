//! The math of blobs.

pub mod host;
