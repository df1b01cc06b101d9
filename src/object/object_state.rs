#![expect(unsafe_code, reason = "blocks are freed")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use crate::error::Error;
use crate::memory::{device, host};
use crate::state::step::Contents;
use crate::state::word::Word;

#[derive(Clone, Copy)]
pub(super) struct ObjectState {
    pub host: Option<NonNull<c_void>>,
    pub device: Option<NonNull<c_void>>,
    pub word: Word,
}

impl ObjectState {
    pub const UNTOUCHED: ObjectState = ObjectState { host: None, device: None, word: Word::NEW };

    #[inline]
    pub fn contents(&self) -> Contents {
        self.word.contents()
    }

    #[inline]
    pub fn block(&self, side: Side) -> Option<NonNull<c_void>> {
        match side {
            Side::Host => self.host,
            Side::Device => self.device,
        }
    }

    #[inline]
    pub fn pointer(&self, side: Side) -> *mut c_void {
        self.block(side).map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    #[inline]
    pub fn with(self, contents: Contents) -> ObjectState {
        ObjectState { word: self.word.with(contents), ..self }
    }

    pub fn without(self, side: Side) -> ObjectState {
        match side {
            Side::Host => ObjectState { host: None, word: self.word.with_host(false, false), ..self },
            Side::Device => ObjectState { device: None, word: self.word.with_device(false), ..self },
        }
    }

    pub fn borrowing(self, data: NonNull<c_void>, side: Side) -> ObjectState {
        match side {
            Side::Host => ObjectState { host: Some(data), ..self.without(side) },
            Side::Device => ObjectState { device: Some(data), ..self.without(side) },
        }
    }
}

/// Blocks to give back, each with the address of the object that had it.
#[derive(Default)]
pub(super) struct Detached {
    pub host: Option<host::Owned>,
    pub device: Option<(NonNull<c_void>, usize)>,
}

impl Detached {
    /// The blocks of one side.
    pub fn of(self, side: Side) -> Detached {
        match side {
            Side::Host => Detached { host: self.host, ..Detached::default() },
            Side::Device => Detached { device: self.device, ..Detached::default() },
        }
    }

    /// Frees the host's block first, because the driver may take long.
    ///
    /// # Safety
    /// Unused: the blocks are not used any more, and no copy in flight needs them.
    #[inline]
    pub unsafe fn free(self) {
        if let Some(block) = self.host {
            // SAFETY: the caller of this function guarantees Unused.
            unsafe { host::free(block) };
        }
        if let Some((address, owner)) = self.device {
            // SAFETY: the caller of this function guarantees Unused.
            unsafe { device::free(address, owner) };
        }
    }

    /// Frees the blocks if the copy that they were made for failed.
    ///
    /// # Safety
    /// Unpublished: if the copy failed, nothing refers to the blocks.
    pub unsafe fn kept_for<T>(self, copied: Result<T, Error>) -> Result<(T, Detached), Error> {
        match copied {
            Ok(result) => Ok((result, self)),
            Err(error) => {
                // SAFETY: the caller of this function guarantees Unpublished.
                unsafe { self.free() };
                Err(error)
            }
        }
    }
}
