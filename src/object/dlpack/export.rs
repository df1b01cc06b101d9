//! Exports: tensors of the library's objects.
#![expect(unsafe_code, reason = "structures of a C ABI, in memory from malloc")]

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::NonNull;

use super::{DataType, Device, MAJOR, MINOR, MOST_DIMENSIONS, Managed, ManagedVersioned, Tensor};
use crate::error::{Cause, Error};
use crate::state::head::Side;

/// A shape that was checked against the object's size, before anything changes.
#[derive(Clone, Copy)]
pub struct Layout<'s> {
    shape: &'s [i64],
    data_type: DataType,
}

impl<'s> Layout<'s> {
    /// A shape of `data_type` elements in C order that needs at most `bytes`.
    pub fn new(shape: &'s [i64], data_type: DataType, bytes: usize) -> Result<Self, Error> {
        let wrong = |what| Error::InvalidArgument { what };
        if shape.len() > MOST_DIMENSIONS {
            return Err(wrong("the shape has more than 64 dimensions; pass fewer"));
        }
        if shape.iter().any(|&length| length < 0) {
            return Err(wrong(
                "the shape has a negative number; pass how many elements there are along each dimension",
            ));
        }
        let layout = Layout { shape, data_type };
        if layout.bytes().is_none_or(|needed| needed > bytes as u64) {
            return Err(wrong(
                "the shape needs more bytes than the object has; pass a shape whose elements, times type_bits / 8, are at \
                 most syncedmem_size",
            ));
        }
        Ok(layout)
    }

    fn bytes(&self) -> Option<u64> {
        // A dimension of 0 counts as 1 here: the strides of the others must not overflow either.
        let widest = self.shape.iter().try_fold(1i64, |product, &length| product.checked_mul(length.max(1)))?;
        let elements = if self.shape.contains(&0) { 0 } else { widest };
        u64::try_from(elements).ok()?.checked_mul(u64::from(self.data_type.bits / 8))
    }

    /// The shape, and the strides of C order.
    fn dimensions(&self) -> Dimensions {
        let mut dimensions = Dimensions { shape: [0; MOST_DIMENSIONS], strides: [0; MOST_DIMENSIONS] };
        let mut stride = 1;
        let places = dimensions.shape.iter_mut().zip(&mut dimensions.strides).take(self.shape.len());
        for (place, &length) in places.rev().zip(self.shape.iter().rev()) {
            (*place.0, *place.1) = (length, stride);
            // `new` has checked that this does not overflow.
            stride *= length.max(1);
        }
        dimensions
    }
}

/// The object of a tensor, for the deleter.
#[derive(Clone, Copy)]
pub struct Holding {
    /// The object's address.
    pub object: usize,
    /// Distinguishes objects at the same address.
    pub life: u64,
    /// The side whose memory the tensor has.
    pub side: Side,
}

/// Called when a tensor of this library is deleted.
pub type Ended = fn(Holding);

/// A tensor with its data in one block of malloc, which the deleter frees.
#[repr(C)]
struct Made<T> {
    managed: T,
    holding: Holding,
    ended: Ended,
    dimensions: Dimensions,
}

#[repr(C)]
struct Dimensions {
    shape: [i64; MOST_DIMENSIONS],
    strides: [i64; MOST_DIMENSIONS],
}

#[derive(Clone, Copy)]
pub struct Memory {
    pub data: *mut c_void,
    pub device: Device,
    pub flags: u64,
}

/// Memory for a tensor, without contents yet.
pub struct Blank {
    room: NonNull<c_void>,
    versioned: bool,
}

impl Blank {
    /// Allocates it for a tensor with or without a version.
    pub fn new(versioned: bool) -> Result<Blank, Error> {
        let bytes = if versioned { size_of::<Made<ManagedVersioned>>() } else { size_of::<Made<Managed>>() };
        // SAFETY: malloc has no preconditions. Its memory is aligned to 16 bytes.
        let room = NonNull::new(unsafe { libc::malloc(bytes) });
        room.map(|room| Blank { room, versioned }).ok_or(Error::OutOfMemory {
            side: Side::Host,
            asked: bytes,
            cause: Cause::Bookkeeping,
        })
    }

    /// Writes the tensor. Its deleter calls `ended` with `holding`.
    pub fn fill(self, layout: Layout<'_>, memory: Memory, holding: Holding, ended: Ended) -> NonNull<c_void> {
        let (room, context, dimensions) = (self.room, mark(), layout.dimensions());
        if self.versioned {
            let made = room.cast::<Made<ManagedVersioned>>();
            let (tensor, flags) = (tensor(made, layout, memory), memory.flags);
            let deleter = Some(delete::<ManagedVersioned> as _);
            let managed = ManagedVersioned { major: MAJOR, minor: MINOR, context, deleter, flags, tensor };
            // SAFETY: `new` allocated enough for it.
            unsafe { made.write(Made { managed, holding, ended, dimensions }) };
        } else {
            let made = room.cast::<Made<Managed>>();
            let (tensor, deleter) = (tensor(made, layout, memory), Some(delete::<Managed> as _));
            let managed = Managed { tensor, context, deleter };
            // SAFETY: `new` allocated enough for it.
            unsafe { made.write(Made { managed, holding, ended, dimensions }) };
        }
        std::mem::forget(self);
        room
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        // SAFETY: `new` took it from malloc, and only this value refers to it.
        unsafe { libc::free(self.room.as_ptr()) };
    }
}

/// The tensor at `made`, which points to the dimensions beside it.
fn tensor<T>(made: NonNull<Made<T>>, layout: Layout<'_>, memory: Memory) -> Tensor {
    let dimensions = made.as_ptr().wrapping_byte_add(offset_of!(Made<T>, dimensions));
    Tensor {
        data: memory.data,
        device: memory.device,
        // At most MOST_DIMENSIONS: fits.
        dimensions: layout.shape.len() as i32,
        data_type: layout.data_type,
        shape: dimensions.wrapping_byte_add(offset_of!(Dimensions, shape)).cast(),
        strides: dimensions.wrapping_byte_add(offset_of!(Dimensions, strides)).cast(),
        byte_offset: 0,
    }
}

/// The deleter of this library's tensors. Any thread may call it, at any time, once.
unsafe extern "C-unwind" fn delete<T>(managed: *mut T) {
    // DLPack never passes NULL, but some callers do.
    let Some(made) = NonNull::new(managed.cast::<Made<T>>()) else { return };
    // SAFETY: the caller of a deleter passes its own tensor, which `Blank::fill` made.
    let (holding, ended) = unsafe { taken(made) };
    // A panic would be a bug; it must not leave the deleter.
    let _ = std::panic::catch_unwind(|| ended(holding));
}

/// Frees a tensor; returns the holding and the function that its deleter calls.
///
/// # Safety
/// `made` came from `Blank::fill`, and is not used again.
unsafe fn taken<T>(made: NonNull<Made<T>>) -> (Holding, Ended) {
    // SAFETY: the caller guarantees that it came from `Blank::fill`.
    let Made { holding, ended, .. } = *unsafe { made.as_ref() };
    // SAFETY: `Blank` took it from malloc, and the caller does not use it again.
    unsafe { libc::free(made.as_ptr().cast()) };
    (holding, ended)
}

/// The context of this library's tensors: an address that no other maker uses.
fn mark() -> *mut c_void {
    static MARK: u64 = 0;
    (&raw const MARK).cast_mut().cast()
}

/// Frees a tensor of this library without its deleter, and returns its holding; `None` for a foreign tensor.
///
/// # Safety
/// `tensor` points to a `DLManagedTensorVersioned`, or to a `DLManagedTensor` without `versioned`. If it is this
/// library's, it is not used again.
pub unsafe fn reclaim(tensor: NonNull<c_void>, versioned: bool) -> Option<Holding> {
    if versioned {
        let managed = tensor.cast::<ManagedVersioned>();
        // SAFETY: the caller guarantees the type.
        let is_ours = unsafe { managed.as_ref() }.context == mark();
        // SAFETY: the mark shows that `Blank::fill` made it; the caller does not use it again.
        is_ours.then(|| unsafe { taken(managed.cast::<Made<ManagedVersioned>>()) }.0)
    } else {
        let managed = tensor.cast::<Managed>();
        // SAFETY: the caller guarantees the type.
        let is_ours = unsafe { managed.as_ref() }.context == mark();
        // SAFETY: the mark shows that `Blank::fill` made it; the caller does not use it again.
        is_ours.then(|| unsafe { taken(managed.cast::<Made<Managed>>()) }.0)
    }
}
