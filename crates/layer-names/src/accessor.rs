//! Functions of Caffe's classes, found by their names.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::layout::elements;
use crate::symbols::find;

/// `const vector<T>& name() const`; of a blob's memory, `const T& name() const`.
#[derive(Clone, Copy)]
pub struct Accessor<T>(Get, PhantomData<T>);
pub type Get = unsafe extern "C" fn(*const c_void) -> *const c_void;
/// `Phase phase() const` and `int iter() const`
pub type Number = unsafe extern "C" fn(*const c_void) -> c_int;

impl<T: Copy> Accessor<T> {
    pub fn find(symbol: &str) -> Option<Accessor<T>> {
        // SAFETY: Caffe's headers give the names that callers ask for this signature: a reference is a pointer, and so is `this`.
        find(symbol).map(|found| Accessor(unsafe { transmute::<*mut c_void, Get>(found) }, PhantomData))
    }

    /// What the accessor refers to.
    ///
    /// # Safety
    /// As for `read`.
    pub unsafe fn get(self, of: *const c_void) -> *const c_void {
        // SAFETY: the caller guarantees it.
        unsafe { (self.0)(of) }
    }

    /// # Safety
    /// `of` is of the accessor's class, and no other thread changes it.
    pub unsafe fn read<'a>(self, of: *const c_void) -> Option<&'a [T]> {
        // SAFETY: the caller guarantees it.
        let vector = unsafe { self.get(of) };
        // SAFETY: as above; the accessor returns a vector of `T`.
        unsafe { elements(vector) }
    }
}

/// What was found, by the letter of an element type.
pub struct Found<T>([AtomicPtr<Option<T>>; 4]);

impl<T> Found<T> {
    pub const fn new() -> Found<T> {
        Found([const { AtomicPtr::new(null_mut()) }; 4])
    }

    /// Not a OnceLock: a child of fork would wait for ever for a thread that was looking it up. Threads that look it up
    /// at once find the same.
    pub fn of(&self, letter: &str, find: fn(&str) -> Option<T>) -> Option<&T> {
        let place = &self.0[["f", "d", "i", "j"].iter().position(|&known| known == letter)?];
        let mut found = place.load(Ordering::Acquire);
        if found.is_null() {
            found = Box::into_raw(Box::new(find(letter)));
            place.store(found, Ordering::Release);
        }
        // SAFETY: it was boxed here, and is never freed.
        unsafe { &*found }.as_ref()
    }
}

pub fn number(symbol: &str) -> Option<Number> {
    // SAFETY: Caffe's headers give the symbols of the callers this signature.
    find(symbol).map(|found| unsafe { transmute::<*mut c_void, Number>(found) })
}
