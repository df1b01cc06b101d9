//! `SyncedMemory`: the head and two buffers, in the 32 bytes that every Caffe's class begins with.
//!
//! This is the only place that decides to allocate, fill or copy. An object whose data is where it is wanted
//! is served by one load and one compare; everything else claims the object in the [`table`] first.
#![expect(unsafe_code, reason = "objects live in storage that C++ owns, and blocks are freed")]

pub(crate) mod fork;
pub mod table;
pub mod word;

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::error::{Cause, Error};
use crate::head::{Access, Contents, Head, Side};
use crate::sync::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, this_thread};
use crate::{cuda, host};
use table::{Claim, Identity, NoClaim};
use word::Word;

/// The first 32 bytes of a `caffe::SyncedMemory`, which are all that this library touches.
#[repr(C)]
#[derive(Debug)]
pub struct SyncedMemory {
    cpu_ptr: AtomicPtr<c_void>,
    gpu_ptr: AtomicPtr<c_void>,
    size: AtomicUsize,
    /// A [`Word`]. Every store is a Release under the table's lock, after the pointers are written; a load that
    /// leads to a pointer is an Acquire.
    word: AtomicU64,
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<SyncedMemory>() == 32 && align_of::<SyncedMemory>() == 8);
    assert!(offset_of!(SyncedMemory, cpu_ptr) == 0 && offset_of!(SyncedMemory, gpu_ptr) == 8);
    assert!(offset_of!(SyncedMemory, size) == 16 && offset_of!(SyncedMemory, word) == 24);
};

#[cfg(not(loom))]
static TABLE: table::Table = table::Table::new();
#[cfg(loom)]
loom::lazy_static! { static ref TABLE: table::Table = table::Table::new(); }

impl SyncedMemory {
    /// Makes an object of `bytes` in `storage`, as an out-of-line constructor does: nothing is allocated.
    ///
    /// # Safety
    /// `storage` is aligned to 8 and writable for `size_of::<SyncedMemory>()` bytes, and nobody uses it as an object.
    pub unsafe fn construct(storage: NonNull<SyncedMemory>, bytes: usize) {
        TABLE.purge(storage.addr().get());
        // SAFETY: the caller guarantees it.
        unsafe { Self::construct_fresh(storage, bytes) };
    }

    /// Whether nothing can be left of an earlier object at this address.
    #[inline]
    pub fn is_fresh(storage: NonNull<SyncedMemory>) -> bool {
        TABLE.is_quiet(storage.addr().get())
    }

    /// `construct`, where `is_fresh`.
    ///
    /// # Safety
    /// As for `construct`.
    #[inline]
    pub unsafe fn construct_fresh(storage: NonNull<SyncedMemory>, bytes: usize) {
        let object = SyncedMemory {
            cpu_ptr: AtomicPtr::new(std::ptr::null_mut()),
            gpu_ptr: AtomicPtr::new(std::ptr::null_mut()),
            size: AtomicUsize::new(bytes),
            word: AtomicU64::new(Word::NEW.0),
        };
        // SAFETY: the caller guarantees writable storage.
        unsafe { storage.write(object) };
    }

    /// Ends the object if it was never touched, and says whether it did: then it owns nothing.
    #[inline]
    pub fn destruct_untouched(&self) -> bool {
        // Relaxed: whoever destroys an object has seen all that others did with it.
        let word = Word(self.word.load(Ordering::Relaxed));
        let untouched = TABLE.is_quiet(self.address()) && word.is_untouched();
        if untouched {
            self.word.store(Word::DESTROYED.0, Ordering::Relaxed);
        }
        untouched
    }

    /// Ends the object: frees the blocks it owns. An error means that it was no live object, and nothing was done.
    ///
    /// # Safety
    /// Nobody uses the object or its pointers any more.
    pub unsafe fn destruct(&self) -> Result<(), Error> {
        TABLE.purge(self.address());
        let word = self.load();
        word.head().ok_or(Error::InvalidHandle)?;
        let host = self.owned_host(word);
        self.word.store(Word::DESTROYED.0, Ordering::Relaxed);
        // A device block was made by another implementation, in a process where this one finds no driver: it stays.
        // SAFETY: nobody uses its pointers any more, says the caller.
        unsafe { free(host) };
        Ok(())
    }

    /// Where the newest data is.
    pub fn head(&self) -> Result<Head, Error> {
        self.load().head().ok_or(Error::InvalidHandle)
    }

    /// The size of each side, in bytes.
    pub fn size(&self) -> Result<usize, Error> {
        self.head().map(|_| self.size.load(Ordering::Relaxed))
    }

    /// The address of `side`'s data, made ready for `access`. It is null only on the device, for size 0.
    #[inline]
    pub fn data(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        match self.ready(access, side) {
            Some(address) => Ok(address),
            None => self.prepare(access, side),
        }
    }

    /// The address of `side`'s data if nothing need be done for `access`: one load, one compare, no lock.
    #[inline]
    pub fn ready(&self, access: Access, side: Side) -> Option<*mut c_void> {
        self.ready_if(Word::deciding(access, side), side)
    }

    /// The same, with the bits that decide: none of them, and the answer is always `None`.
    #[inline]
    pub fn ready_if(&self, deciding: u64, side: Side) -> Option<*mut c_void> {
        // Relaxed: written before the word that `load` acquired.
        self.load().is_ready(deciding, side).then(|| self.pointer(side).load(Ordering::Relaxed))
    }

    /// Does what `access` to `side` needs, once for all threads that ask at the same time.
    #[cold]
    #[inline(never)]
    pub fn prepare(&self, access: Access, side: Side) -> Result<*mut c_void, Error> {
        if side == Side::Device {
            self.head()?;
            return cuda::driver()?.absurd();
        }
        watch_forks::<()>().map_err(refused)?;
        host::settle();
        if self.size.load(Ordering::Relaxed) <= host::BRIEF {
            let brief = || self.prepare_host(access, |outcome| self.store(outcome));
            if let Some(result) = TABLE.briefly(self.address(), brief) {
                return result;
            }
        }
        match self.claim(|| self.ready(access, side)) {
            Ok(claim) => self.prepare_host(access, |outcome| claim.publish(|| self.store(outcome))),
            Err(NoClaim::Unneeded(address)) => Ok(address),
            Err(why) => Err(refused(why)),
        }
    }

    /// Prepares the host side and hands the outcome to `publish`. Nobody else is at work on the object.
    #[inline]
    fn prepare_host(&self, access: Access, publish: impl FnOnce(Outcome) -> *mut c_void) -> Result<*mut c_void, Error> {
        let word = self.load();
        let step = word.head().ok_or(Error::InvalidHandle)?.on(access, Side::Host);
        let now = Outcome { host: self.host(word), word: word.with_head(step.head) };
        let outcome = match step.contents {
            Contents::Copy => cuda::driver()?.absurd(),
            Contents::Current => now,
            Contents::Undefined if now.host.is_some() => now,
            Contents::Zeros | Contents::Undefined => {
                let zeroed = step.contents == Contents::Zeros;
                let block = host::allocate(self.size.load(Ordering::Relaxed), zeroed)?;
                Outcome { host: Some(block.address), word: now.word.with_host(block.owned, block.pinned) }
            }
        };
        Ok(publish(outcome))
    }

    /// Borrows the caller's memory as the host side, which is then the newest. An owned block is freed at once.
    ///
    /// # Safety
    /// `data` stays readable and writable for `size()` bytes for as long as the object refers to it, and
    /// pointers to a host block that the object owned are not used any more.
    pub unsafe fn set_cpu_data(&self, data: *mut c_void) -> Result<(), Error> {
        if data.is_null() {
            return Err(Error::NullData { side: Side::Host });
        }
        let claim = self.claim_always()?;
        let word = self.load();
        word.head().ok_or(Error::InvalidHandle)?;
        let old = self.owned_host(word);
        let word = word.with_head(Head::AtCpu).with_host(false, false);
        claim.publish(|| self.store(Outcome { host: NonNull::new(data), word }));
        // SAFETY: the object no longer refers to it, nor does the caller.
        unsafe { free(old) };
        Ok(())
    }

    /// Borrows the caller's memory as the device side, which is then the newest.
    pub fn set_gpu_data(&self, data: *mut c_void) -> Result<(), Error> {
        self.head()?;
        if data.is_null() {
            return Err(Error::NullData { side: Side::Device });
        }
        cuda::driver()?.absurd()
    }

    /// Starts a copy from host to device on `stream`.
    pub fn async_gpu_push(&self, _stream: *mut c_void) -> Result<(), Error> {
        let head = self.head()?;
        // Compat: the original checks this first, whatever the device would say.
        head.on_push().ok_or(Error::NotAtCpu { head })?;
        cuda::driver()?.absurd()
    }

    /// Gives back one side's block while the other side holds the newest data.
    ///
    /// # Safety
    /// Pointers to that side's block are not used any more.
    pub unsafe fn release(&self, side: Side) -> Result<(), Error> {
        let claim = self.claim_always()?;
        let word = self.load();
        let head = word.head().ok_or(Error::InvalidHandle)?;
        if side == Side::Device {
            return cuda::driver()?.absurd();
        }
        let next = head.on_release(side).ok_or(Error::NotRedundant { side, head })?;
        let old = self.owned_host(word);
        let word = word.with_head(next).with_host(false, false);
        claim.publish(|| self.store(Outcome { host: None, word }));
        // SAFETY: the object no longer refers to it, nor does the caller.
        unsafe { free(old) };
        Ok(())
    }

    /// Compat: yjxiong's `Resize`. To grow discards both sides; to shrink, or to stay, does nothing.
    ///
    /// # Safety
    /// Pointers to the object's blocks are not used any more if it grows.
    pub unsafe fn resize(&self, bytes: usize) -> Result<(), Error> {
        host::check_size(bytes)?;
        let claim = self.claim_always()?;
        let word = self.load();
        word.head().ok_or(Error::InvalidHandle)?;
        if bytes <= self.size.load(Ordering::Relaxed) {
            return Ok(());
        }
        let old = self.owned_host(word);
        claim.publish(|| {
            self.cpu_ptr.store(std::ptr::null_mut(), Ordering::Relaxed);
            self.gpu_ptr.store(std::ptr::null_mut(), Ordering::Relaxed);
            self.size.store(bytes, Ordering::Relaxed);
            // Relaxed: an untouched object leads nobody to a pointer; whoever touches it takes the lock.
            self.word.store(Word::NEW.0, Ordering::Relaxed);
        });
        // SAFETY: the object no longer refers to it, nor does the caller.
        unsafe { free(old) };
        Ok(())
    }

    #[inline]
    fn load(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    #[inline]
    fn pointer(&self, side: Side) -> &AtomicPtr<c_void> {
        match side {
            Side::Host => &self.cpu_ptr,
            Side::Device => &self.gpu_ptr,
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn identity(&self) -> Identity {
        Identity {
            object: self.address(),
            host: self.cpu_ptr.load(Ordering::Relaxed).addr(),
            device: self.gpu_ptr.load(Ordering::Relaxed).addr(),
            size: self.size.load(Ordering::Relaxed),
        }
    }

    /// The host block, if there is one. An UNINITIALIZED object has none, whatever its bytes say.
    fn host(&self, word: Word) -> Option<NonNull<c_void>> {
        let touched = word.head() != Some(Head::Uninitialized);
        NonNull::new(self.cpu_ptr.load(Ordering::Relaxed)).filter(|_| touched)
    }

    /// The host block and its bytes, if there is one and the object must free it. Asked before the object changes.
    fn owned_host(&self, word: Word) -> Option<(NonNull<c_void>, usize)> {
        let block = self.host(word).filter(|_| word.owns_host())?;
        Some((block, self.size.load(Ordering::Relaxed)))
    }

    fn claim<T>(&self, unless: impl Fn() -> Option<T>) -> Result<Claim<'static>, NoClaim<T>> {
        watch_forks()?;
        TABLE.claim(self.address(), this_thread(), || self.identity(), unless)
    }

    fn claim_always(&self) -> Result<Claim<'static>, Error> {
        self.claim(|| None::<std::convert::Infallible>).map_err(refused)
    }

    /// Makes an outcome visible, and returns the host block's address. Done under the table's lock for this object.
    #[inline]
    fn store(&self, outcome: Outcome) -> *mut c_void {
        let host = outcome.host.map_or(std::ptr::null_mut(), NonNull::as_ptr);
        self.cpu_ptr.store(host, Ordering::Relaxed);
        // Release: whoever acquires this word sees the pointer above, and the block's contents.
        self.word.store(outcome.word.0, Ordering::Release);
        host
    }
}

/// What an object looks like after an operation on its host side.
struct Outcome {
    host: Option<NonNull<c_void>>,
    word: Word,
}

/// Frees what `owned_host` returned.
///
/// # Safety
/// Nobody refers to it any more.
unsafe fn free(block: Option<(NonNull<c_void>, usize)>) {
    if let Some((address, bytes)) = block {
        // SAFETY: the caller guarantees it.
        unsafe { host::free(address, bytes) };
    }
}

fn watch_forks<T>() -> Result<(), NoClaim<T>> {
    // A model has no processes.
    if cfg!(loom) { Ok(()) } else { fork::watch() }
}

#[cold]
fn refused<T>(why: NoClaim<T>) -> Error {
    match why {
        NoClaim::NoRoom => Error::OutOfMemory { asked: size_of::<Identity>(), cause: Cause::Bookkeeping },
        NoClaim::Reentered => Error::Reentered,
        // Only an `unless` that answers leads here, and its callers take the answer.
        NoClaim::Unneeded(_) => Error::Internal,
    }
}
