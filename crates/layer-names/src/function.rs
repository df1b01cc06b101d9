//! Functions of other files, by their names.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::detour;
use crate::symbols::exported;

/// A function of this type and name: one of Caffe's that this library stands in front of, or one of libsyncedmem's.
pub struct Function<F> {
    symbol: &'static str,
    found: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    pub const fn new(symbol: &'static str) -> Self {
        assert!(size_of::<F>() == size_of::<*mut c_void>());
        Function { symbol, found: AtomicPtr::new(null_mut()), of: PhantomData }
    }

    fn find(&self, find: impl FnOnce(&str) -> Option<*mut c_void>) -> Option<F> {
        let mut found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            found = find(self.symbol)?;
            self.found.store(found, Ordering::Relaxed);
        }
        // SAFETY: `new` checked the size, and its caller gave the type of the symbol's function.
        Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }

    /// The function behind this library's. Ends the process if no loaded file has it, as the dynamic linker would.
    pub fn original(&self) -> F {
        self.find(|symbol| detour::original(symbol).or_else(|| exported(symbol))).unwrap_or_else(|| {
            eprintln!(
                "libsyncedmem_names.so: {} is in no other loaded file; run without names (--no-names)",
                self.symbol
            );
            std::process::abort()
        })
    }

    /// `None`: libsyncedmem is not loaded.
    pub fn of_library(&self) -> Option<F> {
        self.find(|symbol| {
            let symbol = CString::new(symbol).ok()?;
            // SAFETY: the symbol is NUL-terminated.
            let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
            (!found.is_null()).then_some(found)
        })
    }
}
