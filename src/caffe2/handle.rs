//! Tensors with several holders, and tensors as values of blobs.
#![expect(unsafe_code, reason = "handles are addresses")]

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncedmem_trace::head::Side;

use super::attachment::Attachment;
use super::error::Error;
use super::storage::Storage;
use super::tensor::Tensor;
use super::typemeta::TypeMeta;
use crate::platform::shared::Shared;

/// A tensor behind a handle. Its last holder ends it.
pub struct Handle {
    tensor: UnsafeCell<Tensor>,
    /// The storage's identity and size, for a thread that adds up a workspace while others change its tensors.
    storage: AtomicUsize,
    capacity: AtomicUsize,
    attachment: Attachment,
}

// SAFETY: the tensor is read and changed as its users promise, by one thread at a time or only read; it may be ended by any.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// A new tensor with one holder.
    pub fn new(side: Side) -> Result<Shared<Handle>, Error> {
        let tensor = UnsafeCell::new(Tensor::new(side));
        let (storage, capacity) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let handle = Handle { tensor, storage, capacity, attachment: Attachment::default() };
        Shared::new(handle).map_err(Error::no_room)
    }

    /// The tensor.
    ///
    /// # Safety
    /// No thread changes it meanwhile.
    pub unsafe fn tensor(&self) -> &Tensor {
        // SAFETY: the caller guarantees it.
        unsafe { &*self.tensor.get() }
    }

    /// Changes the tensor.
    ///
    /// # Safety
    /// No other thread uses it meanwhile, and nothing that `work` calls does.
    pub unsafe fn change<R>(&self, work: impl FnOnce(&mut Tensor) -> R) -> R {
        // SAFETY: the caller guarantees it.
        let tensor = unsafe { &mut *self.tensor.get() };
        let result = work(tensor);
        self.storage.store(tensor.storage().map_or(0, Storage::identity), Relaxed);
        self.capacity.store(tensor.capacity(), Relaxed);
        result
    }

    /// What a language keeps with the tensor.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// A number of the tensor's storage, which others that share it have too, and its size in bytes; 0 without one. Any thread may
    /// ask at any time.
    pub fn footprint(&self) -> (usize, usize) {
        (self.storage.load(Relaxed), self.capacity.load(Relaxed))
    }
}

/// The names of the types of tensors, by side. The addresses are their ids.
static NAMES: [&CStr; 2] = [c"tensor", c"device tensor"];

/// The type of a blob's value that is a tensor: a pointer to its handle.
pub fn meta(side: Side) -> TypeMeta {
    let name = &NAMES[side as usize];
    let construct = match side {
        Side::Host => construct_on_host,
        Side::Device => construct_on_device,
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

/// The side of the tensors of a type, if it is one of tensors.
pub fn side_of(meta: &TypeMeta) -> Option<Side> {
    [Side::Host, Side::Device].into_iter().find(|&side| *meta == self::meta(side))
}

unsafe extern "C-unwind" fn construct_on_host(items: *mut c_void, count: usize) -> bool {
    // SAFETY: the caller of a type's function guarantees the memory.
    unsafe { construct(items, count, Side::Host) }
}

unsafe extern "C-unwind" fn construct_on_device(items: *mut c_void, count: usize) -> bool {
    // SAFETY: the caller of a type's function guarantees the memory.
    unsafe { construct(items, count, Side::Device) }
}

/// # Safety
/// `items` is writable for so many.
unsafe fn construct(items: *mut c_void, count: usize, side: Side) -> bool {
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
        // SAFETY: the caller of a type's function guarantees the items.
        let handle = unsafe { items.cast::<NonNull<Handle>>().wrapping_add(item).read() };
        // SAFETY: the item was the holder.
        drop(unsafe { Shared::from_address(handle) });
    }
}

unsafe extern "C-unwind" fn copy(source: *const c_void, target: *mut c_void, count: usize) -> bool {
    (0..count).all(|item| {
        // SAFETY: the caller of a type's function guarantees the items.
        let from = unsafe { source.cast::<NonNull<Handle>>().wrapping_add(item).read() };
        // SAFETY: as above.
        let to = unsafe { target.cast::<NonNull<Handle>>().wrapping_add(item).read() };
        if from == to {
            return true;
        }
        // SAFETY: an item's tensor lives as long as the item.
        let to = unsafe { to.as_ref() };
        // SAFETY: as above.
        let from = unsafe { from.as_ref() };
        // SAFETY: the caller lets no other thread use the items, and they are different tensors.
        let from = unsafe { from.tensor() };
        // SAFETY: as above.
        unsafe { to.change(|to| to.copy_from(from)) }.is_ok()
    })
}
