//! A callback and its argument, kept until the process ends.
#![expect(unsafe_code, reason = "kept in memory that is allocated fallibly and never freed")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;

struct Registered<F> {
    callback: Option<F>,
    user: *mut c_void,
}

/// Earlier registrations are never freed, because another thread may just have loaded one.
pub struct Slot<F>(AtomicPtr<Registered<F>>);

impl<F: Copy> Slot<F> {
    pub const fn empty() -> Self {
        Slot(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The caller keeps both usable until the process ends.
    pub fn set(&self, callback: Option<F>, user: *mut c_void) -> Result<(), Error> {
        // SAFETY: malloc has no preconditions.
        let new = unsafe { libc::malloc(size_of::<Registered<F>>()) }.cast::<Registered<F>>();
        if new.is_null() {
            return Err(Error::no_room(size_of::<Registered<F>>()));
        }
        // SAFETY: malloc has returned a new block of that size, which is aligned for any type.
        unsafe { new.write(Registered { callback, user }) };
        // Release: pairs with `get`'s Acquire.
        self.0.store(new, Ordering::Release);
        Ok(())
    }

    /// Whether no callback was ever registered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Relaxed: a caller that gets false calls `get` next.
        self.0.load(Ordering::Relaxed).is_null()
    }

    pub fn get(&self) -> Option<(F, *mut c_void)> {
        // SAFETY: the pointer is null or comes from `set`, and its block is never freed.
        let registered = unsafe { self.0.load(Ordering::Acquire).as_ref() }?;
        Some((registered.callback?, registered.user))
    }
}
