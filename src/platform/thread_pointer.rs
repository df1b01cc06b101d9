//! A pointer for each thread, null at first.
//!
//! A `thread_local!` would not do: in a library loaded at run time glibc allocates it at its first use, and aborts if memory
//! has run out.
#![expect(unsafe_code, reason = "POSIX thread-specific data")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

pub struct ThreadPointer {
    /// The thread-specific data key plus one, or 0.
    key: AtomicU32,
    at_end: AtEnd,
}

/// A function of the C library, for a pointer that is not null: no code of this library runs at a thread's end.
type AtEnd = Option<unsafe extern "C" fn(*mut c_void)>;

impl ThreadPointer {
    pub const fn new(at_end: AtEnd) -> Self {
        ThreadPointer { key: AtomicU32::new(0), at_end }
    }

    /// Does not allocate, because a signal handler may have interrupted malloc.
    pub fn get(&self) -> *mut c_void {
        let Some(key) = self.key.load(Ordering::Acquire).checked_sub(1) else { return std::ptr::null_mut() };
        // SAFETY: `key` made it, and it is never deleted.
        unsafe { libc::pthread_getspecific(key) }
    }

    /// Returns whether there was memory for the pointer.
    pub fn set(&self, pointer: *mut c_void) -> bool {
        // SAFETY: `key` made the key, which is never deleted. glibc may allocate here, and returns an error if it cannot.
        self.key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, pointer) } == 0)
    }

    fn key(&self) -> Option<libc::pthread_key_t> {
        if let known @ 1.. = self.key.load(Ordering::Acquire) {
            return Some(known - 1);
        }
        let mut key = 0;
        // SAFETY: `key` is writable; `at_end` takes the pointers that are set.
        if unsafe { libc::pthread_key_create(&mut key, self.at_end) } != 0 {
            return None;
        }
        match self.key.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(key),
            Err(first) => {
                // SAFETY: another thread made the key that is used; only this thread knows this one.
                unsafe { libc::pthread_key_delete(key) };
                Some(first - 1)
            }
        }
    }
}
