//! Tensors of our objects.
#![expect(unsafe_code, reason = "structures of a C ABI, in memory from malloc")]

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::NonNull;

use super::{DataType, Device, MAJOR, MINOR, MOST_DIMENSIONS, Managed, ManagedVersioned, Tensor};
use crate::error::{Cause, Error};
use crate::state::head::Side;

/// A shape that fits: what an export needs to know before it touches anything.
#[derive(Clone, Copy)]
pub struct Layout<'s> {
    shape: &'s [i64],
    data_type: DataType,
}

impl<'s> Layout<'s> {
    /// Elements of `data_type` in C's order, of that shape, in at most `bytes`.
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
        // The strides must be numbers even where there are no elements.
        let widest = self.shape.iter().try_fold(1i64, |product, &length| product.checked_mul(length.max(1)))?;
        let elements = if self.shape.contains(&0) { 0 } else { widest };
        u64::try_from(elements).ok()?.checked_mul(u64::from(self.data_type.bits / 8))
    }

    /// The shape, and the strides of C's order.
    fn dimensions(&self) -> Dimensions {
        let mut dimensions = Dimensions { shape: [0; MOST_DIMENSIONS], strides: [0; MOST_DIMENSIONS] };
        let mut stride = 1;
        let places = dimensions.shape.iter_mut().zip(&mut dimensions.strides).take(self.shape.len());
        for (place, &length) in places.rev().zip(self.shape.iter().rev()) {
            (*place.0, *place.1) = (length, stride);
            // `new` has looked.
            stride *= length.max(1);
        }
        dimensions
    }
}

/// Whose tensor it is: what its deleter needs.
#[derive(Clone, Copy)]
pub struct Holding {
    /// The object's address.
    pub object: usize,
    /// Which object at that address.
    pub life: u64,
    /// The side whose memory it is.
    pub side: Side,
}

/// Called when one of our tensors is not needed any more.
pub type Ended = fn(Holding);

/// A tensor from malloc with what belongs to it, which its deleter frees in one piece.
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

/// What a tensor says of its memory.
#[derive(Clone, Copy)]
pub struct Memory {
    /// Its address.
    pub data: *mut c_void,
    /// Where it is.
    pub device: Device,
    /// Flags of DLPack's.
    pub flags: u64,
}

/// Room for a tensor.
pub struct Blank {
    room: NonNull<c_void>,
    versioned: bool,
}

impl Blank {
    /// Room for a tensor of that kind.
    pub fn new(versioned: bool) -> Result<Blank, Error> {
        let bytes = if versioned { size_of::<Made<ManagedVersioned>>() } else { size_of::<Made<Managed>>() };
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let room = NonNull::new(unsafe { libc::malloc(bytes) });
        room.map(|room| Blank { room, versioned }).ok_or(Error::OutOfMemory {
            side: Side::Host,
            asked: bytes,
            cause: Cause::Bookkeeping,
        })
    }

    /// The tensor; `ended` is called with `holding` when it is deleted.
    pub fn fill(self, layout: Layout<'_>, memory: Memory, holding: Holding, ended: Ended) -> NonNull<c_void> {
        let (room, context, dimensions) = (self.room, mark(), layout.dimensions());
        if self.versioned {
            let made = room.cast::<Made<ManagedVersioned>>();
            let (tensor, flags) = (tensor(made, layout, memory), memory.flags);
            let deleter = Some(delete::<ManagedVersioned> as _);
            let managed = ManagedVersioned { major: MAJOR, minor: MINOR, context, deleter, flags, tensor };
            // SAFETY: `new` made room for it.
            unsafe { made.write(Made { managed, holding, ended, dimensions }) };
        } else {
            let made = room.cast::<Made<Managed>>();
            let (tensor, deleter) = (tensor(made, layout, memory), Some(delete::<Managed> as _));
            let managed = Managed { tensor, context, deleter };
            // SAFETY: as above.
            unsafe { made.write(Made { managed, holding, ended, dimensions }) };
        }
        std::mem::forget(self);
        room
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        // SAFETY: `new` took it from malloc, and nobody has it.
        unsafe { libc::free(self.room.as_ptr()) };
    }
}

/// The tensor at `made`, with its numbers beside it.
fn tensor<T>(made: NonNull<Made<T>>, layout: Layout<'_>, memory: Memory) -> Tensor {
    let dimensions = made.as_ptr().wrapping_byte_add(offset_of!(Made<T>, dimensions));
    Tensor {
        data: memory.data,
        device: memory.device,
        // No more than MOST_DIMENSIONS.
        dimensions: layout.shape.len() as i32,
        data_type: layout.data_type,
        shape: dimensions.wrapping_byte_add(offset_of!(Dimensions, shape)).cast(),
        strides: dimensions.wrapping_byte_add(offset_of!(Dimensions, strides)).cast(),
        byte_offset: 0,
    }
}

/// The deleter of our tensors: any thread may call it, at any time, once.
unsafe extern "C-unwind" fn delete<T>(managed: *mut T) {
    // DLPack allows NULL nowhere, and some callers pass it.
    let Some(made) = NonNull::new(managed.cast::<Made<T>>()) else { return };
    // SAFETY: whoever calls it has it from `Blank::fill`.
    let (holding, ended) = unsafe { taken(made) };
    // It does not panic; if it does, that stays here.
    let _ = std::panic::catch_unwind(|| ended(holding));
}

/// Frees a tensor, and returns what its deleter would have called.
///
/// # Safety
/// `made` came from `Blank::fill`, and is not used any more.
unsafe fn taken<T>(made: NonNull<Made<T>>) -> (Holding, Ended) {
    // SAFETY: the caller guarantees it.
    let Made { holding, ended, .. } = *unsafe { made.as_ref() };
    // SAFETY: it came from malloc, and is not used again.
    unsafe { libc::free(made.as_ptr().cast()) };
    (holding, ended)
}

/// What our tensors have for a context: no tensor of anybody else's has it.
fn mark() -> *mut c_void {
    static MARK: u64 = 0;
    (&raw const MARK).cast_mut().cast()
}

/// Frees a tensor if it is one of ours, instead of calling its deleter, and returns whose it was.
///
/// # Safety
/// `tensor` leads to a `DLManagedTensorVersioned`, or, without `versioned`, to a `DLManagedTensor`, which, if it is one of ours,
/// is not used any more.
pub unsafe fn reclaim(tensor: NonNull<c_void>, versioned: bool) -> Option<Holding> {
    if versioned {
        let managed = tensor.cast::<ManagedVersioned>();
        // SAFETY: the caller guarantees it.
        let is_ours = unsafe { managed.as_ref() }.context == mark();
        // SAFETY: the mark says that it came from `Blank::fill`; the rest is the caller's word.
        is_ours.then(|| unsafe { taken(managed.cast::<Made<ManagedVersioned>>()) }.0)
    } else {
        let managed = tensor.cast::<Managed>();
        // SAFETY: the caller guarantees it.
        let is_ours = unsafe { managed.as_ref() }.context == mark();
        // SAFETY: as above.
        is_ours.then(|| unsafe { taken(managed.cast::<Made<Managed>>()) }.0)
    }
}
