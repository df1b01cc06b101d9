//! Functions of libsyncedmem's, by their names.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of this type and name. libsyncedmem stays loaded.
pub struct Function<F> {
    symbol: &'static CStr,
    found: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    pub const fn new(symbol: &'static CStr) -> Self {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Function { symbol, found: AtomicPtr::new(null_mut()), of: PhantomData }
    }

    /// `None`: libsyncedmem is not loaded.
    pub fn find(&self) -> Option<F> {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the symbol is NUL-terminated.
            found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.symbol.as_ptr()) };
            if found.is_null() {
                return None;
            }
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: `new` checked the size, and its caller gave the type of the symbol's function.
        Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }
}
