//! The functions behind this library.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::detour;
use crate::symbols::exported;

/// The function behind a symbol that this library defines too.
pub struct Original<F> {
    symbol: &'static str,
    found: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Copy> Original<F> {
    pub const fn new(symbol: &'static str) -> Self {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Original { symbol, found: AtomicPtr::new(null_mut()), of: PhantomData }
    }

    /// Ends the process if no loaded file has the function, as the dynamic linker would.
    pub fn get(&self) -> F {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            let Some(function) = detour::original(self.symbol).or_else(|| exported(self.symbol)) else {
                eprintln!(
                    "libsyncedmem_names.so: {} is in no other loaded file; run without names (--no-names)",
                    self.symbol
                );
                std::process::abort();
            };
            found = function;
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: `new` checked the size, and its caller gave the type of the symbol's function.
        unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) }
    }
}
