//! What an object looks like after an operation, and what it then no longer refers to.
#![expect(unsafe_code, reason = "blocks are freed")]

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::memory::{device, host};
use crate::observe::recorder;
use crate::state::flags;
use crate::state::head::{Head, Side};
use crate::state::word::Word;

/// What an object looks like after an operation.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub host: Option<NonNull<c_void>>,
    pub device: Option<NonNull<c_void>>,
    pub word: Word,
}

impl Outcome {
    #[inline]
    pub fn block(&self, side: Side) -> Option<NonNull<c_void>> {
        match side {
            Side::Host => self.host,
            Side::Device => self.device,
        }
    }

    /// `side`'s address: null if there is no block, and on the device where there are no bytes.
    #[inline]
    pub fn pointer(&self, side: Side) -> *mut c_void {
        self.block(side).map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    pub fn head(&self) -> Head {
        // Whoever made this outcome has looked.
        self.word.head().unwrap_or(Head::Uninitialized)
    }

    #[inline]
    pub fn with_head(self, head: Head) -> Outcome {
        Outcome { word: self.word.with_head(head), ..self }
    }

    /// The same without `side`'s block.
    pub fn without(self, side: Side) -> Outcome {
        match side {
            Side::Host => Outcome { host: None, word: self.word.with_host(false, false), ..self },
            Side::Device => Outcome { device: None, word: self.word.with_device(false, None), ..self },
        }
    }

    /// The same with a borrowed block on `side`.
    pub fn borrowing(self, data: NonNull<c_void>, side: Side) -> Outcome {
        match side {
            Side::Host => Outcome { host: Some(data), ..self.without(side) },
            Side::Device => Outcome { device: Some(data), ..self.without(side) },
        }
    }
}

/// What an object no longer refers to: blocks that it must give back, and memory that may be registered for it.
#[derive(Default)]
pub(super) struct Owned {
    pub host: Option<host::Owned>,
    /// With the object's address.
    pub device: Option<(NonNull<c_void>, usize)>,
    /// Host memory of the caller's, with the object's address.
    pub borrowed: Option<(NonNull<c_void>, usize)>,
}

impl Owned {
    /// Gives them back. The host's first: the driver may take its time.
    ///
    /// # Safety
    /// Nobody refers to them any more, and nothing that is in flight needs them.
    #[inline]
    pub unsafe fn free(self) {
        if !flags::off() {
            self.tell();
        }
        if let Some(block) = self.host {
            // SAFETY: the caller guarantees it.
            unsafe { host::free(block) };
        }
        if let Some((address, holder)) = self.borrowed {
            host::registration::let_go(holder, address, None);
        }
        if let Some((address, holder)) = self.device {
            // SAFETY: the caller guarantees it.
            unsafe { device::free(address, holder) };
        }
    }

    #[cold]
    fn tell(&self) {
        if let Some(block) = &self.host {
            recorder::freed(block.holder, Side::Host, block.address);
        }
        if let Some((address, holder)) = self.device {
            recorder::freed(holder, Side::Device, address);
        }
    }
}
