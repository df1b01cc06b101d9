//! The library's own accesses to objects.

use std::ffi::c_void;

use syncedmem_core::head::{Access, Side};

use super::error::Error;
use crate::object::owner::Shared;

/// An object's side that was made ready for an access.
pub struct Ready<'b> {
    pub memory: &'b Shared,
    /// Null only on the device without bytes.
    pub address: *mut c_void,
}

impl<'b> Ready<'b> {
    pub fn new(memory: &'b Shared, access: Access, side: Side) -> Result<Ready<'b>, Error> {
        Ok(Ready { memory, address: memory.data(access, side)? })
    }
}
