//! Tensors as values of blobs.
#![expect(unsafe_code, reason = "handles are addresses")]

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncedmem_core::head::Side;

use super::attachment::Attachment;
use super::error::Error;
use super::storage::Storage;
use super::tensor::Tensor;
use super::typemeta::TypeMeta;
use crate::platform::fallible_arc::FallibleArc;
use crate::platform::nesting;

pub struct Handle {
    tensor: UnsafeCell<Tensor>,
    /// The storage's: a thread may add up a workspace while others change tensors.
    storage: AtomicUsize,
    capacity: AtomicUsize,
    attachment: Attachment,
}

// SAFETY: callers guarantee that one thread at a time changes it; any may end it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    pub fn new(side: Side) -> Result<FallibleArc<Handle>, Error> {
        let tensor = UnsafeCell::new(Tensor::new(side));
        let (storage, capacity) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let handle = Handle { tensor, storage, capacity, attachment: Attachment::default() };
        FallibleArc::new(handle).map_err(Error::no_room)
    }

    /// # Safety
    /// No thread changes it meanwhile.
    pub unsafe fn tensor(&self) -> &Tensor {
        // SAFETY: the caller guarantees it.
        unsafe { &*self.tensor.get() }
    }

    /// # Safety
    /// No other thread, and nothing that the result's holder calls, uses it while the result lives.
    pub unsafe fn change(&self) -> Changing<'_> {
        // SAFETY: the caller guarantees that this is the only reference.
        Changing { handle: self, tensor: unsafe { &mut *self.tensor.get() } }
    }

    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// Identity and bytes of the storage, which tensors may share; zeros without one.
    pub fn footprint(&self) -> (usize, usize) {
        (self.storage.load(Relaxed), self.capacity.load(Relaxed))
    }
}

/// A tensor that is changed. Its end notes the storage.
pub struct Changing<'a> {
    handle: &'a Handle,
    tensor: &'a mut Tensor,
}

impl Deref for Changing<'_> {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        self.tensor
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Tensor {
        self.tensor
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.handle.storage.store(self.tensor.storage().map_or(0, Storage::identity), Relaxed);
        self.handle.capacity.store(self.tensor.capacity(), Relaxed);
    }
}

/// By side. The addresses are the types' ids.
static NAMES: [&CStr; 2] = [c"tensor", c"device tensor"];

/// The value is a pointer to the tensor's handle.
pub fn meta(side: Side) -> TypeMeta {
    let name = &NAMES[side as usize];
    let construct = match side {
        Side::Host => construct::<false>,
        Side::Device => construct::<true>,
    };
    TypeMeta {
        id: std::ptr::from_ref(name).cast(),
        name: name.as_ptr(),
        itemsize: size_of::<NonNull<Handle>>(),
        construct: Some(construct),
        destruct: Some(destruct),
        copy: Some(copy),
    }
}

/// `None`: no type of tensors.
pub fn side_of(meta: &TypeMeta) -> Option<Side> {
    [Side::Host, Side::Device].into_iter().find(|&side| *meta == self::meta(side))
}

unsafe extern "C-unwind" fn construct<const ON_DEVICE: bool>(items: *mut c_void, count: usize) -> bool {
    let side = if ON_DEVICE { Side::Device } else { Side::Host };
    let items = items.cast::<NonNull<Handle>>();
    for made in 0..count {
        match Handle::new(side) {
            // SAFETY: the caller guarantees the memory.
            Ok(handle) => unsafe { items.wrapping_add(made).write(handle.into_address()) },
            Err(_) => {
                // SAFETY: so many were made.
                unsafe { destruct(items.cast(), made) };
                return false;
            }
        }
    }
    true
}

unsafe extern "C-unwind" fn destruct(items: *mut c_void, count: usize) {
    for item in 0..count {
        // SAFETY: the caller guarantees the items.
        let handle = unsafe { items.cast::<Option<NonNull<Handle>>>().wrapping_add(item).read() };
        // SAFETY: the item was the holder, or null where a caller took the tensor out.
        drop(handle.map(|handle| unsafe { FallibleArc::from_address(handle) }));
    }
}

unsafe extern "C-unwind" fn copy(source: *const c_void, target: *mut c_void, count: usize) -> bool {
    (0..count).all(|item| {
        // SAFETY: the caller guarantees the items.
        let from = unsafe { source.cast::<Option<NonNull<Handle>>>().wrapping_add(item).read() };
        // SAFETY: as above.
        let to = unsafe { target.cast::<Option<NonNull<Handle>>>().wrapping_add(item).read() };
        if from == to {
            return true;
        }
        // A caller may have taken either out.
        let (Some(from), Some(to)) = (from, to) else { return false };
        // SAFETY: the item keeps its tensor.
        let to = unsafe { to.as_ref() };
        // SAFETY: as above.
        let from = unsafe { from.as_ref() };
        // SAFETY: only this thread uses these two tensors.
        let from = unsafe { from.tensor() };
        // The items may be tensors of tensors in turn, and these the first ones.
        // SAFETY: as above.
        nesting::nest(|| unsafe { to.change() }.copy_from(from).is_ok()).unwrap_or(false)
    })
}
