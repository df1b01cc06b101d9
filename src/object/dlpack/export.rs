#![expect(unsafe_code, reason = "structures of a C ABI, in memory from malloc")]

use std::ffi::c_void;
use std::ptr::NonNull;

use syncedmem_core::head::Side;

use super::{DataType, Deleter, Device, MAJOR, MINOR, MOST_DIMENSIONS, Managed, ManagedVersioned, Tensor, wrong};
use crate::error::Error;

/// A shape that was checked against the object's size.
#[derive(Clone, Copy)]
pub struct Layout<'s> {
    shape: &'s [i64],
    data_type: DataType,
}

impl<'s> Layout<'s> {
    /// A shape of `data_type` elements in C order that needs at most `bytes`.
    pub fn new(shape: &'s [i64], data_type: DataType, bytes: usize) -> Result<Self, Error> {
        let layout = Layout { shape, data_type };
        let refused = if shape.len() > MOST_DIMENSIONS {
            "the shape has more than 64 dimensions; pass fewer"
        } else if shape.iter().any(|&length| length < 0) {
            "the shape has a negative number; pass how many elements there are along each dimension"
        } else if layout.bytes().is_none_or(|needed| needed > bytes as u64) {
            "the shape needs more bytes than the object has; pass a shape whose elements, times type_bits / 8, are at most \
             syncedmem_size"
        } else {
            return Ok(layout);
        };
        Err(wrong(refused))
    }

    fn bytes(&self) -> Option<u64> {
        // A dimension of 0 counts as 1: the strides of the others must not overflow either.
        let widest = self.shape.iter().try_fold(1i64, |product, &length| product.checked_mul(length.max(1)))?;
        let elements = if self.shape.contains(&0) { 0 } else { widest };
        u64::try_from(elements).ok()?.checked_mul(u64::from(self.data_type.bits / 8))
    }
}

/// What the deleter of a tensor needs to find the tensor's object.
#[derive(Clone, Copy)]
pub struct Holding {
    /// The address of the object. An object of another generation may be there by now.
    pub object: usize,
    pub generation: u64,
    pub side: Side,
}

/// The head of a tensor's block of malloc. The shape and the strides follow.
#[repr(C)]
struct Exported {
    managed: EitherManaged,
    holding: Holding,
}

#[repr(C)]
union EitherManaged {
    versioned: ManagedVersioned,
    unversioned: Managed,
}

#[derive(Clone, Copy)]
pub struct Memory {
    pub data: *mut c_void,
    pub device: Device,
    pub flags: u64,
}

/// Memory for a tensor, without contents yet.
pub struct Blank<'s> {
    room: NonNull<Exported>,
    layout: Layout<'s>,
}

impl<'s> Blank<'s> {
    pub fn new(layout: Layout<'s>) -> Result<Self, Error> {
        let asked = size_of::<Exported>() + 2 * size_of_val(layout.shape);
        // SAFETY: malloc has no preconditions; its memory is aligned to 16.
        let room = NonNull::new(unsafe { libc::malloc(asked) });
        room.map(|room| Blank { room: room.cast(), layout }).ok_or(Error::no_room(asked))
    }

    /// `deleter` [`free`]s the tensor.
    pub fn fill(self, versioned: bool, memory: Memory, holding: Holding, deleter: Deleter) -> NonNull<c_void> {
        let (shape, strides) = self.write_lengths();
        let (exported, layout) = (self.room, self.layout);
        std::mem::forget(self);
        let tensor = Tensor {
            data: memory.data,
            device: memory.device,
            // At most MOST_DIMENSIONS: fits.
            dimensions: layout.shape.len() as i32,
            data_type: layout.data_type,
            shape,
            strides,
            byte_offset: 0,
        };
        let (context, deleter, flags) = (mark(), Some(deleter), memory.flags);
        let managed = if versioned {
            let versioned = ManagedVersioned { major: MAJOR, minor: MINOR, context, deleter, flags, tensor };
            EitherManaged { versioned }
        } else {
            EitherManaged { unversioned: Managed { tensor, context, deleter } }
        };
        // SAFETY: `new` allocated enough for it.
        unsafe { exported.write(Exported { managed, holding }) };
        exported.cast()
    }

    /// Writes the shape, and the strides of C order, after the head.
    fn write_lengths(&self) -> (*mut i64, *mut i64) {
        const { assert!(size_of::<Exported>() % align_of::<i64>() == 0) };
        let shape = self.room.as_ptr().wrapping_add(1).cast::<i64>();
        let strides = shape.wrapping_add(self.layout.shape.len());
        let mut stride = 1;
        for (axis, &length) in self.layout.shape.iter().enumerate().rev() {
            // SAFETY: `new` allocated two numbers for each axis.
            unsafe { shape.wrapping_add(axis).write(length) };
            // SAFETY: `new` allocated two numbers for each axis, and the strides follow the shape.
            unsafe { strides.wrapping_add(axis).write(stride) };
            // `Layout::new` has checked for overflow.
            stride *= length.max(1);
        }
        (shape, strides)
    }
}

impl Drop for Blank<'_> {
    fn drop(&mut self) {
        // SAFETY: `new` took it from malloc, and only this value refers to it.
        unsafe { libc::free(self.room.as_ptr().cast()) };
    }
}

/// # Safety
/// `Blank::fill` made the tensor, and it is not used again.
pub unsafe fn free(tensor: NonNull<c_void>) -> Holding {
    // SAFETY: the caller of this function has a tensor of `Blank::fill`.
    let holding = unsafe { tensor.cast::<Exported>().as_ref() }.holding;
    // SAFETY: `Blank::new` took it from malloc.
    unsafe { libc::free(tensor.as_ptr()) };
    holding
}

/// The context of this library's tensors: an address that no other maker uses.
pub fn mark() -> *mut c_void {
    static MARK: u64 = 0;
    (&raw const MARK).cast_mut().cast()
}
