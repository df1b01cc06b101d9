//! A reference-counted value whose allocation may fail, where std's `Arc` aborts. Its end may cause any number of others.
#![expect(unsafe_code, reason = "a value that its last owner frees")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr::NonNull;

use super::nesting::{self, Waiting};
use super::owners::Owners;

pub struct FallibleArc<T>(NonNull<Counted<T>>);

#[repr(C)]
struct Counted<T> {
    waiting: Waiting,
    owners: Owners,
    value: T,
}

// SAFETY: threads share the value, and any of them may drop it; the bounds permit both.
unsafe impl<T: Send + Sync> Send for FallibleArc<T> {}
// SAFETY: a thread with a reference can clone it, and then share or drop the value; the bounds permit both.
unsafe impl<T: Send + Sync> Sync for FallibleArc<T> {}

impl<T> FallibleArc<T> {
    /// If there is no memory, drops the value and returns the bytes of the block as the error.
    pub fn new(value: T) -> Result<Self, usize> {
        let layout = Layout::new::<Counted<T>>();
        // SAFETY: the layout is not of size 0.
        let block = NonNull::new(unsafe { alloc(layout) }).ok_or(layout.size())?.cast::<Counted<T>>();
        // SAFETY: `block` has that layout.
        unsafe { block.write(Counted { waiting: Waiting::new(end::<T>), owners: Owners::one(), value }) };
        Ok(FallibleArc(block))
    }

    /// The address counts as this owner until [`FallibleArc::from_address`] takes it back.
    pub fn into_address(self) -> NonNull<T> {
        let address = self.address();
        std::mem::forget(self);
        address
    }

    pub fn address(&self) -> NonNull<T> {
        NonNull::from(&**self)
    }

    /// # Safety
    /// The address came from `into_address`, and no other call has taken it back.
    pub unsafe fn from_address(address: NonNull<T>) -> Self {
        let at = address.as_ptr().wrapping_byte_sub(offset_of!(Counted<T>, value));
        // SAFETY: the value lies within its block, so the start of the block is not null.
        FallibleArc(unsafe { NonNull::new_unchecked(at.cast()) })
    }

    /// Whether another owner has the value. The answer `false` lasts until this owner is cloned.
    pub fn is_shared(&self) -> bool {
        self.counted().owners.are_several()
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: the block lives while it has an owner, and `self` is one.
        unsafe { self.0.as_ref() }
    }
}

/// # Safety
/// `waiting` is the head of a `Counted<T>` without owners, which is not used again.
unsafe fn end<T>(waiting: NonNull<Waiting>) {
    let counted = waiting.cast::<Counted<T>>().as_ptr();
    // SAFETY: the caller of `end` passes a value without owners. Dropped in place, so chains of values need little stack.
    unsafe { counted.drop_in_place() };
    // SAFETY: `new` allocated it with this layout.
    unsafe { dealloc(counted.cast(), Layout::new::<Counted<T>>()) };
}

impl<T> Clone for FallibleArc<T> {
    fn clone(&self) -> Self {
        self.counted().owners.join();
        FallibleArc(self.0)
    }
}

impl<T> Deref for FallibleArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for FallibleArc<T> {
    fn drop(&mut self) {
        if self.counted().owners.leave() {
            // SAFETY: no owner is left, so this is the value's last use.
            unsafe { nesting::end(self.0.cast()) };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Ends<'c>(&'c AtomicUsize);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_last_of_eight_threads_drops_the_value_once() {
        let ended = AtomicUsize::new(0);
        for _ in 0..100 {
            ended.store(0, Ordering::Relaxed);
            let first = FallibleArc::new(Ends(&ended)).ok();
            std::thread::scope(|threads| {
                for _ in 0..8 {
                    let mine = first.clone();
                    threads.spawn(move || drop(mine));
                }
                drop(first);
            });
            assert_eq!(ended.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn an_address_counts_as_an_owner() {
        let ended = AtomicUsize::new(0);
        let one = FallibleArc::new(Ends(&ended)).ok();
        let other = one.clone().map(FallibleArc::into_address);
        drop(one);
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        // SAFETY: it came from `into_address`.
        drop(other.map(|address| unsafe { FallibleArc::from_address(address) }));
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    }
}
