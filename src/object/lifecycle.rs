//! Construction and end, in the caller's storage (`construct`, `destruct`) and in the library's own (`create`, `destroy`).
#![expect(unsafe_code, reason = "objects live in storage that C++ or malloc owns, and blocks are freed")]

use std::ptr::NonNull;
use std::sync::atomic::AtomicBool;

use syncedmem_core::head::Side;
use syncedmem_core::text::Bytes;
use syncedmem_trace::event::{Noticed, What};

use super::dlpack::exchange::end_imports;
use super::dlpack::tensors::{Fate, Imports};
use super::sharing::share::Share;
use super::{Entry, SyncedMemory, TABLE};
use crate::cuda;
use crate::error::Error;
use crate::memory::host;
use crate::observe::control;
use crate::observe::recorder::{self, Subject};
use crate::platform::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::platform::text::warn_once;
use crate::state::flags;
use crate::state::word::Word;

/// The size of BVLC's class, so that a debugger can show the object as one.
const OBJECT_BYTES: usize = 40;

impl SyncedMemory {
    /// # Safety
    /// Storage: `storage` is aligned to 8 and writable for 32 bytes, and holds no live object.
    pub unsafe fn construct(storage: NonNull<SyncedMemory>, bytes: usize) {
        if flags::is_observed() {
            Self::begin(Subject { object: storage.addr().get(), bytes });
        }
        // SAFETY: the caller of this function guarantees Storage.
        unsafe { Self::write(storage, bytes) };
    }

    /// [`Self::construct`] without an event for the trace.
    ///
    /// # Safety
    /// Storage, as in `construct`.
    #[inline]
    pub unsafe fn write(storage: NonNull<SyncedMemory>, bytes: usize) {
        let object = SyncedMemory {
            cpu_ptr: AtomicPtr::new(std::ptr::null_mut()),
            gpu_ptr: AtomicPtr::new(std::ptr::null_mut()),
            size: AtomicUsize::new(bytes),
            word: AtomicU64::new(Word::NEW.0),
        };
        // SAFETY: the caller of this function guarantees Storage.
        unsafe { storage.write(object) };
    }

    #[cold]
    fn begin(new: Subject) {
        control::read_settings();
        recorder::record(new, || What::Made { bytes: new.bytes as u64, noticed: Noticed::Construction });
    }

    #[inline(always)]
    pub fn create(bytes: usize) -> Result<NonNull<SyncedMemory>, Error> {
        host::check_size(bytes, Side::Host)?;
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let storage = NonNull::new(unsafe { libc::malloc(OBJECT_BYTES) }.cast::<SyncedMemory>())
            .ok_or(Error::no_room(OBJECT_BYTES))?;
        // The deleter of a tensor finds the object by its address.
        storage.as_ptr().expose_provenance();
        // SAFETY: malloc returned the storage, aligned and large enough.
        unsafe { SyncedMemory::construct(storage, bytes) };
        Ok(storage)
    }

    /// Ends the object and frees its storage. While tensors of the object are in use it lives on: the deleter of the last one ends it.
    ///
    /// # Safety
    /// The object came from `create`. From now on only its tensors use it or its pointers.
    #[inline]
    pub unsafe fn destroy(&self) -> Result<(), Error> {
        // SAFETY: the caller of this function has given up the object and its pointers.
        if unsafe { self.destruct_small() } {
            // SAFETY: the object came from `create`, and has ended.
            unsafe { self.free_storage() };
            return Ok(());
        }
        self.head()?;
        let fate = self.with_entry(|entry| entry.tensors.destroy())?.transpose()?;
        if fate == Some(Fate::Waits) {
            return Ok(());
        }
        // SAFETY: the caller of this function has given up the object, and no tensor uses it.
        let imports = unsafe { self.end() }?;
        // SAFETY: the object came from `create`, and has ended.
        unsafe { self.free_storage() };
        end_imports(imports);
        Ok(())
    }

    /// Ends the object in its storage. An error means that it was not live.
    ///
    /// # Safety
    /// Last use: the object and its pointers are not used any more.
    pub unsafe fn destruct(&self) -> Result<(), Error> {
        // SAFETY: the caller of this function guarantees Last use.
        let imports = unsafe { self.end() }?;
        end_imports(imports);
        Ok(())
    }

    /// [`Self::destruct`], refused while tensors of the object are in use, because they could not end it later.
    ///
    /// # Safety
    /// Last use, as in `destruct`.
    pub unsafe fn destruct_unless_exported(&self) -> Result<(), Error> {
        self.head()?;
        self.with_entry(|entry| entry.tensors.refuse(None))?.transpose()?;
        // SAFETY: the caller of this function guarantees Last use.
        unsafe { self.destruct() }
    }

    /// Ends an object that has no entry and no block or, while no flag is set, one small pageable block. Returns whether it ended.
    ///
    /// # Safety
    /// Last use, as in `destruct`.
    #[inline]
    pub unsafe fn destruct_small(&self) -> bool {
        // Relaxed: the caller has ordered other threads' uses of the object before this call.
        let (word, bytes) = (Word(self.word.load(Ordering::Relaxed)), self.size.load(Ordering::Relaxed));
        // `owns_pageable_alone` compares the slow bit too. That of an untouched object means nothing: an inlined constructor does not
        // write it.
        let owns_little = bytes <= host::BRIEF && word.owns_pageable_alone() && flags::none();
        let is_known = || flags::is_observed() || TABLE.has(self.address());
        let ends_here = owns_little || (word.is_untouched() && !is_known());
        if !ends_here {
            return false;
        }
        self.word.store(Word::DESTROYED.0, Ordering::Relaxed);
        if let Some(address) = self.block(word, Side::Host) {
            // SAFETY: the object owned the block, and the caller of this function guarantees Last use.
            unsafe { host::free_small(address, bytes, self.address()) };
        }
        true
    }

    /// Ends the object. The caller ends the imports that this returns last, because their deleters may call the library.
    ///
    /// # Safety
    /// Last use, as in `destruct`.
    #[inline]
    pub(super) unsafe fn end(&self) -> Result<Imports, Error> {
        let before = self.load();
        before.head().ok_or(Error::InvalidHandle)?;
        // Compat: an inlined constructor leaves the slow bit of an untouched object as the memory was.
        let may_have_entry = before.is_untouched() || before.is_slow();
        let entry = if may_have_entry { TABLE.remove(self.address()) } else { None };
        let mut is_over = true;
        let mut kept = entry.map(|entry| self.without_copy(entry, &mut is_over));
        let word = self.load();
        let mut owned = self.owned(word);
        let left = kept.as_mut().and_then(|entry| entry.share.as_mut()).and_then(Share::leave_block);
        owned.host = owned.host.filter(|_| left.is_none());
        self.word.store(Word::DESTROYED.0, Ordering::Relaxed);
        if is_over {
            // SAFETY: the caller of this function guarantees Last use, and no copy uses the blocks.
            unsafe { owned.free() };
        }
        // Both may have blocks in an arena, which can end only after them.
        drop((left, kept.as_mut().and_then(|entry| entry.parked.take())));
        Self::end_sharing(kept.as_mut().and_then(|entry| entry.share.take()));
        recorder::record(self.subject(), || What::Ended);
        Ok(kept.filter(|_| is_over).map_or([None, None], |mut entry| entry.tensors.take_imports()))
    }

    /// Returns the entry without its copy in flight, which it waits for, or abandons if an earlier object started it. `is_over` becomes
    /// false if the wait failed: the copy may still use the blocks, which are then never freed.
    #[cold]
    fn without_copy(&self, mut entry: Entry, is_over: &mut bool) -> Entry {
        let is_own = entry.is_of(self.identity());
        if let Some(copy) = entry.in_flight.take() {
            if !is_own {
                copy.abandon();
            } else if let Some(driver) = cuda::driver_in_use() {
                let span = recorder::begin_wait();
                *is_over = copy.finish_or_abandon(driver);
                if !*is_over {
                    static WARNED: AtomicBool = AtomicBool::new(false);
                    let bytes = Bytes(self.size.load(Ordering::Relaxed) as u64);
                    warn_once(
                        &WARNED,
                        format_args!(
                            "a copy of {bytes} could not be waited for when its object ended; its memory is left to the system"
                        ),
                    );
                }
                self.tell_completed(span, copy);
            }
        }
        entry
    }

    /// # Safety
    /// The object came from `create`, and has ended.
    #[inline]
    pub(super) unsafe fn free_storage(&self) {
        if cfg!(not(feature = "checked")) {
            // SAFETY: the caller of this function has an object of `create`, which took its storage from malloc.
            unsafe { libc::free(std::ptr::from_ref(self).cast_mut().cast()) };
        }
    }

    /// The link to the next object in a list of objects to end, in the storage of this one.
    ///
    /// # Safety
    /// `object` came from `create` and was destroyed, and no tensor of it is left.
    pub(super) unsafe fn next_to_end(object: NonNull<SyncedMemory>) -> NonNull<Option<NonNull<SyncedMemory>>> {
        // SAFETY: the caller of this function has an object of `create`.
        unsafe { Self::spare(object) }.cast()
    }

    /// The word of storage after the object. While the object lives, [`super::owner`] counts owners there.
    ///
    /// # Safety
    /// `object` came from `create`.
    pub(super) unsafe fn spare(object: NonNull<SyncedMemory>) -> NonNull<usize> {
        const { assert!(size_of::<SyncedMemory>() + size_of::<usize>() <= OBJECT_BYTES) };
        // SAFETY: `create` allocated OBJECT_BYTES, which the assertion compares.
        unsafe { object.add(1).cast() }
    }
}
