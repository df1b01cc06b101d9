//! Events: marks in a stream that the host or other streams wait for.

use std::ffi::c_uint;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::abi::Handle;
use crate::capture::Mark;
use crate::stream::Token;

pub struct Event {
    pub context: Handle,
    pub flags: c_uint,
    pub recorded: Option<Recorded>,
    /// Set if the last recording was captured.
    pub mark: Option<Mark>,
}

/// The operation, and the time of its turn.
#[derive(Clone)]
pub struct Recorded {
    pub token: Token,
    pub time: Arc<OnceLock<Instant>>,
}
