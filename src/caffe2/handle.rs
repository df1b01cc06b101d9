//! Tensors behind handles, and as values of blobs.
//!
//! "One thread" below: as the header asks, no two threads use a tensor at once if one of them changes it.
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
    /// Identity and bytes of the storage. Atomic, because a thread may measure a workspace while others change its tensors.
    storage: AtomicUsize,
    capacity: AtomicUsize,
    attachment: Attachment,
}

// SAFETY: any thread may use and end a tensor and its attachment.
unsafe impl Send for Handle {}
// SAFETY: the C caller keeps the rule "One thread"; the other fields are atomic or guarded by the lock.
unsafe impl Sync for Handle {}

impl Handle {
    pub fn new(side: Side) -> Result<FallibleArc<Handle>, Error> {
        let tensor = UnsafeCell::new(Tensor::new(side));
        let (storage, capacity) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let handle = Handle { tensor, storage, capacity, attachment: Attachment::default() };
        FallibleArc::new(handle).map_err(Error::out_of_memory)
    }

    /// # Safety
    /// No thread changes the tensor while the result lives.
    pub unsafe fn tensor(&self) -> &Tensor {
        // SAFETY: the caller of `tensor` lets no thread change it while the result lives.
        unsafe { &*self.tensor.get() }
    }

    /// # Safety
    /// No other thread, and no function called meanwhile, uses the tensor while the result lives.
    pub unsafe fn change(&self) -> Changing<'_> {
        // SAFETY: the caller of `change` has the only reference to the tensor while the result lives.
        Changing { handle: self, tensor: unsafe { &mut *self.tensor.get() } }
    }

    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// Identity and bytes of the storage, which tensors may share; zeros without storage.
    pub fn footprint(&self) -> (usize, usize) {
        (self.storage.load(Relaxed), self.capacity.load(Relaxed))
    }
}

/// A tensor that is being changed. Dropping this records its storage in the handle.
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

/// The names of the types, by side. Their addresses are the types' ids.
static NAMES: [&CStr; 2] = [c"tensor", c"device tensor"];

/// The type of a value that is a tensor: a pointer to its handle.
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

/// The side of a type of tensors; `None` for other types.
pub fn side_of(meta: &TypeMeta) -> Option<Side> {
    [Side::Host, Side::Device].into_iter().find(|&side| *meta == self::meta(side))
}

unsafe extern "C-unwind" fn construct<const ON_DEVICE: bool>(items: *mut c_void, count: usize) -> bool {
    let side = if ON_DEVICE { Side::Device } else { Side::Host };
    let items = items.cast::<NonNull<Handle>>();
    for made in 0..count {
        match Handle::new(side) {
            // SAFETY: the caller of a type's `construct` passes memory for `count` items.
            Ok(handle) => unsafe { items.wrapping_add(made).write(handle.into_address()) },
            Err(_) => {
                // SAFETY: the first `made` items were written above.
                unsafe { destruct(items.cast(), made) };
                return false;
            }
        }
    }
    true
}

unsafe extern "C-unwind" fn destruct(items: *mut c_void, count: usize) {
    for item in 0..count {
        // SAFETY: the caller of a type's `destruct` passes `count` items.
        let handle = unsafe { items.cast::<Option<NonNull<Handle>>>().wrapping_add(item).read() };
        // SAFETY: the item is a reference to its tensor, which ends here; it is null if a caller took the tensor out.
        drop(handle.map(|handle| unsafe { FallibleArc::from_address(handle) }));
    }
}

unsafe extern "C-unwind" fn copy(source: *const c_void, target: *mut c_void, count: usize) -> bool {
    (0..count).all(|item| {
        // SAFETY: the caller of a type's `copy` passes `count` items twice.
        let from = unsafe { source.cast::<Option<NonNull<Handle>>>().wrapping_add(item).read() };
        // SAFETY: the caller of a type's `copy` passes `count` items twice.
        let to = unsafe { target.cast::<Option<NonNull<Handle>>>().wrapping_add(item).read() };
        if from == to {
            return true;
        }
        // A caller may have taken either tensor out.
        let (Some(from), Some(to)) = (from, to) else { return false };
        // SAFETY: the item has a reference to its tensor.
        let to = unsafe { to.as_ref() };
        // SAFETY: the item has a reference to its tensor.
        let from = unsafe { from.as_ref() };
        // SAFETY: the C caller keeps the rule "One thread" for both tensors.
        let from = unsafe { from.tensor() };
        // The items may be tensors of tensors in turn, so the copies nest.
        // SAFETY: the C caller keeps the rule "One thread" for both tensors, which differ.
        nesting::nest(|| unsafe { to.change() }.copy_from(from).is_ok()).unwrap_or(false)
    })
}
