//! The library's own accesses to objects.

use std::ffi::c_void;

use syncedmem_trace::head::{Access, Side};

use super::error::Error;
use crate::object::shared::Shared;

/// Ends with its scope.
pub struct Open<'b> {
    pub memory: &'b Shared,
    /// Null only on the device without bytes.
    pub address: *mut c_void,
}

impl<'b> Open<'b> {
    pub fn new(memory: &'b Shared, access: Access, side: Side) -> Result<Open<'b>, Error> {
        Ok(Open { memory, address: memory.data(access, side)? })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // Fails without an open access: the object became evictable since.
        let _ = self.memory.end_access();
    }
}
